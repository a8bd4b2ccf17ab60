/* Weights from the factor of least squares, one pass from the last column back.  One copy per instruction set, chosen
   once at import (isa.h). */
#ifndef NYSTREAM_BACK_KERNEL_H
#define NYSTREAM_BACK_KERNEL_H
#include <stddef.h>
#include <string.h>
#include "isa.h"

#define BACK_TILES 32 /* that all outputs see before the next: 16 KB */

/* Eight sums side by side; BACK_ADD adds the products of eight neighbours. */
#if ISA_VECTORS
typedef double back_row __attribute__((vector_size(64), aligned(8), may_alias));
#define BACK_ADD(sum, x, y) ((sum) += *(const back_row *)(x) * *(const back_row *)(y))
#else
typedef struct { double lane[8]; } back_row;
#define BACK_ADD(sum, x, y) do { for (int r = 0; r < 8; r++) (sum).lane[r] += (x)[r] * (y)[r]; } while (0)
#endif

typedef void (*back_fn)(ptrdiff_t, ptrdiff_t, const double *, const double *, ptrdiff_t, double *, double *);

#define BACK(x) back_##x##_base
#include "back_body.h"
#undef BACK

#if ISA_X86
ISA_BEGIN_AVX2
#define BACK(x) back_##x##_avx2
#include "back_body.h"
#undef BACK
ISA_END
ISA_BEGIN_AVX512
#define BACK(x) back_##x##_avx512
#include "back_body.h"
#undef BACK
ISA_END
#endif

static inline back_fn back_pick(void) {
#if ISA_X86
  if (isa_level() >= ISA_AVX512) return back_solve_avx512;
  if (isa_level() >= ISA_AVX2) return back_solve_avx2;
#endif
  return back_solve_base;
}
#endif
