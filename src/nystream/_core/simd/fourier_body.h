/* The vector work of random Fourier features, for one instruction set.  Included by fourier_kernel.h with FOURIER(x)
   naming the functions, SINGLE telling float from double, V how many of them are in a vector (1: plain C), FUSED whether
   a fused multiply-add is one instruction, and FUSED_VECTOR(x, w, s) that instruction, of a number x and vectors w, s;
   no include guard.

   Every element sees the same operations in the same order wherever it stands: equal rows give equal bits.  Sums of
   products are fused by name, in rows alone and in blocks, or there is no instruction that could: nothing is left to
   the compiler, which contracts a * b + c in one place and not in another. */
#if SINGLE
#define REAL float
#else
#define REAL double
#endif
#if V > 1
typedef REAL FOURIER(loose) __attribute__((vector_size(sizeof(REAL) * V), aligned(sizeof(REAL)), may_alias));
typedef REAL FOURIER(vec) __attribute__((vector_size(sizeof(REAL) * V)));
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
typedef REAL FOURIER(loose);
typedef REAL FOURIER(vec);
#define ALWAYS_INLINE static inline
#endif
#define STRIP (sizeof(REAL) * V == 64 ? 16 : 8) /* vectors of angles of one row, a register each */
#define LOAD(p) (*(const FOURIER(loose) *)(p))
#define STORE(p, v) (*(FOURIER(loose) *)(p) = (v))
#if FUSED && SINGLE
#define FMA(a, b, c) fmaf(a, b, c)
#elif FUSED
#define FMA(a, b, c) fma(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#define FUSED_VECTOR(x, w, s) ((x) * (w) + (s))
#endif

/* U[t, j] = sum_i X[t, i] W[i, j] for FOURIER_ROWS rows and the columns of `vectors` vectors, in the order of i */
ALWAYS_INLINE void FOURIER(tile)(const int vectors, ptrdiff_t d, ptrdiff_t ldw, ptrdiff_t ldu, const REAL *X,
                                 const REAL *W, REAL *U) {
  FOURIER(vec) sum[FOURIER_ROWS][3];
  for (int t = 0; t < FOURIER_ROWS; t++)
    for (int v = 0; v < vectors; v++) sum[t][v] = (FOURIER(vec)){0};
  for (ptrdiff_t i = 0; i < d; i++, W += ldw)
    for (int v = 0; v < vectors; v++) {
      const FOURIER(vec) w = LOAD(W + v * V);
      for (int t = 0; t < FOURIER_ROWS; t++) sum[t][v] = FUSED_VECTOR(X[t * d + i], w, sum[t][v]);
    }
  for (int t = 0; t < FOURIER_ROWS; t++)
    for (int v = 0; v < vectors; v++) STORE(U + t * ldu + v * V, sum[t][v]);
}

/* u[j] = sum_i x[i] W[i, j] for one row and the columns of `vectors` vectors, in the same order */
ALWAYS_INLINE void FOURIER(strip)(const int vectors, ptrdiff_t d, ptrdiff_t ldw, const REAL *x, const REAL *W, REAL *u) {
  FOURIER(vec) sum[16];
  for (int v = 0; v < vectors; v++) sum[v] = (FOURIER(vec)){0};
  for (ptrdiff_t i = 0; i < d; i++, W += ldw)
    for (int v = 0; v < vectors; v++) sum[v] = FUSED_VECTOR(x[i], LOAD(W + v * V), sum[v]);
  for (int v = 0; v < vectors; v++) STORE(u + v * V, sum[v]);
}

/* u = x W for one row; the last vector may reach over m */
static void FOURIER(single)(ptrdiff_t d, ptrdiff_t m, ptrdiff_t ldw, const REAL *x, const REAL *W, REAL *u) {
  ptrdiff_t j = 0;
  for (; j + (ptrdiff_t)STRIP * V <= m; j += STRIP * V) FOURIER(strip)(STRIP, d, ldw, x, W + j, u + j);
  for (; j + 8 * V <= m; j += 8 * V) FOURIER(strip)(8, d, ldw, x, W + j, u + j);
  switch ((m - j + V - 1) / V) { /* all that are left together: each is a chain of d sums */
    case 8: FOURIER(strip)(8, d, ldw, x, W + j, u + j); break;
    case 7: FOURIER(strip)(7, d, ldw, x, W + j, u + j); break;
    case 6: FOURIER(strip)(6, d, ldw, x, W + j, u + j); break;
    case 5: FOURIER(strip)(5, d, ldw, x, W + j, u + j); break;
    case 4: FOURIER(strip)(4, d, ldw, x, W + j, u + j); break;
    case 3: FOURIER(strip)(3, d, ldw, x, W + j, u + j); break;
    case 2: FOURIER(strip)(2, d, ldw, x, W + j, u + j); break;
    case 1: FOURIER(strip)(1, d, ldw, x, W + j, u + j);
  }
}

/* U = X W for X (n, d) and m columns of W; rows of W are ldw, rows of U m + FOURIER_SLACK apart, and the last
   vector of a row may reach over m. */
static void FOURIER(project)(ptrdiff_t n, ptrdiff_t d, ptrdiff_t m, ptrdiff_t ldw, const void *rows,
                             const void *directions, void *angles) {
  const REAL *X = rows, *W = directions;
  REAL *U = angles;
  const ptrdiff_t ldu = m + FOURIER_SLACK(sizeof(REAL)), together = n - n % FOURIER_ROWS;
  ptrdiff_t j = 0;
  for (; j + 3 * V <= m; j += 3 * V)
    for (ptrdiff_t t = 0; t < together; t += FOURIER_ROWS)
      FOURIER(tile)(3, d, ldw, ldu, X + t * d, W + j, U + t * ldu + j);
  for (; j < m; j += V)
    for (ptrdiff_t t = 0; t < together; t += FOURIER_ROWS)
      FOURIER(tile)(1, d, ldw, ldu, X + t * d, W + j, U + t * ldu + j);
  for (ptrdiff_t t = together; t < n; t++) FOURIER(single)(d, m, ldw, X + t * d, W, U + t * ldu);
}

#if SINGLE
/* The same for |u| <= FOURIER_NEAR in float: pi/2 in three numbers of which the first two have 8 and 11 bits, and the
   polynomials of Moshier's Cephes library (sinf, cosf), error of the results about 1e-7. */
static void FOURIER(sincos)(ptrdiff_t n, const void *angles, double amplitude, void *cosines, void *sines) {
  const float *restrict u = angles, gain = (float)amplitude;
  float *restrict c = cosines, *restrict s = sines;
  for (ptrdiff_t i = 0; i < n; i++) {
    const float t = FMA(u[i], 0.636619747f, 12582912.0f), k = t - 12582912.0f; /* 1.5 * 2^23 */
    float r = FMA(k, -1.5703125f, u[i]);
    r = FMA(k, -4.83751296997e-4f, r);
    r = FMA(k, -7.54978995489e-8f, r);
    const float q = r * r;
    float a = -1.9515295891e-4f, b = 2.443315711809948e-5f;
    a = FMA(a, q, 8.3321608736e-3f), b = FMA(b, q, -1.388731625493765e-3f);
    a = FMA(a, q, -1.6666654611e-1f), b = FMA(b, q, 4.166664568298827e-2f);
    a = FMA(a * q, r, r), b = FMA(b * q, q, FMA(q, -0.5f, 1.0f));
    uint32_t bits, sine, cosine;
    memcpy(&bits, &t, 4), memcpy(&sine, &a, 4), memcpy(&cosine, &b, 4);
    const uint32_t swap = (0 - (bits & 1)) & (sine ^ cosine);
    sine = sine ^ swap ^ (bits & 2) << 30;
    cosine = cosine ^ swap ^ ((bits + 1) & 2) << 30;
    memcpy(&a, &sine, 4), memcpy(&b, &cosine, 4);
    c[i] = gain * b, s[i] = gain * a;
  }
}
#else
/* c = gain cos(u), s = gain sin(u) for |u| <= FOURIER_FAR.

   u = k pi/2 + r, k = round(2 u / pi), |r| <= pi/4: adding FOURIER_ROUND rounds and leaves k in the low bits.  pi/2 is
   the sum of three numbers of which the first two have 33 bits, so that k times them is exact for k < 2^20.  Then
   sin r = r + r^3 S(r^2) and cos r = 1 - r^2/2 + r^4 C(r^2); S and C interpolate at 6 Chebyshev nodes of [0, (pi/4)^2],
   error of the polynomials below 1e-17, of the results about 2e-16.  Odd k swaps the two, bit 1 of k and of k + 1 is
   the sign of the sine and of the cosine. */
static void FOURIER(sincos)(ptrdiff_t n, const void *angles, double gain, void *cosines, void *sines) {
  const double *restrict u = angles;
  double *restrict c = cosines, *restrict s = sines;
  for (ptrdiff_t i = 0; i < n; i++) {
    const double t = FMA(u[i], 0.6366197723675814, FOURIER_ROUND), k = t - FOURIER_ROUND;
    double r = FMA(k, -1.5707963267341256, u[i]);
    r = FMA(k, -6.077100506303966e-11, r);
    r = FMA(k, -2.0222662487959506e-21, r);
    const double q = r * r;
    double a = 1.5918115263265974e-10, b = -1.1382623647474604e-11;
    a = FMA(a, q, -2.505113165023518e-08), b = FMA(b, q, 2.087614614655861e-09);
    a = FMA(a, q, 2.7557316101617874e-06), b = FMA(b, q, -2.7557317271145144e-07);
    a = FMA(a, q, -0.00019841269836756774), b = FMA(b, q, 2.480158729876456e-05);
    a = FMA(a, q, 0.008333333333330948), b = FMA(b, q, -0.0013888888888887398);
    a = FMA(a, q, -0.16666666666666666), b = FMA(b, q, 0.041666666666666664);
    a = FMA(a * q, r, r), b = FMA(b * q, q, FMA(q, -0.5, 1.0));
    uint64_t bits, sine, cosine;
    memcpy(&bits, &t, 8), memcpy(&sine, &a, 8), memcpy(&cosine, &b, 8);
    const uint64_t swap = (0 - (bits & 1)) & (sine ^ cosine);
    sine = sine ^ swap ^ (bits & 2) << 62;
    cosine = cosine ^ swap ^ ((bits + 1) & 2) << 62;
    memcpy(&a, &sine, 8), memcpy(&b, &cosine, 8);
    c[i] = gain * b, s[i] = gain * a;
  }
}

#endif

/* A <- H A for A (size, lanes), H the Walsh-Hadamard matrix in natural order, entries +-1; size is a power of two */
static void FOURIER(hadamard)(ptrdiff_t size, ptrdiff_t lanes, void *numbers) {
  REAL *A = numbers;
  for (ptrdiff_t half = lanes; half < size * lanes; half *= 2)
    for (REAL *a = A; a < A + size * lanes; a += 2 * half) {
      REAL *restrict low = a, *restrict high = a + half;
      for (ptrdiff_t i = 0; i < half; i++) {
        const REAL x = low[i], y = high[i];
        low[i] = x + y;
        high[i] = x - y;
      }
    }
}

/* The first `count` of u = scale * H (gauss * (H (signs * x))[order]), one block of directions, for rows x that lie side
   by side in `columns` (size, FOURIER_LANES); the angles of the first n of them, ld apart.  scratch: 2 such blocks. */
static void FOURIER(directions)(ptrdiff_t size, ptrdiff_t count, ptrdiff_t n, ptrdiff_t ld, const void *signs,
                                const int32_t *order, const void *gauss, const void *scale, const void *columns,
                                void *scratch, void *angles) {
  const REAL *restrict B = signs, *restrict G = gauss, *restrict S = scale, *restrict x = columns;
  REAL *first = scratch, *second = first + size * FOURIER_LANES, *u = angles;
  for (ptrdiff_t i = 0; i < size; i++)
    for (int l = 0; l < FOURIER_LANES; l++) first[i * FOURIER_LANES + l] = B[i] * x[i * FOURIER_LANES + l];
  FOURIER(hadamard)(size, FOURIER_LANES, first);
  for (ptrdiff_t i = 0; i < size; i++)
    for (int l = 0; l < FOURIER_LANES; l++)
      second[i * FOURIER_LANES + l] = first[(ptrdiff_t)order[i] * FOURIER_LANES + l] * G[i];
  FOURIER(hadamard)(size, FOURIER_LANES, second);
  for (ptrdiff_t t = 0; t < n; t++)
    for (ptrdiff_t i = 0; i < count; i++) u[t * ld + i] = second[i * FOURIER_LANES + t] * S[i];
}
#undef LOAD
#undef STORE
#undef STRIP
#undef FMA
#undef FUSED_VECTOR
#undef ALWAYS_INLINE
#undef REAL
