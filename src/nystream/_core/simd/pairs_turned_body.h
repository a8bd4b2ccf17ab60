/* Few columns: all pairs with V points side by side in a vector; included by pairs_body.h, no include guard.

   The points' columns are transposed to `turned` (d x PAIRS_TURNED), which spares the sum over lanes.  The terms of
   each lane of a tile are still added apart, and these sums in the same tree, so that the result is that of a tile,
   bit for bit; a tile has L lanes, V or 8 where that is less.  With fewer columns than lanes there are no tiles to
   agree with: the columns are added in turn. */

/* In everything below: ni rows of X, nv vectors of V points.  A sum of row i and vector v is a[i * nv + v]. */
#define SUMS(i, v)                      \
  _Pragma("GCC unroll 4")               \
  for (int i = 0; i < ni; i++)          \
    _Pragma("GCC unroll 4")             \
    for (int v = 0; v < nv; v++)

/* a += the terms of column k */
PAIRS_INLINE void PAIRS(column)(const int op, const int ni, const int nv, const REAL *X, const REAL *turned,
                                ptrdiff_t d, ptrdiff_t k, PAIRS(vec) *a) {
  PAIRS(vec) y[2];
#pragma GCC unroll 4
  for (int v = 0; v < nv; v++) y[v] = LOAD(turned + k * PAIRS_TURNED + v * V);
#pragma GCC unroll 4
  for (int i = 0; i < ni; i++) {
    const PAIRS(vec) x = SPLAT(X[i * d + k]);
#pragma GCC unroll 4
    for (int v = 0; v < nv; v++) a[i * nv + v] = PAIRS(add)(op, a[i * nv + v], y[v], x);
  }
}

/* a = lane l of a tile plus lane m of it; the first `whole` columns fill its vectors */
PAIRS_INLINE void PAIRS(lanes)(const int op, const int L, const int ni, const int nv, const REAL *X, const REAL *turned,
                               ptrdiff_t d, ptrdiff_t whole, int l, int m, PAIRS(vec) *a) {
  PAIRS(vec) b[PAIRS_SUMS];
  SUMS(i, v) a[i * nv + v] = (PAIRS(vec)){0};
  for (ptrdiff_t k = l; k < whole; k += L) PAIRS(column)(op, ni, nv, X, turned, d, k, a);
  if (d - L + l >= whole) PAIRS(column)(op, ni, nv, X, turned, d, d - L + l, a);
  SUMS(i, v) b[i * nv + v] = (PAIRS(vec)){0};
  for (ptrdiff_t k = m; k < whole; k += L) PAIRS(column)(op, ni, nv, X, turned, d, k, b);
  if (d - L + m >= whole) PAIRS(column)(op, ni, nv, X, turned, d, d - L + m, b);
  SUMS(i, v) a[i * nv + v] += b[i * nv + v];
}

/* a = the sums over all columns.  Lane after lane, so that few of them are alive at once: what is read of X and of the
   points serves all ni x nv sums. */
PAIRS_INLINE void PAIRS(beside)(const int op, const int L, const int ni, const int nv, const REAL *X,
                                const REAL *turned, ptrdiff_t d, PAIRS(vec) *a) {
  const ptrdiff_t whole = d - d % L;
  PAIRS(vec) b[PAIRS_SUMS], c[PAIRS_SUMS];
  if (d < L) {
    SUMS(i, v) a[i * nv + v] = (PAIRS(vec)){0};
    for (ptrdiff_t k = 0; k < d; k++) PAIRS(column)(op, ni, nv, X, turned, d, k, a);
  } else if (L == 8) {
    PAIRS(lanes)(op, L, ni, nv, X, turned, d, whole, 0, 4, a);
    PAIRS(lanes)(op, L, ni, nv, X, turned, d, whole, 1, 5, b);
    SUMS(i, v) a[i * nv + v] += b[i * nv + v];
    PAIRS(lanes)(op, L, ni, nv, X, turned, d, whole, 2, 6, b);
    PAIRS(lanes)(op, L, ni, nv, X, turned, d, whole, 3, 7, c);
    SUMS(i, v) b[i * nv + v] += c[i * nv + v];
    SUMS(i, v) a[i * nv + v] += b[i * nv + v];
  } else if (L == 4) {
    PAIRS(lanes)(op, L, ni, nv, X, turned, d, whole, 0, 1, a);
    PAIRS(lanes)(op, L, ni, nv, X, turned, d, whole, 2, 3, b);
    SUMS(i, v) a[i * nv + v] += b[i * nv + v];
  } else {
    PAIRS(lanes)(op, L, ni, nv, X, turned, d, whole, 0, 1, a);
  }
}

/* out = the sums of the first m points */
PAIRS_INLINE void PAIRS(written)(const int op, const int L, const int ni, const int nv, const REAL *X,
                                 const REAL *turned, ptrdiff_t m, ptrdiff_t d, REAL *out, ptrdiff_t ldo) {
  PAIRS(vec) a[PAIRS_SUMS];
  REAL rest[2 * V];
  PAIRS(beside)(op, L, ni, nv, X, turned, d, a);
  if (m >= nv * V) {
    SUMS(i, v) STORE(out + i * ldo + v * V, a[i * nv + v]);
    return;
  }
  for (int i = 0; i < ni; i++) {
    for (int v = 0; v < nv; v++) STORE(rest + v * V, a[i * nv + v]);
    for (ptrdiff_t l = 0; l < m; l++) out[i * ldo + l] = rest[l];
  }
}

/* ni rows of X against m points */
PAIRS_INLINE void PAIRS(turned)(const int op, const int L, const int ni, const REAL *X, const REAL *turned,
                                ptrdiff_t m, ptrdiff_t d, REAL *out, ptrdiff_t ldo) {
  ptrdiff_t j = 0;
  for (; j + V < m; j += 2 * V) PAIRS(written)(op, L, ni, 2, X, turned + j, m - j, d, out + j, ldo);
  if (j < m) PAIRS(written)(op, L, ni, 1, X, turned + j, m - j, d, out + j, ldo);
}

/* Transpose m points; the columns of the points that would fill the last vector are 0 */
PAIRS_INLINE void PAIRS(turn)(const REAL *Y, ptrdiff_t m, ptrdiff_t d, REAL *turned) {
  for (ptrdiff_t j = 0; j < m; j++)
    for (ptrdiff_t k = 0; k < d; k++) turned[k * PAIRS_TURNED + j] = Y[j * d + k];
  for (ptrdiff_t j = m; j % V; j++)
    for (ptrdiff_t k = 0; k < d; k++) turned[k * PAIRS_TURNED + j] = 0;
}

/* All n rows of X against m points, PAIRS_TURNED of them at a time */
PAIRS_INLINE void PAIRS(side_by_side)(const int op, const int L, const REAL *X, ptrdiff_t n, const REAL *Y, ptrdiff_t m,
                                      ptrdiff_t d, double *out, ptrdiff_t ldo, pairs_finish finish, const void *how) {
  REAL turned[PAIRS_FEW * PAIRS_TURNED];
  SUMS_OF(2, PAIRS_TURNED)
  for (ptrdiff_t j = 0; j < m; j += PAIRS_TURNED) {
    const ptrdiff_t w = m - j < PAIRS_TURNED ? m - j : PAIRS_TURNED;
    PAIRS(turn)(Y + j * d, w, d, turned);
    double *o = out + j;
    ptrdiff_t i = 0;
    for (; i + 2 <= n; i += 2, o += 2 * ldo) {
      PAIRS(turned)(op, L, 2, X + i * d, turned, w, d, SUMS_AT(o), lds);
      PAIRS(settle)(SUMS_AT(o), lds, 2, w, o, ldo, finish, how);
    }
    if (i < n) {
      PAIRS(turned)(op, L, 1, X + i * d, turned, w, d, SUMS_AT(o), lds);
      PAIRS(settle)(SUMS_AT(o), lds, 1, w, o, ldo, finish, how);
    }
  }
}
#undef SUMS
