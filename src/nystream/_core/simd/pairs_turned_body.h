/* Few columns: all pairs with V points side by side in a vector; included by pairs_body.h, no include guard.

   The points' columns are transposed to `turned` (d x PAIRS_TURNED), which spares the sum over lanes.  The terms of
   each lane of a tile are still added apart, and these sums in the same tree, so that the result is that of a tile,
   bit for bit.  With fewer columns than lanes there are no tiles to agree with: the columns are added in turn. */

/* Sums between ni (2 or 1) rows of X and V points */
PAIRS_INLINE void PAIRS(beside)(const int op, const int ni, const double *X, const double *turned, ptrdiff_t d,
                                PAIRS(vec) *sum) {
  PAIRS(vec) a[V][2], y;
  ptrdiff_t k = 0;
  for (int l = 0; l < V; l++)
    for (int i = 0; i < ni; i++) a[l][i] = (PAIRS(vec)){0};
  if (d < V) {
    for (; k < d; k++)
      for (int i = 0; i < ni; i++)
        a[0][i] = PAIRS(add)(op, a[0][i], LOAD(turned + k * PAIRS_TURNED), SPLAT(X[i * d + k]));
    for (int i = 0; i < ni; i++) sum[i] = a[0][i];
    return;
  }
  for (; k + V <= d; k += V)
#pragma GCC unroll 8
    for (int l = 0; l < V; l++) {
      y = LOAD(turned + (k + l) * PAIRS_TURNED);
#pragma GCC unroll 2
      for (int i = 0; i < ni; i++) a[l][i] = PAIRS(add)(op, a[l][i], y, SPLAT(X[i * d + k + l]));
    }
#pragma GCC unroll 8
  for (int l = 1; l < V; l++)
    if (d - V + l >= k) {
      y = LOAD(turned + (d - V + l) * PAIRS_TURNED);
#pragma GCC unroll 2
      for (int i = 0; i < ni; i++) a[l][i] = PAIRS(add)(op, a[l][i], y, SPLAT(X[i * d + d - V + l]));
    }
#pragma GCC unroll 2
  for (int i = 0; i < ni; i++) {
#if V == 8
    sum[i] = ((a[0][i] + a[4][i]) + (a[1][i] + a[5][i])) + ((a[2][i] + a[6][i]) + (a[3][i] + a[7][i]));
#elif V == 4
    sum[i] = (a[0][i] + a[1][i]) + (a[2][i] + a[3][i]);
#else
    sum[i] = a[0][i] + a[1][i];
#endif
  }
}

/* ni rows of X against m points */
PAIRS_INLINE void PAIRS(turned)(const int op, const int ni, const double *X, const double *turned, ptrdiff_t m,
                                ptrdiff_t d, double *out, ptrdiff_t ldo) {
  for (ptrdiff_t j = 0; j < m; j += V) {
    PAIRS(vec) a[2];
    PAIRS(beside)(op, ni, X, turned + j, d, a);
    for (int i = 0; i < ni; i++) {
      double *o = out + i * ldo + j, rest[V];
      if (j + V <= m) {
        STORE(o, a[i]);
      } else {
        STORE(rest, a[i]);
        for (ptrdiff_t l = 0; l < m - j; l++) o[l] = rest[l];
      }
    }
  }
}

/* Transpose m points; the columns of the points that would fill the last vector are 0 */
PAIRS_INLINE void PAIRS(turn)(const double *Y, ptrdiff_t m, ptrdiff_t d, double *turned) {
  for (ptrdiff_t j = 0; j < m; j++)
    for (ptrdiff_t k = 0; k < d; k++) turned[k * PAIRS_TURNED + j] = Y[j * d + k];
  for (ptrdiff_t j = m; j % V; j++)
    for (ptrdiff_t k = 0; k < d; k++) turned[k * PAIRS_TURNED + j] = 0;
}

/* All n rows of X against m points, PAIRS_TURNED of them at a time */
PAIRS_INLINE void PAIRS(side_by_side)(const int op, const double *X, ptrdiff_t n, const double *Y, ptrdiff_t m,
                                      ptrdiff_t d, double *out, ptrdiff_t ldo, pairs_finish finish,
                                      const void *how) {
  double turned[PAIRS_FEW * PAIRS_TURNED];
  for (ptrdiff_t j = 0; j < m; j += PAIRS_TURNED) {
    const ptrdiff_t w = m - j < PAIRS_TURNED ? m - j : PAIRS_TURNED;
    PAIRS(turn)(Y + j * d, w, d, turned);
    ptrdiff_t i = 0;
    for (; i + 2 <= n; i += 2) PAIRS(turned)(op, 2, X + i * d, turned, w, d, out + i * ldo + j, ldo);
    for (; i < n; i++) PAIRS(turned)(op, 1, X + i * d, turned, w, d, out + i * ldo + j, ldo);
    if (finish)
      for (i = 0; i < n; i++) finish(out + i * ldo + j, w, how);
  }
}
