/* The diagonal tile of ldl_body.h with scalars: the part of a pass that is a chain of divisions.

   Two 4 x 4 triangles that fit the registers, and between them the 4 x 4 square that joins them, as vectors.
   Leaves p, p/d and beta of every sample and column in P, PD, B. */
TARGET LDL_INLINE void LDL(triangle)(const int c, int S, double *L, double *dinv, double *x, double *s, double *P, double *PD,
                                     double *B) {
  double l[4][4], d[4];
  L += 9 * c;   /* row c of column c */
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    d[i] = dinv[c + i];
#pragma GCC unroll 4
    for (int j = i + 1; j < 4; j++) l[i][j] = L[8 * i + j];
  }
  for (int t = 0; t < S; t++) {
    double v[4], st = s[t];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) v[i] = x[8 * t + c + i];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      double p = v[i], pd = p * d[i], ds = d[i] * st;
      st = st + p * pd;
      double inv = 1 / st, beta = pd * inv;
      d[i] = ds * inv;
      P[8 * t + c + i] = p;
      PD[8 * t + c + i] = pd;
      B[8 * t + c + i] = beta;
#pragma GCC unroll 4
      for (int j = i + 1; j < 4; j++) {
        v[j] = v[j] - p * l[i][j];
        l[i][j] = l[i][j] + beta * v[j];
      }
    }
    s[t] = st;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    dinv[c + i] = d[i];
#pragma GCC unroll 4
    for (int j = i + 1; j < 4; j++) L[8 * i + j] = l[i][j];
  }
}

TARGET LDL_INLINE void LDL(corner)(const int learn, int S, double *L, double *dinv, double *x, double *s, double *P, double *PD,
                                   double *B) {
  if (learn) {
    LDL(triangle)(0, S, L, dinv, x, s, P, PD, B);
    for (int i = 0; i < 4; i++)   /* rows 4 to 7 of columns 0 to 3; column by column is the same order for every number */
      for (int t = 0; t < S; t++) {
        const double p = P[8 * t + i], beta = B[8 * t + i];
#pragma GCC unroll 4
        for (int j = 4; j < 8; j++) {
          x[8 * t + j] = x[8 * t + j] - p * L[8 * i + j];
          L[8 * i + j] = L[8 * i + j] + beta * x[8 * t + j];
        }
      }
    LDL(triangle)(4, S, L, dinv, x, s, P, PD, B);
    return;
  }
  for (int t = 0; t < S; t++)
    for (int i = 0; i < 8; i++) {
      const double p = x[8 * t + i];
      P[8 * t + i] = p;
      PD[8 * t + i] = p * dinv[i];
      for (int j = i + 1; j < 8; j++) x[8 * t + j] = x[8 * t + j] - p * L[8 * i + j];
    }
}
