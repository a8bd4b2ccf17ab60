/* All pairs of rows of two matrices: inner products, squared Euclidean and absolute (L1) distances.  One copy of the
   code per instruction set, chosen once (isa.h); NYSTREAM_ISA=plain selects the copy that other compilers get.

   Not left to dgemm, for three reasons: the value of a pair depends on the pair alone (a learner that sees rows one
   at a time and one that sees blocks agree bit for bit), near duplicates far from the origin keep their distance, and
   one row costs no packing.  With aligned points the speed at many columns is that of dgemm. */
#ifndef NYSTREAM_PAIRS_KERNEL_H
#define NYSTREAM_PAIRS_KERNEL_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "isa.h"

enum { PAIRS_DOT, PAIRS_SQUARED, PAIRS_ABSOLUTE };

#define PAIRS_PANEL 512          /* points that share a pass, at most */
#define PAIRS_FEW 32             /* columns up to which distances are summed from differences, blocks side by side */
#define PAIRS_TURNED 64          /* points transposed at a time: 32 columns of them fill half of the first cache */
#define PAIRS_SUMS 4             /* vectors of sums side by side: 2 rows, 2 vectors of points */
#define PAIRS_WORTH 8            /* rows from which transposing pays */
#define PAIRS_LOST (1.0 / 64.0)  /* a squared distance below this part of |x|^2 + |y|^2 has lost 6 bits */
#define PAIRS_LARGE (256 * 1024) /* bytes of a panel that many rows pass over: half of a small second cache */
#define PAIRS_SMALL (16 * 1024)  /* bytes of a panel that few rows pass over: half of the first cache */

#if ISA_VECTORS && (defined(__clang__) || __GNUC__ >= 12) /* __builtin_shufflevector */
#define PAIRS_VECTORS 1
#define PAIRS_INLINE static inline __attribute__((always_inline))
typedef double pairs_v4 __attribute__((vector_size(32)));
typedef double pairs_u4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t pairs_i4 __attribute__((vector_size(32)));
#else
#define PAIRS_VECTORS 0
#define PAIRS_INLINE static inline
#endif

typedef void (*pairs_finish)(double *, ptrdiff_t, const void *);
typedef void (*pairs_fn)(const double *, ptrdiff_t, const double *, ptrdiff_t, ptrdiff_t, double *, ptrdiff_t,
                         pairs_finish, const void *);
typedef struct {
  pairs_fn dots, absolutes, squares, expanded;
  const char *name;
} pairs_ops;

#define PAIRS_OPS(isa) {pairs_dots_##isa, pairs_absolutes_##isa, pairs_squares_##isa, pairs_expanded_##isa, #isa}

#define PAIRS(x) pairs_##x##_plain
#define V 1
#define ROWS 2
#include "pairs_body.h"
#undef V
#undef ROWS
#undef PAIRS

#if PAIRS_VECTORS
#define PAIRS(x) pairs_##x##_base
#define V 2
#define ROWS 3
#include "pairs_body.h"
#undef V
#undef ROWS
#undef PAIRS
#if ISA_X86
ISA_BEGIN_AVX2
#define PAIRS(x) pairs_##x##_avx2
#define V 4
#define ROWS 3 /* 3 x 4 accumulators of 16 registers */
#include "pairs_body.h"
#undef V
#undef ROWS
#undef PAIRS
ISA_END
ISA_BEGIN_AVX512
#define PAIRS(x) pairs_##x##_avx512
#define V 8
#define ROWS 4 /* 4 x 4 accumulators of 32 registers */
#include "pairs_body.h"
#undef V
#undef ROWS
#undef PAIRS
ISA_END
#endif
#endif

static inline pairs_ops pairs_pick(void) {
  const pairs_ops plain = PAIRS_OPS(plain);
  const char *want = getenv("NYSTREAM_ISA");
  if (want && !strcmp(want, "plain")) return plain;
#if PAIRS_VECTORS
  const pairs_ops base = PAIRS_OPS(base);
#if ISA_X86
  const pairs_ops avx2 = PAIRS_OPS(avx2), avx512 = PAIRS_OPS(avx512);
  const int level = isa_level();
  if (level == ISA_AVX512) return avx512;
  if (level == ISA_AVX2) return avx2;
#endif
  return base;
#else
  return plain;
#endif
}

/* out (n x m, rows ldo apart) = op between the rows of X (n x d) and of Y (m x d), then `finish` (or NULL) on them */
static inline void pairs_block(const pairs_ops *ops, int op, const double *X, ptrdiff_t n, const double *Y,
                               ptrdiff_t m, ptrdiff_t d, double *out, ptrdiff_t ldo, pairs_finish finish,
                               const void *how) {
  const pairs_fn f = op == PAIRS_DOT ? ops->dots : op == PAIRS_ABSOLUTE ? ops->absolutes
                     : d <= PAIRS_FEW ? ops->squares : ops->expanded;
  ptrdiff_t panel = PAIRS_PANEL;
  if (n > 1) { /* the points are read n / ROWS times: a panel of them should stay in a cache */
    panel = (n < PAIRS_WORTH ? PAIRS_SMALL : PAIRS_LARGE) / (ptrdiff_t)(d * sizeof(double)) / 4 * 4;
    panel = panel < 16 ? 16 : panel > PAIRS_PANEL ? PAIRS_PANEL : panel;
  }
  for (ptrdiff_t j = 0; j < m; j += panel)
    f(X, n, Y + j * d, m - j < panel ? m - j : panel, d, out + j, ldo, finish, how);
}
#endif
