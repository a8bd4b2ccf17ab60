/* One novelty learner for every pixel of a video, in tiles of PIXELS_TILE pixels; float and double, one copy per
   instruction set, chosen once at import (isa.h).

   The state of a tile is contiguous: points [budget][c][TILE], coefficients and births [budget][TILE], scales [TILE].
   All loops run over the pixels of a tile, so they become vector code whatever the budget and the width c; a pixel's
   numbers depend neither on its place in a tile nor on the tiles computed with it. */
#ifndef NYSTREAM_PIXELS_KERNEL_H
#define NYSTREAM_PIXELS_KERNEL_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "exp_kernel.h"
#include "isa.h"

#define PIXELS_TILE 64

typedef struct {
  const void *frame;           /* (n, c): bytes, which are divided by 255, or numbers of the state's type */
  const unsigned char *frozen; /* (n,): pixels that learn nothing; NULL: none */
  void *points, *coef, *born, *scale, *scores;
  ptrdiff_t n, c, budget;
  int bytes, absolute, ring, learn;
  long long now;               /* number of this frame, for the births */
  double rate;                 /* k = exp(rate * distance), rate < 0; distances are absolute or squared */
  double keep, cap, rho;       /* decay, largest coefficient, margin */
} pixels_job;

typedef struct {
  int (*single)(const pixels_job *, ptrdiff_t, ptrdiff_t);
  int (*twice)(const pixels_job *, ptrdiff_t, ptrdiff_t);
} pixels_ops;

#define PIXELS_OPS(isa) {pixels_sweep_single_##isa, pixels_sweep_double_##isa}

#define PIXELS(x) pixels_##x##_single_base
#define PIXELS_EXP exp_near_single_base
#define SINGLE 1
#include "pixels_body.h"
#undef SINGLE
#undef PIXELS_EXP
#undef PIXELS
#define PIXELS(x) pixels_##x##_double_base
#define PIXELS_EXP exp_one_base
#define SINGLE 0
#include "pixels_body.h"
#undef SINGLE
#undef PIXELS_EXP
#undef PIXELS

#if ISA_X86
ISA_BEGIN_AVX2
#define PIXELS(x) pixels_##x##_single_avx2
#define PIXELS_EXP exp_near_single_avx2
#define SINGLE 1
#include "pixels_body.h"
#undef SINGLE
#undef PIXELS_EXP
#undef PIXELS
#define PIXELS(x) pixels_##x##_double_avx2
#define PIXELS_EXP exp_one_avx2
#define SINGLE 0
#include "pixels_body.h"
#undef SINGLE
#undef PIXELS_EXP
#undef PIXELS
ISA_END
ISA_BEGIN_AVX512
#define PIXELS(x) pixels_##x##_single_avx512
#define PIXELS_EXP exp_near_single_avx512
#define SINGLE 1
#include "pixels_body.h"
#undef SINGLE
#undef PIXELS_EXP
#undef PIXELS
#define PIXELS(x) pixels_##x##_double_avx512
#define PIXELS_EXP exp_one_avx512
#define SINGLE 0
#include "pixels_body.h"
#undef SINGLE
#undef PIXELS_EXP
#undef PIXELS
ISA_END
#endif

ISA_PICK(pixels, PIXELS_OPS)
#endif
