/* The vector kernels of gradient descent for weights and features of either type, float or double: rows as void
   pointers, so that one loop serves both.  The arithmetic is that of linear_body.h; scalars are rounded to the type. */
#ifndef NYSTREAM_DESCENT_KERNEL_H
#define NYSTREAM_DESCENT_KERNEL_H
#include "linear_kernel.h"

#define SINGLE 1
#define LINEAR(x) linear_##x##_single_base
#define V 4
#include "linear_body.h"
#undef V
#undef LINEAR
#if ISA_X86
ISA_BEGIN_AVX2
#define LINEAR(x) linear_##x##_single_avx2
#define V 8
#include "linear_body.h"
#undef V
#undef LINEAR
ISA_END
#endif
#undef SINGLE

typedef struct {
  double (*dot)(ptrdiff_t, const void *, const void *);
  void (*add)(ptrdiff_t, double *, const void *);
  void (*mix)(ptrdiff_t, double, void *, double, const void *);
  void (*adagrad)(ptrdiff_t, double, double, double, const void *, void *, void *);
  void (*adam)(ptrdiff_t, double, double, double, double, double, const void *, void *, void *, void *);
} descent_ops;

/* The same functions with the types forgotten, named after their copy */
#define DESCENT(copy)                                                                                               \
  static double descent_dot_##copy(ptrdiff_t n, const void *w, const void *z) { return linear_dot_##copy(n, w, z); } \
  static void descent_add_##copy(ptrdiff_t n, double *t, const void *w) { linear_add_##copy(n, t, w); }             \
  static void descent_mix_##copy(ptrdiff_t n, double decay, void *w, double step, const void *z) {                  \
    linear_mix_##copy(n, decay, w, step, z);                                                                        \
  }                                                                                                                 \
  static void descent_adagrad_##copy(ptrdiff_t n, double eta, double lam, double dl, const void *z, void *w,        \
                                     void *h) {                                                                     \
    linear_adagrad_##copy(n, eta, lam, dl, z, w, h);                                                                \
  }                                                                                                                 \
  static void descent_adam_##copy(ptrdiff_t n, double eta, double lam, double dl, double bias1, double bias2,       \
                                  const void *z, void *w, void *m, void *v) {                                       \
    linear_adam_##copy(n, eta, lam, dl, bias1, bias2, z, w, m, v);                                                  \
  }
#define DESCENT_OPS(copy) \
  {descent_dot_##copy, descent_add_##copy, descent_mix_##copy, descent_adagrad_##copy, descent_adam_##copy}

DESCENT(base)
DESCENT(single_base)
#if ISA_X86
DESCENT(avx2)
DESCENT(single_avx2)
#endif

static inline descent_ops descent_pick(int single) {
  const descent_ops base = DESCENT_OPS(base), single_base = DESCENT_OPS(single_base);
#if ISA_X86
  const descent_ops avx2 = DESCENT_OPS(avx2), single_avx2 = DESCENT_OPS(single_avx2);
  if (isa_level() >= ISA_AVX2) return single ? single_avx2 : avx2;
#endif
  return single ? single_base : base;
}
#endif
