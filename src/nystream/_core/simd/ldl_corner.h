/* The diagonal tile of ldl_body.h with scalars: the part of a pass that is a chain of divisions.

   Two 4 x 4 triangles that fit the registers, and between them the 4 x 4 square that joins them, as vectors.
   Leaves p, p/d and beta of every sample and column in P, PD, B. */
TARGET LDL_INLINE void LDL(triangle)(const int c, const int learn, int S, double *L, double *dinv, double *x, double *s,
                                     double *P, double *PD, double *B) {
  double l[4][4], d[4];
  L += 9 * c;   /* row c of column c */
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    d[i] = dinv[c + i];
#pragma GCC unroll 4
    for (int j = i + 1; j < 4; j++) l[i][j] = L[8 * i + j];
  }
  for (int t = 0; t < S; t++) {
    double v[4], st = learn ? s[t] : 0;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) v[i] = x[8 * t + c + i];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      double p = v[i], pd = p * d[i], beta = 0;
      P[8 * t + c + i] = p;
      PD[8 * t + c + i] = pd;
      if (learn) {
        double ds = d[i] * st;
        st = st + p * pd;
        double inv = 1 / st;
        beta = pd * inv;
        d[i] = ds * inv;
        B[8 * t + c + i] = beta;
      }
#pragma GCC unroll 4
      for (int j = i + 1; j < 4; j++) {
        v[j] = v[j] - p * l[i][j];
        if (learn) l[i][j] = l[i][j] + beta * v[j];
      }
    }
    if (learn) s[t] = st;
  }
  if (!learn) return;
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    dinv[c + i] = d[i];
#pragma GCC unroll 4
    for (int j = i + 1; j < 4; j++) L[8 * i + j] = l[i][j];
  }
}

/* Rows 4 to 7 of columns 0 to 3. */
TARGET LDL_INLINE void LDL(square)(const int learn, int S, double *L, double *x, const double *P, const double *B) {
  for (int h = 4; h < 8; h += W) {
    VEC l[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) l[i] = LOAD(L + 8 * i + h);
    for (int t = 0; t < S; t++) {
      VEC u = LOAD(x + 8 * t + h);
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) {
        u = u - P[8 * t + i] * l[i];
        if (learn) l[i] = l[i] + B[8 * t + i] * u;
      }
      STORE(x + 8 * t + h, u);
    }
    if (learn)
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) STORE(L + 8 * i + h, l[i]);
  }
}

TARGET LDL_INLINE void LDL(corner)(const int learn, int S, double *L, double *dinv, double *x, double *s, double *P,
                                   double *PD, double *B) {
  LDL(triangle)(0, learn, S, L, dinv, x, s, P, PD, B);
  LDL(square)(learn, S, L, x, P, B);
  LDL(triangle)(4, learn, S, L, dinv, x, s, P, PD, B);
}
