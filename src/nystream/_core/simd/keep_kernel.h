/* What happens to a point that leaves a full expansion: projection on the others, or a merge with its best partner.
   One copy per instruction set, chosen once at import (isa.h). */
#ifndef NYSTREAM_KEEP_KERNEL_H
#define NYSTREAM_KEEP_KERNEL_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "exp_kernel.h"
#include "isa.h"

#define KEEP_GOLDEN 0.6180339887498949
#define KEEP_PIECE 16 /* entries that are looked through together */
#define KEEP_WIDTH 1e-6 /* of the interval that holds h when the search ends */

typedef struct {
  ptrdiff_t (*smallest)(ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *, const double *, const long long *, double *);
  void (*append)(ptrdiff_t, ptrdiff_t, double *, double *, double, double);
  void (*inverse_column)(ptrdiff_t, ptrdiff_t, const double *, ptrdiff_t, double *);
  void (*erase)(ptrdiff_t, ptrdiff_t, double *, ptrdiff_t, double *);
  void (*golden)(const exp_ops *, ptrdiff_t, const double *, double, const double *, const double *, double *, double *,
                 double *);
} keep_ops;

#define KEEP_OPS(isa) {keep_smallest_##isa, keep_append_##isa, keep_inverse_column_##isa, keep_erase_##isa, \
                       keep_golden_##isa}

#define KEEP(x) keep_##x##_base
#include "keep_body.h"
#undef KEEP

#if ISA_X86
ISA_BEGIN_AVX2
#define KEEP(x) keep_##x##_avx2
#include "keep_body.h"
#undef KEEP
ISA_END
#endif

ISA_PICK_AVX2(keep, KEEP_OPS)
#endif
