/* Vector exp and the radial functions of the kernels, one copy per instruction set, chosen once (isa.h). */
#ifndef NYSTREAM_EXP_KERNEL_H
#define NYSTREAM_EXP_KERNEL_H
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "isa.h"

#define EXP_ROUND 6755399441055744.0 /* 1.5 * 2^52 */
#define EXP_FAR 800.0
#define EXP_NEAR 700.0 /* exp(-708) is the last normal number, exp(709) the last finite one */
#define EXP_PIECE 128

typedef struct {
  void (*exp)(double *, ptrdiff_t, double);
  void (*matern12)(double *, ptrdiff_t, double);
  void (*matern32)(double *, ptrdiff_t, double);
  void (*matern52)(double *, ptrdiff_t, double);
  void (*power)(double *, ptrdiff_t, double, double, int);
} exp_ops;

#define EXP_OPS(isa) {exp_exp_##isa, exp_matern12_##isa, exp_matern32_##isa, exp_matern52_##isa, exp_power_##isa}

#define EXP(x) exp_##x##_base
#define FUSED 0
#include "exp_body.h"
#undef FUSED
#undef EXP

#if ISA_X86
#define FUSED 1
ISA_BEGIN_AVX2
#define EXP(x) exp_##x##_avx2
#include "exp_body.h"
#undef EXP
ISA_END
ISA_BEGIN_AVX512
#define EXP(x) exp_##x##_avx512
#include "exp_body.h"
#undef EXP
ISA_END
#undef FUSED
#endif

ISA_PICK(exp, EXP_OPS)
#endif
