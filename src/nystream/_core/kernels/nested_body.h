/* The solves of nested_kernel.h with NV vectors of W rows at a time.  Included once per instruction set.

   Every update is written as one a - b * c, which the compiler contracts to a fused multiply-add wherever the set has
   one, in all three functions alike. */
typedef double NESTED(vec) __attribute__((vector_size(8 * W)));
typedef double NESTED(mem) __attribute__((vector_size(8 * W), aligned(8), may_alias));
#define VEC NESTED(vec)
#define LOAD(p) (*(const NESTED(mem) *)(p))
#define STORE(p, v) (*(NESTED(mem) *)(p) = (v))
#define LANES (W * NV)

TARGET static void NESTED(forward)(int panels, const double *R, double *X, double *squares) {
  VEC q[8][NV] = {{{0}}};
  for (int p = 0; p < panels; p++) {
    const double *r = nested_panel(R, p);
    double *own = X + (size_t)8 * p * LANES;
    VEC a[8][NV];
#pragma GCC unroll 8
    for (int l = 0; l < 8; l++)
#pragma GCC unroll 2
      for (int h = 0; h < NV; h++) a[l][h] = LOAD(own + l * LANES + W * h);
    for (int i = 0; i < 8 * p; i++, r += 8) {
      VEC z[NV];
#pragma GCC unroll 2
      for (int h = 0; h < NV; h++) z[h] = LOAD(X + (size_t)i * LANES + W * h);
#pragma GCC unroll 8
      for (int l = 0; l < 8; l++)
#pragma GCC unroll 2
        for (int h = 0; h < NV; h++) a[l][h] = a[l][h] - r[l] * z[h];
    }
#pragma GCC unroll 8
    for (int l = 0; l < 8; l++)
#pragma GCC unroll 2
      for (int h = 0; h < NV; h++) {
        a[l][h] = a[l][h] / r[9 * l];
#pragma GCC unroll 8
        for (int k = l + 1; k < 8; k++) a[k][h] = a[k][h] - r[8 * l + k] * a[l][h];
        q[l][h] = q[l][h] + a[l][h] * a[l][h];
        STORE(own + l * LANES + W * h, a[l][h]);
      }
  }
  for (int h = 0; h < NV; h++)
    for (int t = 0; t < W; t++) {
      const double s[8] = {q[0][h][t], q[1][h][t], q[2][h][t], q[3][h][t], q[4][h][t], q[5][h][t], q[6][h][t], q[7][h][t]};
      squares[W * h + t] = nested_tree(s);
    }
}

TARGET static void NESTED(backward)(int panels, const double *R, double *X) {
  for (int p = panels - 1; p >= 0; p--) {
    const double *r = nested_panel(R, p), *corner = r + (size_t)64 * p;
    double *own = X + (size_t)8 * p * LANES;
    VEC a[8][NV];
#pragma GCC unroll 8
    for (int l = 0; l < 8; l++)
#pragma GCC unroll 2
      for (int h = 0; h < NV; h++) a[l][h] = LOAD(own + l * LANES + W * h);
#pragma GCC unroll 8
    for (int l = 7; l >= 0; l--)
#pragma GCC unroll 2
      for (int h = 0; h < NV; h++) {
        a[l][h] = a[l][h] / corner[9 * l];
#pragma GCC unroll 8
        for (int k = 0; k < l; k++) a[k][h] = a[k][h] - corner[8 * k + l] * a[l][h];
        STORE(own + l * LANES + W * h, a[l][h]);
      }
    for (int i = 0; i < 8 * p; i++, r += 8)
#pragma GCC unroll 2
      for (int h = 0; h < NV; h++) {
        VEC x = LOAD(X + (size_t)i * LANES + W * h);
#pragma GCC unroll 8
        for (int l = 7; l >= 0; l--) x = x - r[l] * a[l][h];
        STORE(X + (size_t)i * LANES + W * h, x);
      }
  }
}

/* One row: eight solved numbers at a time go into all later panels, which are independent of each other. */
TARGET static void NESTED(forward_one)(int panels, const double *R, double *x, double *square) {
  double q[8] = {0};
  for (int b = 0; b < panels; b++) {
    const double *corner = nested_panel(R, b) + (size_t)64 * b;
    double z[8];
    for (int l = 0; l < 8; l++) z[l] = x[8 * b + l];
#pragma GCC unroll 8
    for (int l = 0; l < 8; l++) {
      z[l] = z[l] / corner[9 * l];
#pragma GCC unroll 8
      for (int k = l + 1; k < 8; k++) z[k] = z[k] - corner[8 * l + k] * z[l];
      q[l] = q[l] + z[l] * z[l];
      x[8 * b + l] = z[l];
    }
    for (int p = b + 1; p < panels; p++) {
      const double *r = nested_panel(R, p) + (size_t)64 * b;
      VEC v[8 / W];
#pragma GCC unroll 4
      for (int h = 0; h < 8 / W; h++) v[h] = LOAD(x + 8 * p + W * h);
#pragma GCC unroll 8
      for (int l = 0; l < 8; l++)
#pragma GCC unroll 4
        for (int h = 0; h < 8 / W; h++) v[h] = v[h] - LOAD(r + 8 * l + W * h) * z[l];
#pragma GCC unroll 4
      for (int h = 0; h < 8 / W; h++) STORE(x + 8 * p + W * h, v[h]);
    }
  }
  *square = nested_tree(q);
}
#undef VEC
#undef LOAD
#undef STORE
#undef LANES
#undef NESTED
#undef TARGET
#undef W
#undef NV
