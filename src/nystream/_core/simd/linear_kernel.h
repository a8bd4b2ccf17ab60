/* Vector kernels of the linear solvers (OGD, ONS), one copy per instruction set, chosen once at import (isa.h).

   Element-wise loops are left to the compiler's vectoriser; the dot product, which may not be reordered without
   -ffast-math, spells its partial sums out.  There is no AVX-512 copy: it was no faster than the AVX2 one. */
#ifndef NYSTREAM_LINEAR_KERNEL_H
#define NYSTREAM_LINEAR_KERNEL_H
#include <math.h>
#include <stddef.h>
#include "isa.h"

#define LINEAR_TINY 1e-8
#define LINEAR_BETA1 0.9
#define LINEAR_BETA2 0.999

typedef struct {
  double (*dot)(ptrdiff_t, const double *, const double *);
  void (*add)(ptrdiff_t, double *, const double *);
  void (*mix)(ptrdiff_t, double, double *, double, const double *);
  void (*adagrad)(ptrdiff_t, double, double, double, const double *, double *, double *);
  void (*adam)(ptrdiff_t, double, double, double, double, double, const double *, double *, double *, double *);
  void (*downdate)(int, int, double, double, double *, double *, double *);
} linear_ops;

#define LINEAR_OPS(isa) {linear_dot_##isa, linear_add_##isa, linear_mix_##isa, linear_adagrad_##isa, \
                         linear_adam_##isa, linear_downdate_##isa}

#define SINGLE 0
#define LINEAR(x) linear_##x##_base
#define V 2
#include "linear_body.h"
#undef V
#undef LINEAR

#if ISA_X86
ISA_BEGIN_AVX2
#define LINEAR(x) linear_##x##_avx2
#define V 4
#include "linear_body.h"
#undef V
#undef LINEAR
ISA_END
#endif
#undef SINGLE

ISA_PICK_AVX2(linear, LINEAR_OPS)
#endif
