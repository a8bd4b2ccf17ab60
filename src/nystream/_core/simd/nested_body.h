/* The solves of nested_kernel.h with NV vectors of W rows at a time.  Included once per instruction set.

   Every update is written as one a - b * c, which the compiler contracts to a fused multiply-add wherever the set has
   one, in all functions alike. */
typedef double NESTED(vec) __attribute__((vector_size(8 * W)));
typedef double NESTED(mem) __attribute__((vector_size(8 * W), aligned(8), may_alias));
#define VEC NESTED(vec)
#define LOAD(p) (*(const NESTED(mem) *)(p))
#define STORE(p, v) (*(NESTED(mem) *)(p) = (v))
#define LANES (W * NV)

/* Panel p for one group: what earlier rows say, then its own corner. */
TARGET static inline void NESTED(forward_panel)(int p, const double *restrict r, double *restrict X, double *restrict q) {
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
      STORE(q + l * LANES + W * h, LOAD(q + l * LANES + W * h) + a[l][h] * a[l][h]);
      STORE(own + l * LANES + W * h, a[l][h]);
    }
}

TARGET static void NESTED(forward)(int groups, int panels, const double *R, double *X, double *Q) {
  memset(Q, 0, (size_t)8 * LANES * groups * sizeof(double));
  for (int p = 0; p < panels; p++)
    for (int g = 0; g < groups; g++)
      NESTED(forward_panel)(p, nested_panel(R, p), X + (size_t)8 * panels * LANES * g, Q + 8 * LANES * g);
}

TARGET static inline void NESTED(backward_panel)(int p, const double *restrict r, double *restrict X) {
  const double *corner = r + (size_t)64 * p;
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

TARGET static void NESTED(backward)(int groups, int panels, const double *R, double *X) {
  for (int p = panels - 1; p >= 0; p--)
    for (int g = 0; g < groups; g++)
      NESTED(backward_panel)(p, nested_panel(R, p), X + (size_t)8 * panels * LANES * g);
}

/* One row: x of `several` panels (a constant) from `first` on lose what the numbers of the first `known` panels say;
   each panel is read from end to end, and their sums do not wait for each other. */
TARGET NESTED_INLINE void NESTED(before)(const int several, int first, int known, const double *R, double *x) {
  const double *r[4];
  VEC v[4][8 / W];
#pragma GCC unroll 4
  for (int s = 0; s < several; s++) {
    r[s] = nested_panel(R, first + s);
#pragma GCC unroll 4
    for (int h = 0; h < 8 / W; h++) v[s][h] = LOAD(x + 8 * (first + s) + W * h);
  }
  for (int i = 0; i < 8 * known; i++) {
    const double z = x[i];
#pragma GCC unroll 4
    for (int s = 0; s < several; s++)
#pragma GCC unroll 4
      for (int h = 0; h < 8 / W; h++) v[s][h] = v[s][h] - LOAD(r[s] + 8 * i + W * h) * z;
  }
#pragma GCC unroll 4
  for (int s = 0; s < several; s++)
#pragma GCC unroll 4
    for (int h = 0; h < 8 / W; h++) STORE(x + 8 * (first + s) + W * h, v[s][h]);
}

/* Groups of panels; inside a group, eight solved numbers go into all later ones, which are independent of each other. */
TARGET static void NESTED(forward_one)(int panels, const double *R, double *x, double *q) {
  memset(q, 0, 8 * sizeof(double));
  for (int first = 0; first < panels; first += NESTED_GROUP) {
    const int last = first + NESTED_GROUP < panels ? first + NESTED_GROUP : panels;
    int p = first ? first : last;
    for (; p + 4 <= last; p += 4) NESTED(before)(4, p, first, R, x);
    if (p + 2 <= last) NESTED(before)(2, p, first, R, x), p += 2;
    if (p < last) NESTED(before)(1, p, first, R, x);
    for (int b = first; b < last; b++) {
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
      for (int p = b + 1; p < last; p++) {
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
  }
}

TARGET static void NESTED(backward_one)(int panels, const double *R, double *x) {
  for (int p = panels - 1; p >= 0; p--) {
    const double *r = nested_panel(R, p), *corner = r + (size_t)64 * p;
    double a[8];
    for (int l = 0; l < 8; l++) a[l] = x[8 * p + l];
#pragma GCC unroll 8
    for (int l = 7; l >= 0; l--) {
      a[l] = a[l] / corner[9 * l];
#pragma GCC unroll 8
      for (int k = 0; k < l; k++) a[k] = a[k] - corner[8 * k + l] * a[l];
      x[8 * p + l] = a[l];
    }
    for (int i = 0; i < 8 * p; i++, r += 8) {
      double v = x[i];
#pragma GCC unroll 8
      for (int l = 7; l >= 0; l--) v = v - r[l] * a[l];
      x[i] = v;
    }
  }
}
#undef VEC
#undef LOAD
#undef STORE
#undef LANES
#undef NESTED
#undef TARGET
#undef W
#undef NV
