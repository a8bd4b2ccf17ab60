/* Taylor features of the Gaussian kernel: one copy per instruction set, chosen once (isa.h), and the Poisson tail.

   The features of a row are monomials of total degree <= M in (x - centre) / sigma, divided by sqrt(prod k_i!) and
   multiplied by exp(-|x - centre|^2 / (2 sigma^2)).  In the order of the map (by degree, then larger leading exponents
   first) those of degree n whose first variable is j are x_j times the features of degree n - 1 whose first variable is
   j or later, and those are the end of their degree's run.  So every feature of degree >= 2 is

       z[target] = z[source] * x[variable] * coef[target],    coef = 1 / sqrt(exponent of the first variable),

   with consecutive targets and sources inside a run.  The plan lists the runs cut into pieces of one vector: no inner
   loop, no branch to mispredict.  A piece may write past the end of its run, never past the end of the row; what it
   spoils there comes later in the list. */
#ifndef NYSTREAM_TAYLOR_KERNEL_H
#define NYSTREAM_TAYLOR_KERNEL_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "isa.h"

#define TAYLOR_TILE 16 /* rows that pass together: what one stage stores is in the cache before the next one loads it */
#define TAYLOR_DEEP 700.0 /* exp(-700) is a normal number */
#define TAYLOR_PAD 8   /* the scaled row in the scratch is filled up with zeros to a multiple of this */

typedef struct {
  int32_t target, source, variable;
} taylor_op;

typedef struct {
  ptrdiff_t d, r;                /* columns, features */
  double inverse, root;          /* 1 / sigma, square root of the kernel's factor */
  const double *centre, *coef;   /* (d,), (r + TAYLOR_PAD,) */
  const taylor_op *ops;          /* n_vector pieces of one vector, then n_single pieces of one element */
  ptrdiff_t n_vector, n_single;
} taylor_plan;

typedef struct {
  int width; /* doubles in a vector: what the plan has to be cut into */
  void (*map)(const taylor_plan *, ptrdiff_t, const double *, double *, double *);
} taylor_isa;

#if ISA_VECTORS
#define V 2
#else
#define V 1
#endif
#define TAYLOR(x) taylor_##x##_base
#include "taylor_body.h"
#undef TAYLOR
enum { TAYLOR_BASE_WIDTH = V };
#undef V

#if ISA_X86 /* vectors of 8 are no faster: the stores decide */
ISA_BEGIN_AVX2
#define TAYLOR(x) taylor_##x##_avx2
#define V 4
#include "taylor_body.h"
#undef V
#undef TAYLOR
ISA_END
#endif

static inline taylor_isa taylor_pick(void) {
  taylor_isa isa = {TAYLOR_BASE_WIDTH, taylor_map_base};
#if ISA_X86
  if (isa_level() >= ISA_AVX2) isa.width = 4, isa.map = taylor_map_avx2;
#endif
  return isa;
}

/* Prob(Poisson(q) > M).  One minus the head of the series where that loses nothing; else, below the mean, the upper
   terms, and far above it the lower ones: both fall.  Relative error about 1e-13; log_factorial = log((M + 1)!). */
static inline double taylor_tail(double q, int M, double log_factorial) {
  if (q <= 0) return 0;
  if (q < TAYLOR_DEEP) {
    double head = 1;
    for (int j = M; j >= 1; j--) head = head * (q / j) + 1;
    head *= exp(-q);
    if (head < 0.999) return 1 - head;
  }
  double term = exp((M + 1) * log(q) - q - log_factorial), sum = 0; /* Prob(Poisson(q) = M + 1) */
  if (q < M + 1) {
    for (int j = M + 2; term > 1e-17 * sum; j++) sum += term, term *= q / j;
    return sum;
  }
  for (int j = M + 1; j >= 1 && term > 1e-17 * sum; j--) term *= j / q, sum += term;
  return sum < 1 ? 1 - sum : 0;
}
#endif
