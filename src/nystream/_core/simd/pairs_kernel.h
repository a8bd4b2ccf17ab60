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
#if ISA_X86
#include <immintrin.h>
#elif ISA_VECTORS && defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { PAIRS_DOT, PAIRS_SQUARED, PAIRS_ABSOLUTE };

#define PAIRS_PANEL 512          /* points that share a pass, at most */
#define PAIRS_FEW 32             /* columns up to which distances are summed from differences, blocks side by side */
#define PAIRS_TURNED 64          /* points transposed at a time: 32 columns of them fill half of the first cache */
#define PAIRS_SUMS 4             /* vectors of sums side by side: 2 rows, 2 vectors of points */
#define PAIRS_WORTH 8            /* rows from which transposing pays */
#define PAIRS_LOST (1.0 / 64.0)  /* a squared distance below this part of |x|^2 + |y|^2 has lost 6 bits */
#define PAIRS_LOST_SINGLE (1.0f / 8.0f) /* the same for float, which has fewer to lose: 3 bits */
#define PAIRS_LARGE (256 * 1024) /* bytes of a panel that many rows pass over: half of a small second cache */
#define PAIRS_SMALL (16 * 1024)  /* bytes of a panel that few rows pass over: half of the first cache */

#if ISA_VECTORS && (defined(__clang__) || __GNUC__ >= 12) /* __builtin_shufflevector */
#define PAIRS_VECTORS 1
#define PAIRS_INLINE static inline __attribute__((always_inline))
#else
#define PAIRS_VECTORS 0
#define PAIRS_INLINE static inline
#endif

typedef void (*pairs_finish)(void *, ptrdiff_t, const void *);
typedef void (*pairs_fn)(const void *, ptrdiff_t, const void *, ptrdiff_t, ptrdiff_t, double *, ptrdiff_t, pairs_finish,
                         const void *);
/* Of rows of either type: double with `pairs_pick`, float with `pairs_single_pick`, whose values are widened */
typedef struct {
  pairs_fn dots, absolutes, squares, expanded;
  ptrdiff_t size; /* bytes of a number */
  const char *name;
} pairs_ops;

#define PAIRS_OF(isa, type, name) \
  {pairs_dots_##isa, pairs_absolutes_##isa, pairs_squares_##isa, pairs_expanded_##isa, sizeof(type), name}
#define PAIRS_OPS(isa) PAIRS_OF(isa, double, #isa)
#define PAIRS_SINGLE_OPS(isa) PAIRS_OF(single_##isa, float, #isa)

#if defined(FP_FAST_FMA) || defined(__FMA__)
#define PLAIN_DOUBLE(x, y, a) fma(x, y, a)
#define PLAIN_SINGLE(x, y, a) fmaf(x, y, a)
#else
#define PLAIN_DOUBLE(x, y, a) ((a) + (x) * (y))
#define PLAIN_SINGLE PLAIN_DOUBLE
#endif
/* The baseline fuses where the compiler would: on arm64, or told of a newer processor (-march). */
#if ISA_VECTORS && defined(__aarch64__)
#define BASE_DOUBLE(x, y, a) vfmaq_f64(a, x, y)
#define BASE_SINGLE(x, y, a) vfmaq_f32(a, x, y)
#elif ISA_X86 && defined(__FMA__)
#define BASE_DOUBLE(x, y, a) _mm_fmadd_pd(x, y, a)
#define BASE_SINGLE(x, y, a) _mm_fmadd_ps(x, y, a)
#else
#define BASE_DOUBLE(x, y, a) ((a) + (x) * (y))
#define BASE_SINGLE BASE_DOUBLE
#endif

#define V 1
#define ROWS 2
#define SINGLE 0
#define FUSED_VECTOR PLAIN_DOUBLE
#define PAIRS(x) pairs_##x##_plain
#include "pairs_body.h"
#undef PAIRS
#undef SINGLE
#define SINGLE 1
#define FUSED_VECTOR PLAIN_SINGLE
#define PAIRS(x) pairs_##x##_single_plain
#include "pairs_body.h"
#undef PAIRS
#undef SINGLE
#undef V
#undef ROWS

#if PAIRS_VECTORS
#define ROWS 3 /* 3 x 4 accumulators of 16 registers */
#define V 2
#define SINGLE 0
#define FUSED_VECTOR BASE_DOUBLE
#define PAIRS(x) pairs_##x##_base
#include "pairs_body.h"
#undef PAIRS
#undef SINGLE
#undef V
#define V 4
#define SINGLE 1
#define FUSED_VECTOR BASE_SINGLE
#define PAIRS(x) pairs_##x##_single_base
#include "pairs_body.h"
#undef PAIRS
#undef SINGLE
#undef V
#if ISA_X86
ISA_BEGIN_AVX2
#define V 4
#define SINGLE 0
#define FUSED_VECTOR(x, y, a) _mm256_fmadd_pd(x, y, a)
#define PAIRS(x) pairs_##x##_avx2
#include "pairs_body.h"
#undef PAIRS
#undef SINGLE
#undef V
#define V 8
#define SINGLE 1
#define FUSED_VECTOR(x, y, a) _mm256_fmadd_ps(x, y, a)
#define PAIRS(x) pairs_##x##_single_avx2
#include "pairs_body.h"
#undef PAIRS
#undef SINGLE
#undef V
ISA_END
#undef ROWS
#define ROWS 4 /* 4 x 4 accumulators of 32 registers */
ISA_BEGIN_AVX512
#define V 8
#define SINGLE 0
#define FUSED_VECTOR(x, y, a) _mm512_fmadd_pd(x, y, a)
#define PAIRS(x) pairs_##x##_avx512
#include "pairs_body.h"
#undef PAIRS
#undef SINGLE
#undef V
#define V 16
#define SINGLE 1
#define FUSED_VECTOR(x, y, a) _mm512_fmadd_ps(x, y, a)
#define PAIRS(x) pairs_##x##_single_avx512
#define NARROWER(x) pairs_##x##_single_avx2
#include "pairs_body.h"
#undef NARROWER
#undef PAIRS
#undef SINGLE
#undef V
ISA_END
#endif
#undef ROWS
#endif

/* PAIRS_PICK(name, OPS) defines name(): the operations of the best instruction set that there is */
#if PAIRS_VECTORS && ISA_X86
#define PAIRS_BEST(OPS)                                              \
  const pairs_ops base = OPS(base), avx2 = OPS(avx2), avx512 = OPS(avx512); \
  const int level = isa_level();                                     \
  return level == ISA_AVX512 ? avx512 : level == ISA_AVX2 ? avx2 : base;
#elif PAIRS_VECTORS
#define PAIRS_BEST(OPS)            \
  const pairs_ops base = OPS(base); \
  return base;
#else
#define PAIRS_BEST(OPS) return plain;
#endif
#define PAIRS_PICK(name, OPS)                          \
  static inline pairs_ops name(void) {                 \
    const pairs_ops plain = OPS(plain);                \
    const char *want = getenv("NYSTREAM_ISA");         \
    if (want && !strcmp(want, "plain")) return plain;  \
    PAIRS_BEST(OPS)                                    \
  }
PAIRS_PICK(pairs_pick, PAIRS_OPS)
PAIRS_PICK(pairs_single_pick, PAIRS_SINGLE_OPS)

/* out (n x m, rows ldo apart) = op between the rows of X (n x d) and of Y (m x d), then `finish` (or NULL) on them */
static inline void pairs_block(const pairs_ops *ops, int op, const void *X, ptrdiff_t n, const void *Y, ptrdiff_t m,
                               ptrdiff_t d, double *out, ptrdiff_t ldo, pairs_finish finish, const void *how) {
  const pairs_fn f = op == PAIRS_DOT ? ops->dots : op == PAIRS_ABSOLUTE ? ops->absolutes
                     : d <= PAIRS_FEW ? ops->squares : ops->expanded;
  const ptrdiff_t row = d * ops->size; /* bytes */
  ptrdiff_t panel = PAIRS_PANEL;
  if (n > 1) { /* the points are read n / ROWS times: a panel of them should stay in a cache */
    panel = (n < PAIRS_WORTH ? PAIRS_SMALL : PAIRS_LARGE) / row / 4 * 4;
    panel = panel < 16 ? 16 : panel > PAIRS_PANEL ? PAIRS_PANEL : panel;
  }
  for (ptrdiff_t j = 0; j < m; j += panel)
    f(X, n, (const char *)Y + j * row, m - j < panel ? m - j : panel, d, out + j, ldo, finish, how);
}
#endif
