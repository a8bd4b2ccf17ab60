/* Taylor features of a block of rows, for one instruction set.  Included by taylor_kernel.h with TAYLOR(x) naming the
   functions and V the number of doubles in a vector (1: plain C); no include guard.

   Each row sees the same operations in the same order in a block of any size: equal rows give equal bits. */
#if V > 1
typedef double TAYLOR(loose) __attribute__((vector_size(8 * V), aligned(8), may_alias));
typedef double TAYLOR(vec) __attribute__((vector_size(8 * V)));
#else
typedef double TAYLOR(loose);
typedef double TAYLOR(vec);
#endif
#define LOAD(p) (*(const TAYLOR(loose) *)(p))
#define STORE(p, v) (*(TAYLOR(loose) *)(p) = (v))

/* xs <- (x - centre) / sigma, filled up with zeros; returns |xs|^2 */
static inline double TAYLOR(scale)(const taylor_plan *plan, ptrdiff_t width, const double *restrict x,
                                   double *restrict xs) {
  for (ptrdiff_t i = 0; i < plan->d; i++) xs[i] = (x[i] - plan->centre[i]) * plan->inverse;
  for (ptrdiff_t i = plan->d; i < width; i++) xs[i] = 0;
  TAYLOR(vec) sum = {0};
  for (ptrdiff_t i = 0; i < width; i += V) sum += LOAD(xs + i) * LOAD(xs + i);
  double part[V], total = 0;
  STORE(part, sum);
  for (int i = 0; i < V; i++) total += part[i];
  return total;
}

/* degrees 2 and up of one row whose degrees 0 and 1 stand in z */
static inline void TAYLOR(raise)(const taylor_plan *plan, const double *xs, double *z) {
  const taylor_op *op = plan->ops;
  for (ptrdiff_t k = 0; k < plan->n_vector; k++, op++)
    STORE(z + op->target, LOAD(z + op->source) * xs[op->variable] * LOAD(plan->coef + op->target));
  for (ptrdiff_t k = 0; k < plan->n_single; k++, op++)
    z[op->target] = z[op->source] * xs[op->variable] * plan->coef[op->target];
}

/* X (n, d) -> Z (n, r); scratch holds min(n, TAYLOR_TILE) rows of d rounded up to TAYLOR_PAD */
static void TAYLOR(map)(const taylor_plan *plan, ptrdiff_t n, const double *X, double *scratch, double *Z) {
  const ptrdiff_t d = plan->d, r = plan->r, width = (d + TAYLOR_PAD - 1) / TAYLOR_PAD * TAYLOR_PAD;
  double g[TAYLOR_TILE];
  for (ptrdiff_t start = 0; start < n; start += TAYLOR_TILE) {
    const ptrdiff_t rows = n - start < TAYLOR_TILE ? n - start : TAYLOR_TILE;
    double *z = Z + start * r;
    for (ptrdiff_t t = 0; t < rows; t++) g[t] = TAYLOR(scale)(plan, width, X + (start + t) * d, scratch + t * width);
    for (ptrdiff_t t = 0; t < rows; t++) g[t] = plan->root * exp(-0.5 * g[t]);
    for (ptrdiff_t t = 0; t < rows; t++) {
      z[t * r] = g[t];
      if (r == 1) continue;
      for (ptrdiff_t i = 0; i < d; i++) z[t * r + 1 + i] = scratch[t * width + i] * g[t];
    }
    for (ptrdiff_t t = 0; t < rows; t++) TAYLOR(raise)(plan, scratch + t * width, z + t * r);
  }
}
#undef LOAD
#undef STORE
