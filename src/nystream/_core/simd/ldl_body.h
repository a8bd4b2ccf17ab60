/* The pass of ldl_kernel.h with vectors of W numbers, TILES tiles and COLS columns of them in registers at a time.

   Included once per instruction set; CORNER is the file with its diagonal tile.  Every update is written as one
   a +- b * c, which the compiler contracts to a fused multiply-add wherever the instruction set has one: all S, and
   all paths of one set, round alike. */
typedef double LDL(vec) __attribute__((vector_size(8 * W)));
typedef double LDL(mem) __attribute__((vector_size(8 * W), aligned(8), may_alias));
#define VEC LDL(vec)
#define LOAD(p) (*(const LDL(mem) *)(p))
#define STORE(p, v) (*(LDL(mem) *)(p) = (v))
#include CORNER

/* Tiles below the diagonal: x -= p L, L += beta x for eight columns, n tiles, all samples. */
TARGET LDL_INLINE void LDL(panel)(const int n, const int learn, int S, double *restrict L, double *restrict x,
                                  const double *restrict P, const double *restrict B) {
  for (int c = 0; c < 8; c += COLS) {
    VEC l[TILES][8 / W][COLS];
#pragma GCC unroll 4
    for (int k = 0; k < n; k++)
#pragma GCC unroll 4
      for (int h = 0; h < 8 / W; h++)
#pragma GCC unroll 8
        for (int i = 0; i < COLS; i++) l[k][h][i] = LOAD(L + 64 * k + 8 * (c + i) + W * h);
    for (int t = 0; t < S; t++) {
      VEC u[TILES][8 / W];
#pragma GCC unroll 4
      for (int k = 0; k < n; k++)
#pragma GCC unroll 4
        for (int h = 0; h < 8 / W; h++) u[k][h] = LOAD(x + 8 * ((size_t)k * S + t) + W * h);
#pragma GCC unroll 8
      for (int i = 0; i < COLS; i++) {
        const double p = P[8 * t + c + i], beta = learn ? B[8 * t + c + i] : 0;
#pragma GCC unroll 4
        for (int k = 0; k < n; k++)
#pragma GCC unroll 4
          for (int h = 0; h < 8 / W; h++) {
            u[k][h] = u[k][h] - p * l[k][h][i];
            if (learn) l[k][h][i] = l[k][h][i] + beta * u[k][h];
          }
      }
#pragma GCC unroll 4
      for (int k = 0; k < n; k++)
#pragma GCC unroll 4
        for (int h = 0; h < 8 / W; h++) STORE(x + 8 * ((size_t)k * S + t) + W * h, u[k][h]);
    }
    if (learn)
#pragma GCC unroll 4
      for (int k = 0; k < n; k++)
#pragma GCC unroll 4
        for (int h = 0; h < 8 / W; h++)
#pragma GCC unroll 8
          for (int i = 0; i < COLS; i++) STORE(L + 64 * k + 8 * (c + i) + W * h, l[k][h][i]);
  }
}

/* The same for one sample: of L nothing is held for the next one, and every column is stored as soon as it is made. */
TARGET LDL_INLINE void LDL(tiles)(const int n, const int learn, double *restrict L, double *restrict x,
                                  const VEC *P, const VEC *B) {
  VEC u[2][8 / W];
#pragma GCC unroll 2
  for (int k = 0; k < n; k++)
#pragma GCC unroll 4
    for (int h = 0; h < 8 / W; h++) u[k][h] = LOAD(x + 8 * k + W * h);
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++)
#pragma GCC unroll 2
    for (int k = 0; k < n; k++)
#pragma GCC unroll 4
      for (int h = 0; h < 8 / W; h++) {
        double *at = L + 64 * k + 8 * i + W * h;
        const VEC l = LOAD(at);
        u[k][h] = u[k][h] - P[i] * l;
        if (learn) STORE(at, l + B[i] * u[k][h]);
      }
#pragma GCC unroll 2
  for (int k = 0; k < n; k++)
#pragma GCC unroll 4
    for (int h = 0; h < 8 / W; h++) STORE(x + 8 * k + W * h, u[k][h]);
}

/* All n tiles below a diagonal one, for one sample. */
TARGET LDL_INLINE void LDL(alone)(const int learn, int n, double *L, double *x, const double *p, const double *beta) {
  VEC P[8], B[8];
  int j = 0;
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    P[i] = p[i] - (VEC){0};
    B[i] = learn ? beta[i] - (VEC){0} : P[i];
  }
  for (; j + 2 <= n; j += 2) LDL(tiles)(2, learn, L + 64 * j, x + 8 * j, P, B);
  if (j < n) LDL(tiles)(1, learn, L + 64 * j, x + 8 * j, P, B);
}

/* Outputs: m += p q, q += beta (y - m).  y enters by this difference only, so m has the same bits for every label. */
TARGET LDL_INLINE void LDL(outputs)(const int learn, int S, int outputs, double *restrict Q, const double *restrict Y,
                                    double *restrict M, const double *restrict P, const double *restrict B) {
  const size_t ld = 8 * (size_t)((outputs + 7) / 8);
  for (int o = 0; o < outputs; o += W) {
    VEC q[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) q[i] = LOAD(Q + i * ld + o);
    for (int t = 0; t < S; t++) {
      VEC m = LOAD(M + t * ld + o), y = LOAD(Y + t * ld + o);
#pragma GCC unroll 8
      for (int i = 0; i < 8; i++) {
        m = m + P[8 * t + i] * q[i];
        if (learn) q[i] = q[i] + B[8 * t + i] * (y - m);
      }
      STORE(M + t * ld + o, m);
    }
    if (learn)
#pragma GCC unroll 8
      for (int i = 0; i < 8; i++) STORE(Q + i * ld + o, q[i]);
  }
}

TARGET LDL_INLINE void LDL(pass)(const int learn, int S, int blocks, int outputs, double *L, double *dinv, double *Q,
                                 const double *Y, const double *s0, double *X, double *M, double *lev) {
  const size_t ld = 8 * (size_t)((outputs + 7) / 8);
  double P[8 * LDL_SAMPLES] __attribute__((aligned(64))), PD[8 * LDL_SAMPLES] __attribute__((aligned(64)));
  double B[8 * LDL_SAMPLES] __attribute__((aligned(64))), sum[8 * LDL_SAMPLES] __attribute__((aligned(64)));
  double s[LDL_SAMPLES];
  memset(M, 0, S * ld * sizeof(double));
  memset(sum, 0, 8 * S * sizeof(double));
  if (learn) memcpy(s, s0, S * sizeof(double));
  for (int k = 0; k < blocks; k++) {
    LDL(corner)(learn, S, L, dinv + 8 * k, X + (size_t)k * S * 8, s, P, PD, B);
    if (!learn) memcpy(X + (size_t)k * S * 8, P, 8 * S * sizeof(double));
    L += 64;
    LDL(outputs)(learn, S, outputs, Q + 8 * k * ld, Y, M, P, B);
    int j = k + 1;
    if (S == 1) {
      LDL(alone)(learn, blocks - j, L, X + (size_t)j * 8, P, B);
      L += 64 * (blocks - j);
      j = blocks;
    }
    for (; j + TILES <= blocks; j += TILES, L += 64 * TILES)
      LDL(panel)(TILES, learn, S, L, X + (size_t)j * S * 8, P, B);
#if TILES > 2
    if (j + 2 <= blocks) {
      LDL(panel)(2, learn, S, L, X + (size_t)j * S * 8, P, B);
      j += 2;
      L += 128;
    }
#endif
#if TILES > 1
    if (j < blocks) {
      LDL(panel)(1, learn, S, L, X + (size_t)j * S * 8, P, B);
      L += 64;
    }
#endif
    for (int i = 0; i < 8 * S; i += W) STORE(sum + i, LOAD(sum + i) + LOAD(P + i) * LOAD(PD + i));
  }
  for (int t = 0; t < S; t++) {
    const double *a = sum + 8 * t;
    lev[t] = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
  }
}

TARGET static void LDL(learn)(int S, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
                              const double *s0, double *X, double *M, double *lev) {
  if (S == 1)   /* compiled apart: nothing is looped over */
    LDL(pass)(1, 1, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
  else
    LDL(pass)(1, S, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
}

TARGET static void LDL(query)(int S, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
                              const double *s0, double *X, double *M, double *lev) {
  if (S == 1)
    LDL(pass)(0, 1, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
  else
    LDL(pass)(0, S, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
}
#undef VEC
#undef LOAD
#undef STORE
#undef LDL
#undef TARGET
#undef W
#undef COLS
#undef TILES
#undef CORNER
