/* exp and the functions of a distance built on it, for one instruction set.  Included by exp_kernel.h with EXP(x)
   naming the functions, SINGLE telling float from double, and FUSED whether a fused multiply-add is one instruction; no
   include guard.

   Branch-free, so that the compiler's vectoriser turns each loop into vector code; every element sees the same
   operations in the same order wherever it stands, so equal inputs give equal bits. */
#if SINGLE
#define REAL float
#define BITS uint32_t
#define MANTISSA 23
#define EXPONENT 127
#define ROUND 12582912.0f /* 1.5 * 2^23 */
#define LEAST -104.0f     /* its exponential rounds to 0, that of MOST overflows to infinity */
#define MOST 89.0f
#define NEARBY 86.0 /* exp(-87.3) is the last normal number, exp(88.7) the last finite one */
#define BEYOND 110.0f
#define LARGEST FLT_MAX
#define ROOT(v) sqrtf(v)
#else
#define REAL double
#define BITS uint64_t
#define MANTISSA 52
#define EXPONENT 1023
#define ROUND 6755399441055744.0 /* 1.5 * 2^52 */
#define LEAST -746.0
#define MOST 710.0
#define NEARBY 700.0 /* exp(-708) is the last normal number, exp(709) the last finite one */
#define BEYOND 800.0
#define LARGEST DBL_MAX
#define ROOT(v) sqrt(v)
#endif
#if FUSED && SINGLE
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#elif FUSED
#define FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

/* exp(x) = 2^n exp(r), n = round(x / log 2), |r| <= log(2)/2; exp(r) = 1 + r + r^2 P(r).  P interpolates
   (exp(r) - 1 - r)/r^2 at 10 Chebyshev nodes: relative error of the polynomial 1.7e-17, of the result at most 1 ulp.
   Adding ROUND rounds to a whole number and leaves it in the low bits, where a shift makes it an exponent.  In float
   the polynomial is that of Moshier's Cephes library (expf), error of the result about 1e-7. */
static inline REAL EXP(reduced)(REAL x, REAL n) {
#if SINGLE
  const float r = FMA(n, 2.12194440e-4f, FMA(n, -0.693359375f, x));
  float p = 1.9875691500e-4f;
  p = FMA(p, r, 1.3981999507e-3f);
  p = FMA(p, r, 8.3334519073e-3f);
  p = FMA(p, r, 4.1665795894e-2f);
  p = FMA(p, r, 1.6666665459e-1f);
  p = FMA(p, r, 5.0000001201e-1f);
#else
  const double r = FMA(n, -1.90821492927058770002e-10, FMA(n, -6.93147180369123816490e-01, x));
  double p = 2.5100424157005067e-08;
  p = FMA(p, r, 2.7620138719733994e-07);
  p = FMA(p, r, 2.7557268378684192e-06);
  p = FMA(p, r, 2.480152119021773e-05);
  p = FMA(p, r, 0.00019841269863105968);
  p = FMA(p, r, 0.0013888888917281794);
  p = FMA(p, r, 0.008333333333330051);
  p = FMA(p, r, 0.04166666666662399);
  p = FMA(p, r, 0.16666666666666669);
  p = FMA(p, r, 0.5000000000000001);
#endif
  return FMA(p * r, r, r) + 1;
}

/* Any x.  2^n is applied as two factors: results below the least normal number are rounded once, not flushed.  NaN
   stays NaN. */
static inline REAL EXP(one)(REAL x) {
  x = x < LEAST ? LEAST : x;
  x = x > MOST ? MOST : x;
  const REAL n = FMA(x, (REAL)1.4426950408889634, ROUND) - ROUND;
  const REAL half = FMA(n, (REAL)0.5, ROUND) - ROUND;
  const REAL b1 = half + (ROUND + EXPONENT), b2 = (n - half) + (ROUND + EXPONENT);
  BITS i1, i2;
  memcpy(&i1, &b1, sizeof i1), memcpy(&i2, &b2, sizeof i2);
  i1 <<= MANTISSA, i2 <<= MANTISSA;
  REAL s1, s2;
  memcpy(&s1, &i1, sizeof s1), memcpy(&s2, &i2, sizeof s2);
  return EXP(reduced)(x, n) * s1 * s2;
}

/* The same bits for |x| <= NEARBY, where the result is a normal number: n is added to its exponent. */
static inline REAL EXP(near)(REAL x) {
  const REAL rounded = FMA(x, (REAL)1.4426950408889634, ROUND);
  REAL p = EXP(reduced)(x, rounded - ROUND);
  BITS n, bits;
  memcpy(&n, &rounded, sizeof n), memcpy(&bits, &p, sizeof bits);
  bits += n << MANTISSA;
  memcpy(&p, &bits, sizeof p);
  return p;
}

/* Whether all |v| are at most `limit` > 0; no for NaN.  Positive numbers are ordered as their bits are. */
static inline int EXP(within)(const REAL *restrict v, ptrdiff_t n, REAL limit) {
  const BITS sign = (BITS)1 << (8 * sizeof(BITS) - 1);
  BITS most, over = 0;
  memcpy(&most, &limit, sizeof most);
  for (ptrdiff_t i = 0; i < n; i++) {
    BITS bits;
    memcpy(&bits, v + i, sizeof bits);
    over |= most - (bits & ~sign);
  }
  return !(over & sign);
}

/* v <- exp(c v), in pieces that stay in the first cache */
static void EXP(exp)(void *numbers, ptrdiff_t n, double rate) {
  REAL *v = numbers;
  const REAL c = (REAL)rate;
  const double reach = NEARBY / fabs(rate);
  const REAL limit = reach < LARGEST ? (REAL)reach : LARGEST;
  for (ptrdiff_t start = 0; start < n; start += EXP_PIECE) {
    const int m = (int)(n - start < EXP_PIECE ? n - start : EXP_PIECE);
    REAL *restrict x = v + start;
    if (EXP(within)(x, m, limit))
      for (int i = 0; i < m; i++) x[i] = EXP(near)(c * x[i]);
    else
      for (int i = 0; i < m; i++) x[i] = EXP(one)(c * x[i]);
  }
}

/* Matern functions of a squared distance v, u = c sqrt(v): exp(-u) times 1, 1 + u, 1 + u + u^2/3.  Beyond BEYOND the
   exponential is 0; stopping there keeps infinity times 0 out. */
static inline REAL EXP(length)(REAL v, REAL c) {
  const REAL u = c * ROOT(v);
  return u > BEYOND ? BEYOND : u;
}

static void EXP(matern12)(void *numbers, ptrdiff_t n, double rate) {
  REAL *restrict v = numbers;
  const REAL c = (REAL)rate;
  for (ptrdiff_t i = 0; i < n; i++) v[i] = EXP(one)(-EXP(length)(v[i], c));
}

static void EXP(matern32)(void *numbers, ptrdiff_t n, double rate) {
  REAL *restrict v = numbers;
  const REAL c = (REAL)rate;
  for (ptrdiff_t i = 0; i < n; i++) {
    const REAL u = EXP(length)(v[i], c);
    v[i] = (1 + u) * EXP(one)(-u);
  }
}

static void EXP(matern52)(void *numbers, ptrdiff_t n, double rate) {
  REAL *restrict v = numbers;
  const REAL c = (REAL)rate;
  for (ptrdiff_t i = 0; i < n; i++) {
    const REAL u = EXP(length)(v[i], c);
    v[i] = FMA(u, FMA(u, (REAL)(1.0 / 3.0), (REAL)1), (REAL)1) * EXP(one)(-u);
  }
}

/* v <- (a v + b)^degree, degree >= 1, by repeated squaring; in pieces that stay in the first cache */
static void EXP(power)(void *numbers, ptrdiff_t n, double scale, double offset, int degree) {
  REAL *v = numbers;
  const REAL a = (REAL)scale, b = (REAL)offset;
  for (ptrdiff_t start = 0; start < n; start += EXP_PIECE) {
    const int m = (int)(n - start < EXP_PIECE ? n - start : EXP_PIECE);
    REAL base[EXP_PIECE], *restrict result = v + start;
    int e = degree;
    for (int i = 0; i < m; i++) base[i] = FMA(a, result[i], b);
    for (; !(e & 1); e >>= 1)
      for (int i = 0; i < m; i++) base[i] *= base[i];
    for (int i = 0; i < m; i++) result[i] = base[i];
    for (e >>= 1; e; e >>= 1) {
      for (int i = 0; i < m; i++) base[i] *= base[i];
      if (e & 1)
        for (int i = 0; i < m; i++) result[i] *= base[i];
    }
  }
}
#undef FMA
#undef REAL
#undef BITS
#undef MANTISSA
#undef EXPONENT
#undef ROUND
#undef LEAST
#undef MOST
#undef NEARBY
#undef BEYOND
#undef LARGEST
#undef ROOT
