/* The vector work of a linear model, for one instruction set.  Included by linear_kernel.h with LINEAR(x) naming the
   functions, SINGLE telling float from double and V how many of them are in a vector; no include guard. */

#if SINGLE
#define REAL float
#define SQRT sqrtf
#else
#define REAL double
#define SQRT sqrt
#endif

/* Four chains of sums hide the latency of the additions; their order is fixed, so equal inputs give equal bits. */
static double LINEAR(dot)(ptrdiff_t n, const REAL *restrict w, const REAL *restrict z) {
  ptrdiff_t i = 0;
  double sum = 0;
#if ISA_VECTORS
  typedef REAL vec __attribute__((vector_size(sizeof(REAL) * V), aligned(sizeof(REAL)), may_alias));
  vec a = {0}, b = {0}, c = {0}, d = {0};
  for (; i + 4 * V <= n; i += 4 * V) {
    a += *(const vec *)(w + i) * *(const vec *)(z + i);
    b += *(const vec *)(w + i + V) * *(const vec *)(z + i + V);
    c += *(const vec *)(w + i + 2 * V) * *(const vec *)(z + i + 2 * V);
    d += *(const vec *)(w + i + 3 * V) * *(const vec *)(z + i + 3 * V);
  }
  for (; i + V <= n; i += V) a += *(const vec *)(w + i) * *(const vec *)(z + i);
  a = (a + b) + (c + d);
  for (int j = 0; j < V; j++) sum += a[j];
#endif
  for (; i < n; i++) sum += w[i] * z[i];
  return sum;
}

/* total += w; sums over all rounds are double always */
static void LINEAR(add)(ptrdiff_t n, double *restrict total, const REAL *restrict w) {
  for (ptrdiff_t i = 0; i < n; i++) total[i] += w[i];
}

/* w <- decay w + step z */
static void LINEAR(mix)(ptrdiff_t n, REAL decay, REAL *restrict w, REAL step, const REAL *restrict z) {
  for (ptrdiff_t i = 0; i < n; i++) w[i] = decay * w[i] + step * z[i];
}

/* g = dl z + lam w;  h += g^2;  w -= eta g / (sqrt(h) + tiny) */
static void LINEAR(adagrad)(ptrdiff_t n, REAL eta, REAL lam, REAL dl, const REAL *restrict z, REAL *restrict w,
                            REAL *restrict h) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const REAL g = dl * z[i] + lam * w[i];
    h[i] += g * g;
    w[i] -= eta * g / (SQRT(h[i]) + (REAL)LINEAR_TINY);
  }
}

/* m, v = running means of g and g^2;  w -= eta (m / bias1) / (sqrt(v / bias2) + tiny) */
static void LINEAR(adam)(ptrdiff_t n, REAL eta, REAL lam, REAL dl, REAL bias1, REAL bias2, const REAL *restrict z,
                         REAL *restrict w, REAL *restrict m, REAL *restrict v) {
  const REAL step = eta / bias1, shrink = 1 / bias2;  /* outside the loop: divisions are what it waits for */
  for (ptrdiff_t i = 0; i < n; i++) {
    const REAL g = dl * z[i] + lam * w[i];
    m[i] = (REAL)LINEAR_BETA1 * m[i] + (REAL)(1 - LINEAR_BETA1) * g;
    v[i] = (REAL)LINEAR_BETA2 * v[i] + (REAL)(1 - LINEAR_BETA2) * (g * g);
    w[i] -= step * m[i] / (SQRT(shrink * v[i]) + (REAL)LINEAR_TINY);
  }
}

#if !SINGLE
/* The m rounds of one ONS block in the m x m matrix G = Z A^-1 Z' (second-order updates seen from the block's own rows).
   After round j, with col = G[:, j], for the rows that are still to come:  f -= kap col,  G -= rho col col'. */
static void LINEAR(downdate)(int m, int j, double kap, double rho, double *restrict f, double *restrict G,
                             double *restrict col) {
  for (int i = j + 1; i < m; i++) col[i] = G[(ptrdiff_t)j * m + i];
  for (int i = j + 1; i < m; i++) f[i] -= kap * col[i];
  if (rho == 0) return;
  for (int i = j + 1; i < m; i++) {
    double *restrict Gi = G + (ptrdiff_t)i * m;
    const double c = rho * col[i];
    for (int k = i; k < m; k++) Gi[k] -= c * col[k];
  }
}
#endif
#undef REAL
#undef SQRT
