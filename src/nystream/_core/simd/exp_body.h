/* exp and the functions of a distance built on it, for one instruction set.  Included by exp_kernel.h with EXP(x)
   naming the functions and FUSED telling whether a fused multiply-add is one instruction; no include guard.

   Branch-free, so that the compiler's vectoriser turns each loop into vector code; every element sees the same
   operations in the same order wherever it stands, so equal inputs give equal bits. */
#if FUSED
#define FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

/* exp(x) = 2^n exp(r), n = round(x / log 2), |r| <= log(2)/2; exp(r) = 1 + r + r^2 P(r).  P interpolates
   (exp(r) - 1 - r)/r^2 at 10 Chebyshev nodes: relative error of the polynomial 1.7e-17, of the result at most 1 ulp.
   Adding EXP_ROUND rounds to a whole number and leaves it in the low bits, where a shift by 52 makes it an exponent. */
static inline double EXP(reduced)(double x, double n) {
  const double r = FMA(n, -1.90821492927058770002e-10, FMA(n, -6.93147180369123816490e-01, x));
  double p = 2.5100424157005067e-08;
  p = FMA(p, r, 2.7620138719733994e-07);
  p = FMA(p, r, 2.7557268378684192e-06);
  p = FMA(p, r, 2.480152119021773e-05);
  p = FMA(p, r, 0.00019841269863105968);
  p = FMA(p, r, 0.0013888888917281794);
  p = FMA(p, r, 0.008333333333330051);
  p = FMA(p, r, 0.04166666666662399);
  p = FMA(p, r, 0.16666666666666669);
  p = FMA(p, r, 0.5000000000000001);
  return FMA(p * r, r, r) + 1.0;
}

/* Any x.  2^n is applied as two factors: results below 2^-1022 are rounded once, not flushed.  NaN stays NaN. */
static inline double EXP(one)(double x) {
  x = x < -746.0 ? -746.0 : x; /* exp(-746) rounds to 0 */
  x = x > 710.0 ? 710.0 : x;   /* exp(710) overflows to infinity */
  const double n = FMA(x, 1.4426950408889634, EXP_ROUND) - EXP_ROUND;
  const double half = FMA(n, 0.5, EXP_ROUND) - EXP_ROUND;
  const double b1 = half + (EXP_ROUND + 1023.0), b2 = (n - half) + (EXP_ROUND + 1023.0);
  uint64_t i1, i2;
  memcpy(&i1, &b1, 8), memcpy(&i2, &b2, 8);
  i1 <<= 52, i2 <<= 52;
  double s1, s2;
  memcpy(&s1, &i1, 8), memcpy(&s2, &i2, 8);
  return EXP(reduced)(x, n) * s1 * s2;
}

/* The same bits for |x| <= EXP_NEAR, where the result is a normal number: n is added to its exponent. */
static inline double EXP(near)(double x) {
  const double rounded = FMA(x, 1.4426950408889634, EXP_ROUND);
  double p = EXP(reduced)(x, rounded - EXP_ROUND);
  uint64_t n, bits;
  memcpy(&n, &rounded, 8), memcpy(&bits, &p, 8);
  bits += n << 52;
  memcpy(&p, &bits, 8);
  return p;
}

/* Whether all |v| are at most `limit` > 0; no for NaN.  Positive numbers are ordered as their bits are. */
static inline int EXP(within)(const double *restrict v, ptrdiff_t n, double limit) {
  uint64_t most, over = 0;
  memcpy(&most, &limit, 8);
  for (ptrdiff_t i = 0; i < n; i++) {
    uint64_t bits;
    memcpy(&bits, v + i, 8);
    over |= most - (bits & INT64_MAX);
  }
  return !(over >> 63);
}

/* v <- exp(c v), in pieces that stay in the first cache */
static void EXP(exp)(double *restrict v, ptrdiff_t n, double c) {
  double limit = EXP_NEAR / fabs(c);
  limit = limit < DBL_MAX ? limit : DBL_MAX;
  for (ptrdiff_t start = 0; start < n; start += EXP_PIECE) {
    const int m = (int)(n - start < EXP_PIECE ? n - start : EXP_PIECE);
    double *restrict x = v + start;
    if (EXP(within)(x, m, limit))
      for (int i = 0; i < m; i++) x[i] = EXP(near)(c * x[i]);
    else
      for (int i = 0; i < m; i++) x[i] = EXP(one)(c * x[i]);
  }
}

/* Matern functions of a squared distance v, u = c sqrt(v): exp(-u) times 1, 1 + u, 1 + u + u^2/3.  Beyond EXP_FAR the
   exponential is 0; stopping there keeps infinity times 0 out. */
static inline double EXP(length)(double v, double c) {
  const double u = c * sqrt(v);
  return u > EXP_FAR ? EXP_FAR : u;
}

static void EXP(matern12)(double *restrict v, ptrdiff_t n, double c) {
  for (ptrdiff_t i = 0; i < n; i++) v[i] = EXP(one)(-EXP(length)(v[i], c));
}

static void EXP(matern32)(double *restrict v, ptrdiff_t n, double c) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double u = EXP(length)(v[i], c);
    v[i] = (1.0 + u) * EXP(one)(-u);
  }
}

static void EXP(matern52)(double *restrict v, ptrdiff_t n, double c) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double u = EXP(length)(v[i], c);
    v[i] = FMA(u, FMA(u, 1.0 / 3.0, 1.0), 1.0) * EXP(one)(-u);
  }
}

/* v <- (a v + b)^degree, degree >= 1, by repeated squaring; in pieces that stay in the first cache */
static void EXP(power)(double *restrict v, ptrdiff_t n, double a, double b, int degree) {
  for (ptrdiff_t start = 0; start < n; start += EXP_PIECE) {
    const int m = (int)(n - start < EXP_PIECE ? n - start : EXP_PIECE);
    double base[EXP_PIECE], *restrict result = v + start;
    int e = degree;
    for (int i = 0; i < m; i++) base[i] = FMA(a, result[i], b);
    for (; !(e & 1); e >>= 1)
      for (int i = 0; i < m; i++) base[i] *= base[i];
    for (int i = 0; i < m; i++) result[i] = base[i];
    for (e >>= 1; e; e >>= 1) {
      for (int i = 0; i < m; i++) base[i] *= base[i];
      if (e & 1)
        for (int i = 0; i < m; i++) result[i] *= base[i];
    }
  }
}
#undef FMA
