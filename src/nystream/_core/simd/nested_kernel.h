/* Triangular solves with a lower triangular R that grows by rows: R^-1 k and R^-T z, for one row or many.

   Rows of R lie in panels of 8, one after the other in memory; panel p holds rows 8p .. 8p+7, column by column:
       R[8p + l][i]  at  32 p (p + 1) + 8 i + l,     i = 0 .. 8p+7
   so that a new row touches its own panel alone, and growing is appending.  Rows beyond the last one are rows of the
   identity: what they solve for stays 0.

   forward   z_j = (k_j - R_j0 z_0 - R_j1 z_1 - ...) / R_jj      and the sum of z_j^2, by j mod 8, then in a tree
   backward  a_i = (z_i - ... - R_{i+1,i} a_{i+1}) / R_ii          from the last row up

   Each number goes through the same operations in the same order, one a - b * c after the other, however many rows are
   solved together: results agree to the last bit.  That matters where atoms are nearly dependent: divisions by small
   R_jj then amplify rounding, and which path a row took would show.

   Many rows come as groups of `lanes`, X[group][row of R][lane]; a panel is read once for all of them.
   Baseline, AVX2 and AVX-512 versions of nested_body.h are compiled side by side and picked by isa.h; compilers without
   GCC's vector extension (or -DNYSTREAM_PLAIN_C) have groups of one, in plain C. */
#ifndef NYSTREAM_NESTED_KERNEL_H
#define NYSTREAM_NESTED_KERNEL_H
#include <stddef.h>
#include <string.h>
#include "isa.h"

enum { NESTED_GROUP = 32 }; /* panels that stay in the cache while one row is solved among them */

typedef struct {
  int lanes;
  void (*forward)(int groups, int panels, const double *R, double *X, double *Q);   /* Q[group][8][lane]: sums of z_j^2 */
  void (*backward)(int groups, int panels, const double *R, double *X);
  void (*forward_one)(int panels, const double *R, double *x, double *q);
  void (*backward_one)(int panels, const double *R, double *x);
} nested_ops;

static inline const double *nested_panel(const double *R, int p) { return R + (size_t)32 * p * (p + 1); }

static inline double nested_tree(const double *q, int lanes) {
  const double low = (q[0] + q[lanes]) + (q[2 * lanes] + q[3 * lanes]);
  return low + ((q[4 * lanes] + q[5 * lanes]) + (q[6 * lanes] + q[7 * lanes]));
}

#if ISA_VECTORS
#define NESTED_INLINE static inline __attribute__((always_inline))
#define NESTED(x) nested_##x##_base
#define TARGET
#define W 2
#define NV 1
#include "nested_body.h"

#if ISA_X86
#define NESTED(x) nested_##x##_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define W 4
#define NV 1
#include "nested_body.h"

#define NESTED(x) nested_##x##_avx512
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl")))
#define W 8
#define NV 2
#include "nested_body.h"
#endif
#define NESTED_OPS(isa, lanes) \
  {lanes, nested_forward_##isa, nested_backward_##isa, nested_forward_one_##isa, nested_backward_one_##isa}
#else
static void nested_forward_one_plain(int panels, const double *R, double *x, double *q) {
  memset(q, 0, 8 * sizeof(double));
  for (int p = 0; p < panels; p++)
    for (int l = 0; l < 8; l++) {
      const double *r = nested_panel(R, p) + l;
      double v = x[8 * p + l];
      for (int i = 0; i < 8 * p + l; i++) v = v - r[8 * i] * x[i];
      v = v / r[8 * (8 * p + l)];
      q[l] = q[l] + v * v;
      x[8 * p + l] = v;
    }
}

static void nested_forward_plain(int groups, int panels, const double *R, double *X, double *Q) {
  for (int g = 0; g < groups; g++) nested_forward_one_plain(panels, R, X + (size_t)8 * panels * g, Q + 8 * g);
}

static void nested_backward_one_plain(int panels, const double *R, double *x) {
  for (int p = panels - 1; p >= 0; p--)
    for (int l = 7; l >= 0; l--) {
      const double *r = nested_panel(R, p) + l;
      const double a = x[8 * p + l] / r[8 * (8 * p + l)];
      x[8 * p + l] = a;
      for (int i = 0; i < 8 * p + l; i++) x[i] = x[i] - r[8 * i] * a;
    }
}

static void nested_backward_plain(int groups, int panels, const double *R, double *X) {
  for (int g = 0; g < groups; g++) nested_backward_one_plain(panels, R, X + (size_t)8 * panels * g);
}
#define NESTED_OPS(isa, lanes) \
  {1, nested_forward_plain, nested_backward_plain, nested_forward_one_plain, nested_backward_one_plain}
#endif

static inline nested_ops nested_pick(void) {
  const nested_ops base = NESTED_OPS(base, 2);
#if ISA_X86
  const nested_ops avx2 = NESTED_OPS(avx2, 4), avx512 = NESTED_OPS(avx512, 16);
  int level = isa_level();
  if (level == ISA_AVX512) return avx512;
  if (level == ISA_AVX2) return avx2;
#endif
  return base;
}

/* n rows K (ld apart, m numbers each) into groups, zeros beyond m and n; and the first `columns` of each back. */
static inline void nested_gather(int lanes, int n, int panels, int m, const double *K, size_t ld, double *X) {
  const int groups = (n + lanes - 1) / lanes;
  memset(X, 0, (size_t)8 * panels * lanes * groups * sizeof(double));
  for (int t = 0; t < n; t++) {
    double *x = X + (size_t)8 * panels * lanes * (t / lanes) + t % lanes;
    for (int j = 0; j < m; j++) x[(size_t)j * lanes] = K[t * ld + j];
  }
}

static inline void nested_scatter(int lanes, int n, int panels, int columns, const double *X, double *Z, size_t ld) {
  for (int t = 0; t < n; t++) {
    const double *x = X + (size_t)8 * panels * lanes * (t / lanes) + t % lanes;
    for (int j = 0; j < columns; j++) Z[t * ld + j] = x[(size_t)j * lanes];
  }
}
#endif
