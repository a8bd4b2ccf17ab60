/* Vector exp and the radial functions of the kernels, one copy per instruction set, chosen once (isa.h). */
#ifndef NYSTREAM_EXP_KERNEL_H
#define NYSTREAM_EXP_KERNEL_H
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "isa.h"

#define EXP_PIECE 128

/* Of numbers of either type: double with `exp_pick`, float with `exp_single_pick` */
typedef struct {
  void (*exp)(void *, ptrdiff_t, double);
  void (*matern12)(void *, ptrdiff_t, double);
  void (*matern32)(void *, ptrdiff_t, double);
  void (*matern52)(void *, ptrdiff_t, double);
  void (*power)(void *, ptrdiff_t, double, double, int);
} exp_ops;
typedef exp_ops exp_single_ops;

#define EXP_OPS(isa) {exp_exp_##isa, exp_matern12_##isa, exp_matern32_##isa, exp_matern52_##isa, exp_power_##isa}
#define EXP_SINGLE_OPS(isa) EXP_OPS(single_##isa)

#define FUSED 0
#define SINGLE 0
#define EXP(x) exp_##x##_base
#include "exp_body.h"
#undef EXP
#undef SINGLE
#define SINGLE 1
#define EXP(x) exp_##x##_single_base
#include "exp_body.h"
#undef EXP
#undef SINGLE
#undef FUSED

#if ISA_X86
#define FUSED 1
ISA_BEGIN_AVX2
#define SINGLE 0
#define EXP(x) exp_##x##_avx2
#include "exp_body.h"
#undef EXP
#undef SINGLE
#define SINGLE 1
#define EXP(x) exp_##x##_single_avx2
#include "exp_body.h"
#undef EXP
#undef SINGLE
ISA_END
ISA_BEGIN_AVX512
#define SINGLE 0
#define EXP(x) exp_##x##_avx512
#include "exp_body.h"
#undef EXP
#undef SINGLE
#define SINGLE 1
#define EXP(x) exp_##x##_single_avx512
#include "exp_body.h"
#undef EXP
#undef SINGLE
ISA_END
#undef FUSED
#endif

ISA_PICK(exp, EXP_OPS)
ISA_PICK(exp_single, EXP_SINGLE_OPS)
#endif
