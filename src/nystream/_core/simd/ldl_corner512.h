/* The diagonal tile of ldl_body.h for AVX-512: every scalar of the chain is held in all eight lanes of a vector.

   While 512-bit instructions are in flight the processor closes one of the two ports that scalar arithmetic needs, and
   a scalar triangle took half of the whole pass.  Splat vectors use the ports that stay open, the tile's columns and
   1/d stay in registers over all samples, and only the division (slow in its 512-bit form) is done in one lane. */
#include <immintrin.h>

TARGET LDL_INLINE void LDL(corner)(const int learn, int S, double *L, double *dinv, double *x, double *s, double *P,
                                   double *PD, double *B) {
  const __m128d one = _mm_set_sd(1.0);
  __m512d l[8], d[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    l[i] = _mm512_loadu_pd(L + 8 * i);
    d[i] = _mm512_set1_pd(dinv[i]);
  }
  for (int t = 0; t < S; t++) {
    __m512d v = _mm512_loadu_pd(x + 8 * t), st = _mm512_set1_pd(learn ? s[t] : 0.0);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      const __m512d p = _mm512_permutexvar_pd(_mm512_set1_epi64(i), v), pd = _mm512_mul_pd(p, d[i]);
      _mm_store_sd(PD + 8 * t + i, _mm512_castpd512_pd128(pd));
      if (i < 7) v = _mm512_fnmadd_pd(p, l[i], v);   /* zero on and above the diagonal: v ends as the vector of all p */
      if (learn) {
        const __m512d ds = _mm512_mul_pd(d[i], st);
        st = _mm512_fmadd_pd(p, pd, st);
        const __m512d inv = _mm512_broadcastsd_pd(_mm_div_sd(one, _mm512_castpd512_pd128(st)));
        const __m512d beta = _mm512_mul_pd(pd, inv);
        d[i] = _mm512_mul_pd(ds, inv);
        if (i < 7) l[i] = _mm512_mask3_fmadd_pd(beta, v, l[i], (__mmask8)(0xff & (0xfe << i)));
        _mm_store_sd(B + 8 * t + i, _mm512_castpd512_pd128(beta));
      }
    }
    _mm512_storeu_pd(P + 8 * t, v);
    if (learn) _mm_store_sd(s + t, _mm512_castpd512_pd128(st));
  }
  if (learn) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      _mm512_storeu_pd(L + 8 * i, l[i]);
      _mm_store_sd(dinv + i, _mm512_castpd512_pd128(d[i]));
    }
  }
}
