/* Sums over columns for all pairs of rows, for one instruction set.  Included by pairs_kernel.h with PAIRS(x) naming
   the functions, SINGLE telling float from double, V the numbers in a vector (1: plain C) and ROWS the rows of X that
   share a pass; FUSED_VECTOR(x, y, a) is a + x y of vectors, fused by name where there is an instruction for it, since
   compilers contract in one place and not in another.  NARROWER(x), where it is defined, names functions of 8 numbers
   in a vector, which few rows of few columns go to: 16 would be half empty.  No include guard.

   Lane l of an accumulator adds columns l, l + V, l + 2V, ...; the lanes are then added as a fixed tree.  That order
   depends on the number of columns alone, so the value of a pair does not depend on which rows stand beside it: one
   row against the points, a block, and the transposed block agree bit for bit. */
#if SINGLE
#define REAL float
#define WHOLE int32_t
#define MAGNITUDE INT32_MAX
#define ABSOLUTE(v) fabsf(v)
#define LOST PAIRS_LOST_SINGLE
#else
#define REAL double
#define WHOLE int64_t
#define MAGNITUDE INT64_MAX
#define ABSOLUTE(v) fabs(v)
#define LOST PAIRS_LOST
#endif
#if V > 1
typedef REAL PAIRS(vec) __attribute__((vector_size(sizeof(REAL) * V)));
typedef REAL PAIRS(loose) __attribute__((vector_size(sizeof(REAL) * V), aligned(sizeof(REAL)), may_alias));
typedef WHOLE PAIRS(bits) __attribute__((vector_size(sizeof(REAL) * V)));
typedef REAL PAIRS(v4) __attribute__((vector_size(sizeof(REAL) * 4)));
typedef REAL PAIRS(u4) __attribute__((vector_size(sizeof(REAL) * 4), aligned(sizeof(REAL)), may_alias));
typedef WHOLE PAIRS(i4) __attribute__((vector_size(sizeof(REAL) * 4)));
#define LOAD(p) (*(const PAIRS(loose) *)(p))
#define STORE(p, v) (*(PAIRS(loose) *)(p) = (v))
#define SPLAT(s) ((s) - (PAIRS(vec)){0}) /* s - 0 is s, also for s = -0: the subtraction is optimised away */
#define KEEP(v, mask) ((PAIRS(vec))((PAIRS(bits))(v) & (mask)))
#define ABS(v) KEEP(v, MAGNITUDE)
#else
typedef REAL PAIRS(vec);
typedef WHOLE PAIRS(bits);
#define LOAD(p) (*(p))
#define STORE(p, v) (*(p) = (v))
#define KEEP(v, mask) (v)
#define ABS(v) ABSOLUTE(v)
#endif

/* a + the terms of columns x, y; in `add_tail`, `mask` blanks lanes that were counted before */
PAIRS_INLINE PAIRS(vec) PAIRS(add)(const int op, PAIRS(vec) a, PAIRS(vec) x, PAIRS(vec) y) {
  if (op == PAIRS_DOT) return FUSED_VECTOR(x, y, a);
  const PAIRS(vec) t = x - y;
  if (op == PAIRS_SQUARED) return FUSED_VECTOR(t, t, a);
  return a + ABS(t);
}

PAIRS_INLINE PAIRS(vec) PAIRS(add_tail)(const int op, PAIRS(vec) a, PAIRS(vec) x, PAIRS(vec) y, PAIRS(bits) mask) {
  (void)mask;
  if (op == PAIRS_DOT) return FUSED_VECTOR(KEEP(x, mask), y, a);
  const PAIRS(vec) t = KEEP(x - y, mask);
  if (op == PAIRS_SQUARED) return FUSED_VECTOR(t, t, a);
  return a + ABS(t);
}

/* Sums of the lanes of four accumulators: ((0+4)+(1+5)) + ((2+6)+(3+7)), where each of 8 lanes is first added to the
   one 8 behind it if there are 16 */
PAIRS_INLINE void PAIRS(total4)(const PAIRS(vec) *a, REAL *out) {
#if V == 16
  typedef REAL half __attribute__((vector_size(sizeof(REAL) * 8)));
  half e[4];
  for (int j = 0; j < 4; j++)
    e[j] = __builtin_shufflevector(a[j], a[j], 0, 1, 2, 3, 4, 5, 6, 7)
           + __builtin_shufflevector(a[j], a[j], 8, 9, 10, 11, 12, 13, 14, 15);
#elif V == 8
  const PAIRS(vec) *e = a;
#endif
#if V >= 8
  PAIRS(v4) h[4];
  for (int j = 0; j < 4; j++)
    h[j] = __builtin_shufflevector(e[j], e[j], 0, 1, 2, 3) + __builtin_shufflevector(e[j], e[j], 4, 5, 6, 7);
#elif V == 4
  const PAIRS(v4) *h = a;
#endif
#if V >= 4
  const PAIRS(v4) u = __builtin_shufflevector(h[0], h[1], 0, 4, 2, 6)
                      + __builtin_shufflevector(h[0], h[1], 1, 5, 3, 7);
  const PAIRS(v4) w = __builtin_shufflevector(h[2], h[3], 0, 4, 2, 6)
                      + __builtin_shufflevector(h[2], h[3], 1, 5, 3, 7);
  *(PAIRS(u4) *)out = __builtin_shufflevector(u, w, 0, 1, 4, 5) + __builtin_shufflevector(u, w, 2, 3, 6, 7);
#elif V == 2
  for (int j = 0; j < 4; j++) out[j] = a[j][0] + a[j][1];
#else
  for (int j = 0; j < 4; j++) out[j] = a[j];
#endif
}

PAIRS_INLINE REAL PAIRS(total)(PAIRS(vec) a) {
#if V == 16
  REAL e[8];
  for (int l = 0; l < 8; l++) e[l] = a[l] + a[l + 8];
#elif V == 8
  const PAIRS(vec) e = a;
#endif
#if V >= 8
  return ((e[0] + e[4]) + (e[1] + e[5])) + ((e[2] + e[6]) + (e[3] + e[7]));
#elif V == 4
  return (a[0] + a[1]) + (a[2] + a[3]);
#elif V == 2
  return a[0] + a[1];
#else
  return a;
#endif
}

/* out[i, j] for ni rows of X and nj (4 or 1) rows of Y, d >= V columns.  The last d mod V columns are read as the
   vector that ends with them, the lanes before them blanked. */
PAIRS_INLINE void PAIRS(tile)(const int op, const int ni, const int nj, const REAL *X, const REAL *Y, ptrdiff_t d,
                              PAIRS(bits) mask, REAL *out, ptrdiff_t ldo) {
  PAIRS(vec) a[ROWS][4], x[ROWS], y;
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++) a[i][j] = (PAIRS(vec)){0};
  ptrdiff_t k = 0;
  for (; k + V <= d; k += V) {
#pragma GCC unroll 4
    for (int i = 0; i < ni; i++) x[i] = LOAD(X + i * d + k);
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++) {
      y = LOAD(Y + j * d + k);
#pragma GCC unroll 4
      for (int i = 0; i < ni; i++) a[i][j] = PAIRS(add)(op, a[i][j], x[i], y);
    }
  }
  if (k < d) {
#pragma GCC unroll 4
    for (int i = 0; i < ni; i++) x[i] = LOAD(X + i * d + d - V);
#pragma GCC unroll 4
    for (int j = 0; j < nj; j++) {
      y = LOAD(Y + j * d + d - V);
#pragma GCC unroll 4
      for (int i = 0; i < ni; i++) a[i][j] = PAIRS(add_tail)(op, a[i][j], x[i], y, mask);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < ni; i++) {
    if (nj == 4) PAIRS(total4)(a[i], out + i * ldo);
    else out[i * ldo] = PAIRS(total)(a[i][0]);
  }
}

/* <x, y> and |y|^2 of one x and m rows of Y, read once: added as `tile` adds them */
PAIRS_INLINE void PAIRS(probe)(const REAL *x, const REAL *Y, ptrdiff_t m, ptrdiff_t d, PAIRS(bits) mask,
                               REAL *dots, REAL *norms) {
  ptrdiff_t j = 0;
  for (; j + 4 <= m; j += 4) {
    PAIRS(vec) a[4], b[4], y;
    ptrdiff_t k = 0;
    for (int i = 0; i < 4; i++) a[i] = b[i] = (PAIRS(vec)){0};
    for (; k + V <= d; k += V) {
      const PAIRS(vec) u = LOAD(x + k);
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
        y = LOAD(Y + (j + i) * d + k);
        a[i] = PAIRS(add)(PAIRS_DOT, a[i], u, y);
        b[i] = PAIRS(add)(PAIRS_DOT, b[i], y, y);
      }
    }
    if (k < d) {
      const PAIRS(vec) u = LOAD(x + d - V);
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
        y = LOAD(Y + (j + i) * d + d - V);
        a[i] = PAIRS(add_tail)(PAIRS_DOT, a[i], u, y, mask);
        b[i] = PAIRS(add_tail)(PAIRS_DOT, b[i], y, y, mask);
      }
    }
    PAIRS(total4)(a, dots + j);
    PAIRS(total4)(b, norms + j);
  }
  for (; j < m; j++) {
    PAIRS(tile)(PAIRS_DOT, 1, 1, x, Y + j * d, d, mask, dots + j, 1);
    PAIRS(tile)(PAIRS_DOT, 1, 1, Y + j * d, Y + j * d, d, mask, norms + j, 1);
  }
}

/* Squared distances of a tile from its inner products (rows 4 apart): |x|^2 + |y|^2 - 2 <x, y> halves the work of many
   columns, but loses digits where x and y are close to each other and far from the origin.  Pairs that lost more than
   LOST are summed from the differences.  (NaN, from an overflow of the norms, counts as lost.) */
PAIRS_INLINE void PAIRS(squared)(const int ni, const int nj, const REAL *X, const REAL *Y, ptrdiff_t d,
                                 PAIRS(bits) mask, const REAL *nx, const REAL *ny, const REAL *dots, REAL *out,
                                 ptrdiff_t ldo) {
  REAL exact[ROWS * 4];
  int lost = 0;
#if V > 1
  if (nj == 4) {
    PAIRS(i4) any = {0};
    for (int i = 0; i < ni; i++) {
      const PAIRS(v4) n = nx[i] + *(const PAIRS(u4) *)ny, v = n - 2 * *(const PAIRS(u4) *)(dots + 4 * i);
      any |= ~(v >= LOST * n);
      *(PAIRS(u4) *)(out + i * ldo) = v;
    }
    lost = (any[0] | any[1] | any[2] | any[3]) != 0;
  } else
#endif
    for (int i = 0; i < ni; i++)
      for (int j = 0; j < nj; j++) {
        const REAL n = nx[i] + ny[j], v = n - 2 * dots[4 * i + j];
        lost |= !(v >= LOST * n);
        out[i * ldo + j] = v;
      }
  if (!lost) return;
  PAIRS(tile)(PAIRS_SQUARED, ni, nj, X, Y, d, mask, exact, 4);
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++)
      if (!(out[i * ldo + j] >= LOST * (nx[i] + ny[j]))) out[i * ldo + j] = exact[4 * i + j];
}

/* ni rows of X against m points, four points at a time */
PAIRS_INLINE void PAIRS(strip)(const int op, const int ni, const REAL *X, const REAL *Y, ptrdiff_t m, ptrdiff_t d,
                               PAIRS(bits) mask, REAL *out, ptrdiff_t ldo) {
  ptrdiff_t j = 0;
  for (; j + 4 <= m; j += 4) PAIRS(tile)(op, ni, 4, X, Y + j * d, d, mask, out + j, ldo);
  for (; j < m; j++) PAIRS(tile)(op, ni, 1, X, Y + j * d, d, mask, out + j, ldo);
}

/* The same for squared distances of many columns; ny = |y|^2, and with known = 1, dots = <X, y> of the one row of X */
PAIRS_INLINE void PAIRS(expanded_strip)(const int known, const int ni, const REAL *X, const REAL *Y, ptrdiff_t m,
                                        ptrdiff_t d, PAIRS(bits) mask, const REAL *ny, const REAL *dots,
                                        REAL *out, ptrdiff_t ldo) {
  REAL nx[ROWS], tile[ROWS * 4];
  ptrdiff_t j = 0;
  PAIRS(probe)(X, X, ni, d, mask, tile, nx);
  for (; j + 4 <= m; j += 4) {
    if (!known) PAIRS(tile)(PAIRS_DOT, ni, 4, X, Y + j * d, d, mask, tile, 4);
    PAIRS(squared)(ni, 4, X, Y + j * d, d, mask, nx, ny + j, known ? dots + j : tile, out + j, ldo);
  }
  for (; j < m; j++) {
    if (!known) PAIRS(tile)(PAIRS_DOT, ni, 1, X, Y + j * d, d, mask, tile, 4);
    PAIRS(squared)(ni, 1, X, Y + j * d, d, mask, nx, ny + j, known ? dots + j : tile, out + j, ldo);
  }
}

/* Sums of doubles are made where the values belong; those of floats in `held`, from where the values are widened.
   SUMS_OF(rows, columns) declares what SUMS_AT(o) needs to name the place of the sums whose values go to o. */
#if SINGLE
#define SUMS_OF(rows, columns) \
  float held[(rows) * (columns)]; \
  const ptrdiff_t lds = columns;
#define SUMS_AT(o) held
#else
#define SUMS_OF(rows, columns) const ptrdiff_t lds = ldo;
#define SUMS_AT(o) (o)
#endif

/* The sums of ni rows become values: `finish` (or NULL) in place, then to out */
PAIRS_INLINE void PAIRS(settle)(REAL *sums, ptrdiff_t lds, const int ni, ptrdiff_t m, double *out, ptrdiff_t ldo,
                                pairs_finish finish, const void *how) {
  for (int i = 0; i < ni; i++) {
    if (finish) finish(sums + i * lds, m, how);
#if SINGLE
    for (ptrdiff_t j = 0; j < m; j++) out[i * ldo + j] = sums[i * lds + j];
#endif
  }
  (void)out, (void)ldo;
}

#if V > 1
#include "pairs_turned_body.h"
#endif

/* One panel of m <= PAIRS_PANEL points against all n rows of X; sums become values while they are in the first cache */
PAIRS_INLINE void PAIRS(panel)(const int op, const int expand, const REAL *X, ptrdiff_t n, const REAL *Y, ptrdiff_t m,
                               ptrdiff_t d, double *out, ptrdiff_t ldo, pairs_finish finish, const void *how) {
  REAL dots[PAIRS_PANEL], ny[PAIRS_PANEL];
  PAIRS(bits) mask;
#if V > 1
#ifdef NARROWER
  if (d >= 8 && d <= PAIRS_FEW) {
    if (n >= PAIRS_WORTH) PAIRS(side_by_side)(op, 8, X, n, Y, m, d, out, ldo, finish, how);
    else NARROWER(panel)(op, expand, X, n, Y, m, d, out, ldo, finish, how);
    return;
  }
#endif
  if (d < V || (V > 2 && d <= PAIRS_FEW && n >= PAIRS_WORTH)) {
    PAIRS(side_by_side)(op, V, X, n, Y, m, d, out, ldo, finish, how);
    return;
  }
  for (int l = 0; l < V; l++) mask[l] = l >= V - d % V ? -1 : 0;
#else
  mask = -1;
#endif
  if (expand) PAIRS(probe)(X, Y, m, d, mask, dots, ny);
  SUMS_OF(ROWS, PAIRS_PANEL)
  ptrdiff_t i = 0;
  for (; i + ROWS <= n; i += ROWS) {
    double *o = out + i * ldo;
    REAL *const s = SUMS_AT(o);
    if (expand) PAIRS(expanded_strip)(0, ROWS, X + i * d, Y, m, d, mask, ny, dots, s, lds);
    else PAIRS(strip)(op, ROWS, X + i * d, Y, m, d, mask, s, lds);
    PAIRS(settle)(s, lds, ROWS, m, o, ldo, finish, how);
  }
  for (; i < n; i++) {
    double *o = out + i * ldo;
    REAL *const s = SUMS_AT(o);
    if (expand && i == 0) PAIRS(expanded_strip)(1, 1, X, Y, m, d, mask, ny, dots, s, lds);
    else if (expand) PAIRS(expanded_strip)(0, 1, X + i * d, Y, m, d, mask, ny, dots, s, lds);
    else PAIRS(strip)(op, 1, X + i * d, Y, m, d, mask, s, lds);
    PAIRS(settle)(s, lds, 1, m, o, ldo, finish, how);
  }
}

#define PAIRS_ENTRY(name, op, expand)                                                                              \
  static void PAIRS(name)(const void *X, ptrdiff_t n, const void *Y, ptrdiff_t m, ptrdiff_t d, double *out,        \
                          ptrdiff_t ldo, pairs_finish finish, const void *how) {                                   \
    PAIRS(panel)(op, expand, X, n, Y, m, d, out, ldo, finish, how);                                                \
  }
PAIRS_ENTRY(dots, PAIRS_DOT, 0)
PAIRS_ENTRY(absolutes, PAIRS_ABSOLUTE, 0)
PAIRS_ENTRY(squares, PAIRS_SQUARED, 0)
PAIRS_ENTRY(expanded, PAIRS_SQUARED, !(SINGLE && V == 1)) /* one sum of many floats has no digits to lose */
#undef PAIRS_ENTRY
#undef SUMS_OF
#undef SUMS_AT
#undef REAL
#undef WHOLE
#undef MAGNITUDE
#undef ABSOLUTE
#undef LOST
#undef FUSED_VECTOR
#undef LOAD
#undef STORE
#undef SPLAT
#undef KEEP
#undef ABS
