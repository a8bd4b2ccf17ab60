/* Running means and deviations of columns, row after row.  No product is fused with a sum: a row alone, which NumPy
   computes, must have the same bits. */
#ifndef NYSTREAM_RUNNING_H
#define NYSTREAM_RUNNING_H
#include "isa.h"
#include <math.h>
#include <stddef.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#define RUNNING_EXACT
#elif ISA_VECTORS
#define RUNNING_EXACT __attribute__((optimize("fp-contract=off")))
#else
#define RUNNING_EXACT
#endif

/* X (n, d) finite, counts > 0: each row scaled into Z by what was seen up to it. */
RUNNING_EXACT static void running_scale(ptrdiff_t n, ptrdiff_t d, const double *X, const double *first, double *count,
                                        double *total, double *spread, double *Z) {
  for (ptrdiff_t i = 0; i < n; i++, X += d, Z += d) {
    for (ptrdiff_t j = 0; j < d; j++) {
      const double u = X[j] - first[j];
      const double step = u - total[j] / count[j];
      const double now = count[j] + 1.0;
      const double sum = total[j] + u;
      const double square = step * step;
      const double share = (now - 1.0) / now;
      const double part = square * share;
      const double more = spread[j] + part;
      const double centred = u - sum / now;
      const double deviation = sqrt(more / now);
      count[j] = now;
      total[j] = sum;
      spread[j] = more;
      Z[j] = centred / (more == 0.0 ? 1.0 : deviation);
    }
  }
}
#endif
