/* L^-1 b for one b, with a lower triangular L that grows by rows.

   Rows lie in panels of TRIANGLE_PANEL, one after the other in memory; in panel p every row has TRIANGLE_PANEL (p + 1)
   numbers, of which those up to the diagonal count.  A panel is a matrix with one leading dimension, which is what BLAS
   wants for many right-hand sides; all of them together are read from end to end for one.

       x_i = (b_i - L_i0 x_0 - ... ) / L_ii

   Eight rows at a time: what they have to do with the x before them as eight dot products, then their corner.  A number
   does not depend on the rows that come after it, to the last bit.  Baseline, AVX2 and AVX-512 versions of
   triangle_body.h are compiled side by side and picked by isa.h; compilers without GCC's vector extension (or
   -DNYSTREAM_PLAIN_C) have plain C. */
#ifndef NYSTREAM_TRIANGLE_KERNEL_H
#define NYSTREAM_TRIANGLE_KERNEL_H
#include <stddef.h>
#include <string.h>
#include "isa.h"

enum { TRIANGLE_PANEL = 64 };

typedef struct {
  void (*solve)(ptrdiff_t n, const double *L, double *x);
} triangle_ops;

/* Numbers in so many panels. */
static inline ptrdiff_t triangle_numbers(ptrdiff_t panels) {
  return TRIANGLE_PANEL * TRIANGLE_PANEL / 2 * panels * (panels + 1);
}

static inline const double *triangle_row(const double *L, ptrdiff_t i) {
  const ptrdiff_t p = i / TRIANGLE_PANEL;
  return L + triangle_numbers(p) + (i - TRIANGLE_PANEL * p) * TRIANGLE_PANEL * (p + 1);
}

#if ISA_VECTORS
#define TRIANGLE_INLINE static inline __attribute__((always_inline))
#define TRIANGLE(x) triangle_##x##_base
#define TARGET
#define W 2
#include "triangle_body.h"

#if ISA_X86
#define TRIANGLE(x) triangle_##x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define W 4
#include "triangle_body.h"

#define TRIANGLE(x) triangle_##x##_avx512
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl")))
#define W 8
#include "triangle_body.h"
#endif
#else
static void triangle_solve_base(ptrdiff_t n, const double *L, double *x) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double *r = triangle_row(L, i);
    double sum = 0;
    for (ptrdiff_t j = 0; j < i; j++) sum += r[j] * x[j];
    x[i] = (x[i] - sum) / r[i];
  }
}
#endif

#define TRIANGLE_OPS(isa) {triangle_solve_##isa}
ISA_PICK(triangle, TRIANGLE_OPS)
#endif
