/* The pass of ldl_kernel.h in plain C, one sample at a time: for other compilers, and (sign = -1) to take rows out. */
#ifndef NYSTREAM_LDL_PLAIN_H
#define NYSTREAM_LDL_PLAIN_H
#include <stddef.h>

/* One sample; x[8 * stride * block + row].  sign = +1 learns, 0 asks, -1 takes the sample out: A -= w z z', b -= w y z.
   Returns 0, or -1 when taking it out would leave a matrix that is not positive definite (then the state is spoilt). */
static int ldl_plain_sample(int sign, int blocks, int outputs, double *L, double *dinv, double *Q, const double *y,
                            double s, double *x, size_t stride, double *m, double *lev) {
  const size_t ldq = 8 * (size_t)((outputs + 7) / 8);
  double q = 0;
  for (int o = 0; o < outputs; o++) m[o] = 0;
  for (int k = 0; k < blocks; k++) {
    double p[8], beta[8], *v = x + 8 * stride * (size_t)k;
    for (int i = 0; i < 8; i++) {
      const int c = 8 * k + i;
      double pd = v[i] * dinv[c], s1;
      p[i] = v[i];
      q += p[i] * pd;
      beta[i] = 0;
      if (sign) {
        s1 = s + sign * (p[i] * pd);
        if (!(s1 > 0)) return -1;
        beta[i] = sign * (pd / s1);
        dinv[c] *= s / s1;
        s = s1;
      }
      for (int j = i + 1; j < 8; j++) {
        v[j] -= p[i] * L[8 * i + j];
        if (sign) L[8 * i + j] += beta[i] * v[j];
      }
      for (int o = 0; o < outputs; o++) {
        m[o] += p[i] * Q[c * ldq + o];
        if (sign) Q[c * ldq + o] += beta[i] * (y[o] - m[o]);
      }
    }
    L += 64;
    for (int j = k + 1; j < blocks; j++, L += 64) {
      double *u = x + 8 * stride * (size_t)j;
      for (int i = 0; i < 8; i++)
        for (int h = 0; h < 8; h++) {
          u[h] -= p[i] * L[8 * i + h];
          if (sign) L[8 * i + h] += beta[i] * u[h];
        }
    }
  }
  *lev = q;
  return 0;
}

static inline void ldl_plain(int sign, int S, int blocks, int outputs, double *L, double *dinv, double *Q,
                             const double *Y, const double *s0, double *X, double *M, double *lev) {
  const size_t ldq = 8 * (size_t)((outputs + 7) / 8);
  for (int t = 0; t < S; t++)
    ldl_plain_sample(sign, blocks, outputs, L, dinv, Q, Y + t * ldq, s0[t], X + 8 * (size_t)t, (size_t)S, M + t * ldq,
                     lev + t);
}

static inline void ldl_learn_plain(int S, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
                                   const double *s0, double *X, double *M, double *lev) {
  ldl_plain(1, S, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
}

static inline void ldl_query_plain(int S, int blocks, int outputs, double *L, double *dinv, double *Q, const double *Y,
                                   const double *s0, double *X, double *M, double *lev) {
  ldl_plain(0, S, blocks, outputs, L, dinv, Q, Y, s0, X, M, lev);
}
#endif
