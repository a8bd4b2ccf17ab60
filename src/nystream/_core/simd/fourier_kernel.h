/* Random Fourier features: projections, sines and cosines, Walsh-Hadamard transform; one copy per instruction set,
   chosen once (isa.h). */
#ifndef NYSTREAM_FOURIER_KERNEL_H
#define NYSTREAM_FOURIER_KERNEL_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "isa.h"
#if ISA_X86
#include <immintrin.h>
#elif ISA_VECTORS && defined(__aarch64__)
#include <arm_neon.h>
#endif

#define FOURIER_ROWS 4     /* rows that share one pass over the directions */
#define FOURIER_SLACK 8    /* doubles by which a vector may reach beyond a row of directions or angles */
#define FOURIER_LANES 8    /* rows that pass through the Hadamard transform together */
#define FOURIER_FAR 1e6    /* largest angle of the vector sine and cosine: below 2^20 pi / 2 */
#define FOURIER_ROUND 6755399441055744.0 /* 1.5 * 2^52 */

typedef struct {
  void (*project)(ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *, const double *, double *);
  void (*sincos)(ptrdiff_t, const double *, double, double *, double *);
  void (*hadamard)(ptrdiff_t, ptrdiff_t, double *);
  void (*gather)(ptrdiff_t, const int32_t *, const double *, const double *, double *);
} fourier_ops;

#define FOURIER_OPS(isa) {fourier_project_##isa, fourier_sincos_##isa, fourier_hadamard_##isa, fourier_gather_##isa}

/* The baseline fuses where the compiler would: on arm64, or told of a newer processor (-march). */
#if ISA_VECTORS && defined(__aarch64__)
#define V 2
#define FUSED 1
#define FUSED_VECTOR(x, w, s) vfmaq_n_f64(s, w, x)
#elif ISA_X86 && defined(__FMA__)
#define V 2
#define FUSED 1
#define FUSED_VECTOR(x, w, s) _mm_fmadd_pd(_mm_set1_pd(x), w, s)
#elif defined(FP_FAST_FMA) || defined(__FMA__)
#define V 1
#define FUSED 1
#define FUSED_VECTOR(x, w, s) fma(x, w, s)
#else
#if ISA_VECTORS
#define V 2
#else
#define V 1
#endif
#define FUSED 0
#endif
#define FOURIER(x) fourier_##x##_base
#include "fourier_body.h"
#undef FOURIER
#undef FUSED
#undef V

#if ISA_X86
#define FUSED 1
ISA_BEGIN_AVX2
#define V 4
#define FUSED_VECTOR(x, w, s) _mm256_fmadd_pd(_mm256_set1_pd(x), w, s)
#define FOURIER(x) fourier_##x##_avx2
#include "fourier_body.h"
#undef FOURIER
#undef V
ISA_END
ISA_BEGIN_AVX512
#define V 8
#define FUSED_VECTOR(x, w, s) _mm512_fmadd_pd(_mm512_set1_pd(x), w, s)
#define FOURIER(x) fourier_##x##_avx512
#include "fourier_body.h"
#undef FOURIER
#undef V
ISA_END
#undef FUSED
#endif

ISA_PICK(fourier, FOURIER_OPS)

/* Sines and cosines of any angle, one at a time; an angle that overflowed counts as 0, so that |z| stays 1. */
static inline void fourier_far(ptrdiff_t n, const double *u, double gain, double *c, double *s) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double angle = isfinite(u[i]) ? u[i] : 0.0;
    c[i] = gain * cos(angle);
    s[i] = gain * sin(angle);
  }
}

/* |x|^2 in plain order: decides, for a row alone or in a block alike, whether the vector sine may be used */
static inline double fourier_square(ptrdiff_t d, const double *x) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < d; i++) sum += x[i] * x[i];
  return sum;
}
#endif
