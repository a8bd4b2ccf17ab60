/* The solve of triangle_kernel.h for one instruction set, with vectors of W numbers; no include guard. */
typedef double TRIANGLE(vec) __attribute__((vector_size(8 * W)));
typedef double TRIANGLE(mem) __attribute__((vector_size(8 * W), aligned(8), may_alias));
#define VEC TRIANGLE(vec)
#define LOAD(p) (*(const TRIANGLE(mem) *)(p))

/* c_l = x_l - r_l . z over the first `columns` numbers, for `rows` rows r_l that are ld apart: `rows` is a constant */
TARGET TRIANGLE_INLINE void TRIANGLE(dots)(const int rows, ptrdiff_t columns, const double *restrict r, ptrdiff_t ld,
                                           const double *restrict z, const double *restrict x, double *restrict c) {
  VEC a[8];
#pragma GCC unroll 8
  for (int l = 0; l < rows; l++) a[l] = (VEC){0};
  for (ptrdiff_t j = 0; j < columns; j += W) {
    const VEC v = LOAD(z + j);
#pragma GCC unroll 8
    for (int l = 0; l < rows; l++) a[l] += LOAD(r + l * ld + j) * v;
  }
#pragma GCC unroll 8
  for (int l = 0; l < rows; l++) {
    double sum[W];
    memcpy(sum, &a[l], sizeof sum);
#pragma GCC unroll 4
    for (int h = W / 2; h > 0; h /= 2)
#pragma GCC unroll 4
      for (int k = 0; k < h; k++) sum[k] += sum[k + h];
    c[l] = x[l] - sum[0];
  }
}

TARGET static void TRIANGLE(solve)(ptrdiff_t n, const double *L, double *x) {
  for (ptrdiff_t i = 0; i < n; i += 8) {
    const ptrdiff_t p = i / TRIANGLE_PANEL, ld = TRIANGLE_PANEL * (p + 1), left = n - i < 8 ? n - i : 8;
    const double *restrict r = triangle_row(L, i);
    double c[8], over[8];
    for (int l = 0; l < left; l++) over[l] = 1 / r[l * ld + i + l]; /* not where the next number waits for it */
    if (left == 8) {
      TRIANGLE(dots)(8, i, r, ld, x, x + i, c);
    } else {
      ptrdiff_t l = 0;
      if (left & 4) TRIANGLE(dots)(4, i, r, ld, x, x + i, c), l = 4;
      if (left & 2) TRIANGLE(dots)(2, i, r + l * ld, ld, x, x + i + l, c + l), l += 2;
      if (left & 1) TRIANGLE(dots)(1, i, r + l * ld, ld, x, x + i + l, c + l);
    }
    if (left == 8) {
#pragma GCC unroll 8
      for (int l = 0; l < 8; l++) {
        x[i + l] = c[l] * over[l];
#pragma GCC unroll 8
        for (int k = l + 1; k < 8; k++) c[k] = c[k] - r[k * ld + i + l] * (c[l] * over[l]);
      }
    } else {
      for (int l = 0; l < left; l++) {
        x[i + l] = c[l] * over[l];
        for (int k = l + 1; k < left; k++) c[k] = c[k] - r[k * ld + i + l] * x[i + l];
      }
    }
  }
}
#undef VEC
#undef LOAD
#undef TRIANGLE
#undef TARGET
#undef W
