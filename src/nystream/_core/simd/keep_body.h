/* Dropping a point of an expansion and keeping most of what it said, for one instruction set.  Included by keep_kernel.h
   with KEEP(x) naming the functions; no include guard.

   The lower triangular factor L of a Gram matrix is stored by columns, L[i, j] at L[j*ld + i]: then every loop below runs
   over neighbours in memory. */

static double KEEP(dot)(ptrdiff_t n, const double *restrict x, const double *restrict y) {
  double s[8] = {0}, total = 0;
  ptrdiff_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; j++) s[j] += x[i + j] * y[i + j];
  for (; i < n; i++) total += x[i] * y[i];
  return total + (((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])));
}

/* The entry whose largest |coefficient| (times the root of diag, if given) is least; the oldest of equals.  a holds K rows
   of n numbers, ld apart; v is scratch of n numbers. */
static ptrdiff_t KEEP(smallest)(ptrdiff_t n, ptrdiff_t K, ptrdiff_t ld, const double *restrict a,
                                const double *restrict diag, const long long *restrict born, double *restrict v) {
  for (ptrdiff_t i = 0; i < n; i++) v[i] = fabs(a[i]);
  for (ptrdiff_t c = 1; c < K; c++)
    for (ptrdiff_t i = 0; i < n; i++) v[i] = fabs(a[c * ld + i]) > v[i] ? fabs(a[c * ld + i]) : v[i];
  if (diag)
    for (ptrdiff_t i = 0; i < n; i++) v[i] *= sqrt(diag[i]);
  double lane[8], least = v[0];
  ptrdiff_t i = 0, who = -1;
  for (int j = 0; j < 8; j++) lane[j] = v[0];
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; j++) lane[j] = v[i + j] < lane[j] ? v[i + j] : lane[j];
  for (; i < n; i++) least = v[i] < least ? v[i] : least;
  for (int j = 0; j < 8; j++) least = lane[j] < least ? lane[j] : least;
  for (ptrdiff_t start = 0; start < n; start += KEEP_PIECE) { /* most pieces have none */
    const ptrdiff_t end = n - start < KEEP_PIECE ? n : start + KEEP_PIECE;
    uint64_t there = 0;
    for (i = start; i < end; i++) there |= v[i] == least ? UINT64_MAX : 0;
    for (i = start; there && i < end; i++)
      if (v[i] == least && (who < 0 || born[i] < born[who])) who = i;
  }
  return who < 0 ? 0 : who;
}

/* Append the row l with L l' = k (n numbers, overwritten by l) and the pivot sqrt(max(own - |l|^2, floor)). */
static void KEEP(append)(ptrdiff_t n, ptrdiff_t ld, double *restrict L, double *restrict k, double own, double floor) {
  for (ptrdiff_t j = 0; j < n; j++) {
    const double *restrict column = L + j * ld;
    const double v = k[j] /= column[j];
    for (ptrdiff_t i = j + 1; i < n; i++) k[i] -= v * column[i];
  }
  const double rest = own - KEEP(dot)(n, k, k);
  for (ptrdiff_t j = 0; j < n; j++) L[j * ld + n] = k[j];
  L[n * ld + n] = sqrt(rest > floor ? rest : floor);
}

/* g = column q of (L L')^-1, n numbers. */
static void KEEP(inverse_column)(ptrdiff_t n, ptrdiff_t ld, const double *restrict L, ptrdiff_t q, double *restrict g) {
  for (ptrdiff_t i = 0; i < n; i++) g[i] = 0;
  g[q] = 1;
  for (ptrdiff_t j = q; j < n; j++) {
    const double *restrict column = L + j * ld;
    const double v = g[j] /= column[j];
    for (ptrdiff_t i = j + 1; i < n; i++) g[i] -= v * column[i];
  }
  for (ptrdiff_t j = n - 1; j >= 0; j--) {
    const double *restrict column = L + j * ld;
    g[j] = (g[j] - KEEP(dot)(n - j - 1, column + j + 1, g + j + 1)) / column[j];
  }
}

/* The factor without row and column q of its matrix: the part behind q takes up the removed column x x' (an addition, so
   pivots only grow and nothing cancels).  x is scratch of n numbers. */
static void KEEP(erase)(ptrdiff_t n, ptrdiff_t ld, double *restrict L, ptrdiff_t q, double *restrict x) {
  const ptrdiff_t m = n - 1;
  for (ptrdiff_t j = 0; j < q; j++) memmove(L + j * ld + q, L + j * ld + q + 1, (size_t)(m - q) * sizeof *L);
  memcpy(x + q, L + q * ld + q + 1, (size_t)(m - q) * sizeof *L);
  for (ptrdiff_t j = q; j < m; j++) {
    double *column = L + j * ld;
    memcpy(column + j, L + (j + 1) * ld + j + 1, (size_t)(m - j) * sizeof *L);
    const double pivot = hypot(column[j], x[j]), c = pivot / column[j], s = x[j] / column[j], inverse = 1 / c;
    column[j] = pivot;
    for (ptrdiff_t i = j + 1; i < m; i++) {
      const double l = (column[i] + s * x[i]) * inverse;
      x[i] = c * x[i] - s * l;
      column[i] = l;
    }
  }
}

/* |a_i u + a_j v|^2 with u = k^((1-h)^2), v = k^(h^2), for m pairs at once; e holds 2 m numbers. */
static void KEEP(merged)(const exp_ops *ops, ptrdiff_t m, const double *restrict logk, double P, const double *restrict Q,
                         const double *restrict C, const double *restrict h, double *restrict e, double *restrict f) {
  for (ptrdiff_t j = 0; j < m; j++) e[j] = (1 - h[j]) * (1 - h[j]) * logk[j];
  for (ptrdiff_t j = 0; j < m; j++) e[m + j] = h[j] * h[j] * logk[j];
  ops->exp(e, 2 * m, 1.0);
  for (ptrdiff_t j = 0; j < m; j++)
    f[j] = P * (e[j] * e[j]) + Q[j] * (e[m + j] * e[m + j]) + 2 * C[j] * (e[j] * e[m + j]);
}

/* Golden section for h in [0, 1] that maximises |a_i u + a_j v|^2, all m pairs side by side, to a width of KEEP_WIDTH.
   h and f return the place and the value there; work holds 8 m numbers. */
static void KEEP(golden)(const exp_ops *ops, ptrdiff_t m, const double *restrict logk, double P,
                         const double *restrict Q, const double *restrict C, double *restrict h, double *restrict f,
                         double *restrict work) {
  double *restrict lo = work, *restrict hi = work + m, *restrict left = work + 2 * m, *restrict right = work + 3 * m;
  double *restrict f_left = work + 4 * m, *restrict f_right = work + 5 * m, *restrict e = work + 6 * m;
  for (ptrdiff_t j = 0; j < m; j++) {
    lo[j] = 0, hi[j] = 1, left[j] = 1 - KEEP_GOLDEN, right[j] = KEEP_GOLDEN;
  }
  KEEP(merged)(ops, m, logk, P, Q, C, left, e, f_left);
  KEEP(merged)(ops, m, logk, P, Q, C, right, e, f_right);
  for (double width = KEEP_GOLDEN; width > KEEP_WIDTH; width *= KEEP_GOLDEN) {
    for (ptrdiff_t j = 0; j < m; j++) {
      const int down = f_left[j] >= f_right[j];
      lo[j] = down ? lo[j] : left[j];
      hi[j] = down ? right[j] : hi[j];
      h[j] = down ? hi[j] - KEEP_GOLDEN * (hi[j] - lo[j]) : lo[j] + KEEP_GOLDEN * (hi[j] - lo[j]);
    }
    KEEP(merged)(ops, m, logk, P, Q, C, h, e, f);
    for (ptrdiff_t j = 0; j < m; j++) {
      const int down = f_left[j] >= f_right[j];
      const double l = left[j], r = right[j], fl = f_left[j], fr = f_right[j];
      left[j] = down ? h[j] : r, right[j] = down ? l : h[j];
      f_left[j] = down ? f[j] : fr, f_right[j] = down ? fl : f[j];
    }
  }
  for (ptrdiff_t j = 0; j < m; j++) h[j] = 0.5 * (lo[j] + hi[j]);
  KEEP(merged)(ops, m, logk, P, Q, C, h, e, f);
}
