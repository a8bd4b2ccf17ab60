/* Exact streaming least squares on A = lam I + sum w z z', kept as A = L D L'.  One pass over L serves S samples.

   For every sample (Gill, Golub, Murray, Saunders, method C1, in reciprocal form; x starts as z, s as 1/w, m as 0) and
   every column k:
       p = x_k;  pd = p/d_k;  s' = s + p pd;  beta = pd/s';  1/d_k *= s/s';  m += p q_k;  q_k += beta (y - m)
       rows j > k:   x_j -= p L_jk;   L_jk += beta x_j
   At the end m = z'A^-1 b (the ridge prediction, one per output) and the sum of p pd = z'A^-1 z (the leverage), both of
   the model before the sample; q = D^-1 L^-1 b throughout.  2 r^2 flops a sample; every correction is a sum of
   positive terms, nothing is ever down-dated, so nothing is refreshed.

   Several samples go through L as a wavefront: the same operations in the same order on every number as one by one, so
   the result does not depend on S to the last bit, but each element of L is loaded and stored once for all of them.
   A query (learn = 0) is the same pass without the writes: the same bits for m and the leverage.  It leaves p = L^-1 z
   of every sample in X.

   Layout, the same for every instruction set (features padded with zeros to 8 `blocks`, outputs to a multiple of 8):
     L     8 x 8 tiles, column-major inside; column block by column block, each from its diagonal tile down.  Diagonal
           tiles hold zeros on and above the diagonal (the ones of the unit triangle are understood).
     dinv  1/d;   Q  q by rows, one padded row of outputs per feature;   Y, M  S padded rows of labels and predictions
     X     scratch, tile order: X[block][sample][8];   s0 = 1/w;   lev = the S leverages
   Baseline, AVX2 and AVX-512 versions of ldl_body.h are compiled side by side and picked by isa.h; compilers without
   GCC's vector extension (or -DNYSTREAM_PLAIN_C) get ldl_plain.h. */
#ifndef NYSTREAM_LDL_KERNEL_H
#define NYSTREAM_LDL_KERNEL_H
#include <stddef.h>
#include <string.h>
#include "isa.h"

enum { LDL_SAMPLES = 16 };   /* most samples that share one pass */

typedef void (*ldl_fn)(int samples, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
                       const double *s0, double *X, double *M, double *lev);

#include "ldl_plain.h"

#if ISA_VECTORS
#define LDL_INLINE static inline __attribute__((always_inline))

#define LDL(x) ldl_##x##_base
#define TARGET
#define W 2
#define COLS 2
#define TILES 1
#define CORNER "ldl_corner.h"
#include "ldl_body.h"

#if ISA_X86
#define LDL(x) ldl_##x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define W 4
#define COLS 4
#define TILES 1
#define CORNER "ldl_corner.h"
#include "ldl_body.h"

#define LDL(x) ldl_##x##_avx512
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl")))
#define W 8
#define COLS 8
#define TILES 3
#define CORNER "ldl_corner512.h"
#include "ldl_body.h"

/* One sample is a chain, which wide vectors make no shorter: up to LDL_SHORT blocks it goes through the narrow ones and
   the scalar corner, to the same bits, a fifth faster. Where a*b + c is not contracted those would be others. */
#ifdef NYSTREAM_NO_CONTRACTION
enum { LDL_SHORT = 0 };
#else
enum { LDL_SHORT = 40 };
#endif

static void ldl_learn_wide(int S, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
                           const double *s0, double *X, double *M, double *lev) {
  (S == 1 && blocks <= LDL_SHORT ? ldl_learn_avx2 : ldl_learn_avx512)(S, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
}

static void ldl_query_wide(int S, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
                           const double *s0, double *X, double *M, double *lev) {
  (S == 1 && blocks <= LDL_SHORT ? ldl_query_avx2 : ldl_query_avx512)(S, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
}
#endif
#endif

/* The pass for this processor. */
static inline ldl_fn ldl_choose(int learn) {
#if !ISA_VECTORS
  return learn ? ldl_learn_plain : ldl_query_plain;
#else
  int level = isa_level();
#if ISA_X86
  if (level == ISA_AVX512) return learn ? ldl_learn_wide : ldl_query_wide;
  if (level == ISA_AVX2) return learn ? ldl_learn_avx2 : ldl_query_avx2;
#endif
  (void)level;
  return learn ? ldl_learn_base : ldl_query_base;
#endif
}

static inline const char *ldl_isa(void) {
  static const char *names[] = {"base", "avx2", "avx512"};
  return ISA_VECTORS ? names[isa_level()] : "plain";
}

/* How many samples one pass takes best. */
static inline int ldl_together(void) {
#if ISA_VECTORS
  return isa_level() == ISA_AVX512 ? LDL_SAMPLES : LDL_SAMPLES / 2;
#else
  return LDL_SAMPLES / 2;
#endif
}

/* Subnormal numbers, which far-off features leave in L, cost a hundred cycles each: within a pass they count as 0. */
static inline unsigned ldl_flush(void) {
#if ISA_X86
  unsigned mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | 0x8040u);
  return mode;
#else
  return 0;
#endif
}

static inline void ldl_unflush(unsigned mode) {
#if ISA_X86
  __builtin_ia32_ldmxcsr(mode);
#endif
  (void)mode;
}

/* Rows Z (S x r) into tile order, zeros beyond r. */
static inline void ldl_gather(int S, int r, int blocks, const double *Z, double *X) {
  const int full = r / 8;
  for (int t = 0; t < S; t++, Z += r) {
    double *x = X + 8 * t;
    for (int j = 0; j < full; j++) memcpy(x + (size_t)j * S * 8, Z + 8 * j, 8 * sizeof(double));
    if (full < blocks) {
      x += (size_t)full * S * 8;
      for (int i = 0; i < 8; i++) x[i] = 8 * full + i < r ? Z[8 * full + i] : 0;
    }
  }
}

/* |z|^2, in any order of summation: only to see whether it would overflow. */
static inline double ldl_norm2(int r, const double *z) {
  double a[4] = {0, 0, 0, 0}, sum = 0;
  int i = 0;
#if ISA_VECTORS
  typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
  pair b = {0, 0}, c = b, d = b, e = b;
  for (; i + 8 <= r; i += 8) {
    const pair *v = (const pair *)(z + i);
    b += v[0] * v[0];
    c += v[1] * v[1];
    d += v[2] * v[2];
    e += v[3] * v[3];
  }
  b += c + d + e;
  sum = b[0] + b[1];
#endif
  for (; i + 4 <= r; i += 4)
    for (int k = 0; k < 4; k++) a[k] += z[i + k] * z[i + k];
  for (; i < r; i++) sum += z[i] * z[i];
  return sum + (a[0] + a[1]) + (a[2] + a[3]);
}
#endif
