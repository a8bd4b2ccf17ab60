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
#define FOURIER_SLACK(size) (64 / (ptrdiff_t)(size)) /* numbers by which a vector may reach beyond a row of directions
                                                        or angles: a cache line */
#define FOURIER_LANES 8    /* rows that pass through the Hadamard transform together */
#define FOURIER_FAR 1e6    /* largest angle of the vector sine and cosine: below 2^20 pi / 2 */
#define FOURIER_NEAR 8192.0 /* the same in float: k, of 13 bits, times 11 is exact */
#define FOURIER_ROUND 6755399441055744.0 /* 1.5 * 2^52 */

typedef void (*fourier_directions_fn)(ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, const void *, const int32_t *,
                                      const void *, const void *, const void *, void *, void *);
/* Of numbers of either type: double with `fourier_pick`, float with `fourier_single_pick` */
typedef struct {
  void (*project)(ptrdiff_t, ptrdiff_t, ptrdiff_t, ptrdiff_t, const void *, const void *, void *);
  void (*sincos)(ptrdiff_t, const void *, double, void *, void *);
  void (*hadamard)(ptrdiff_t, ptrdiff_t, void *);
  fourier_directions_fn directions;
} fourier_ops;
typedef fourier_ops fourier_single_ops;

#define FOURIER_OPS(isa) \
  {fourier_project_##isa, fourier_sincos_##isa, fourier_hadamard_##isa, fourier_directions_##isa}
#define FOURIER_SINGLE_OPS(isa) FOURIER_OPS(single_##isa)

/* The baseline fuses where the compiler would: on arm64, or told of a newer processor (-march). */
#if ISA_VECTORS && defined(__aarch64__)
#define FUSED 1
#define WIDTH 16
#define BASE_DOUBLE(x, w, s) vfmaq_n_f64(s, w, x)
#define BASE_SINGLE(x, w, s) vfmaq_n_f32(s, w, x)
#elif ISA_X86 && defined(__FMA__)
#define FUSED 1
#define WIDTH 16
#define BASE_DOUBLE(x, w, s) _mm_fmadd_pd(_mm_set1_pd(x), w, s)
#define BASE_SINGLE(x, w, s) _mm_fmadd_ps(_mm_set1_ps(x), w, s)
#elif defined(FP_FAST_FMA) || defined(__FMA__)
#define FUSED 1
#define WIDTH 0
#define BASE_DOUBLE(x, w, s) fma(x, w, s)
#define BASE_SINGLE(x, w, s) fmaf(x, w, s)
#else
#define FUSED 0
#define WIDTH (16 * ISA_VECTORS)
#endif
#if FUSED
#define FUSED_VECTOR BASE_DOUBLE
#endif
#define V (WIDTH ? WIDTH / 8 : 1)
#define SINGLE 0
#define FOURIER(x) fourier_##x##_base
#include "fourier_body.h"
#undef FOURIER
#undef SINGLE
#undef V
#if FUSED
#define FUSED_VECTOR BASE_SINGLE
#endif
#define V (WIDTH ? WIDTH / 4 : 1)
#define SINGLE 1
#define FOURIER(x) fourier_##x##_single_base
#include "fourier_body.h"
#undef FOURIER
#undef SINGLE
#undef V
#undef FUSED
#undef WIDTH

#if ISA_X86
#define FUSED 1
ISA_BEGIN_AVX2
#define V 4
#define SINGLE 0
#define FUSED_VECTOR(x, w, s) _mm256_fmadd_pd(_mm256_set1_pd(x), w, s)
#define FOURIER(x) fourier_##x##_avx2
#include "fourier_body.h"
#undef FOURIER
#undef SINGLE
#undef V
#define V 8
#define SINGLE 1
#define FUSED_VECTOR(x, w, s) _mm256_fmadd_ps(_mm256_set1_ps(x), w, s)
#define FOURIER(x) fourier_##x##_single_avx2
#include "fourier_body.h"
#undef FOURIER
#undef SINGLE
#undef V
ISA_END
ISA_BEGIN_AVX512
#define V 8
#define SINGLE 0
#define FUSED_VECTOR(x, w, s) _mm512_fmadd_pd(_mm512_set1_pd(x), w, s)
#define FOURIER(x) fourier_##x##_avx512
#include "fourier_body.h"
#undef FOURIER
#undef SINGLE
#undef V
#define V 16
#define SINGLE 1
#define FUSED_VECTOR(x, w, s) _mm512_fmadd_ps(_mm512_set1_ps(x), w, s)
#define FOURIER(x) fourier_##x##_single_avx512
#include "fourier_body.h"
#undef FOURIER
#undef SINGLE
#undef V
ISA_END
#undef FUSED
#endif

ISA_PICK(fourier, FOURIER_OPS)
ISA_PICK(fourier_single, FOURIER_SINGLE_OPS)

/* Sines and cosines of any angle, one at a time; an angle that overflowed counts as 0, so that |z| stays 1. */
static inline void fourier_far(ptrdiff_t n, const double *u, double gain, double *c, double *s) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double angle = isfinite(u[i]) ? u[i] : 0.0;
    c[i] = gain * cos(angle);
    s[i] = gain * sin(angle);
  }
}

static inline void fourier_single_far(ptrdiff_t n, const float *u, double gain, float *c, float *s) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double angle = isfinite(u[i]) ? u[i] : 0.0;
    c[i] = (float)(gain * cos(angle));
    s[i] = (float)(gain * sin(angle));
  }
}

/* |x|^2 in plain order: decides, for a row alone or in a block alike, whether the vector sine may be used */
static inline double fourier_square(ptrdiff_t d, const double *x) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < d; i++) sum += x[i] * x[i];
  return sum;
}
#endif
