/* c = gain cos(u) for |u| <= 1e6, one copy per instruction set, chosen once (isa.h).

   u = k pi + r, k = round(u / pi), |r| <= pi/2: adding COSINE_ROUND rounds and leaves k in the low bits.  pi is the sum of
   three numbers of which the first two have 33 bits, so that k times them is exact for k < 2^20.  Then
   cos r = 1 - r^2/2 + r^4 C(r^2), where C interpolates at 7 Chebyshev nodes of [0, (pi/2)^2], and an odd k changes the
   sign.  Half the work of a sine and a cosine (fourier_body.h); the error, absolute, is that of rounding numbers up to 1. */
#ifndef NYSTREAM_COSINE_KERNEL_H
#define NYSTREAM_COSINE_KERNEL_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "isa.h"

#define COSINE_ROUND 6755399441055744.0 /* 1.5 * 2^52 */

typedef struct {
  void (*cosines)(ptrdiff_t n, const double *u, double gain, double *c);
  void (*scaled)(ptrdiff_t n, ptrdiff_t block, ptrdiff_t apart, const double *f, const double *a, double *out);
} cosine_ops;

#define FMA(a, b, c) ((a) * (b) + (c))
#define COSINE(x) cosine_##x##_base
#include "cosine_body.h"
#undef COSINE
#undef FMA

#if ISA_X86
#define FMA(a, b, c) fma(a, b, c)
ISA_BEGIN_AVX2
#define COSINE(x) cosine_##x##_avx2
#include "cosine_body.h"
#undef COSINE
ISA_END
ISA_BEGIN_AVX512
#define COSINE(x) cosine_##x##_avx512
#include "cosine_body.h"
#undef COSINE
ISA_END
#undef FMA
#endif

#define COSINE_OPS(isa) {cosine_cosines_##isa, cosine_scaled_##isa}
ISA_PICK(cosine, COSINE_OPS)
#endif
