/* The cosines of cosine_kernel.h for one instruction set, loops that the compiler makes vectors of.  Included by
   cosine_kernel.h with COSINE(x) naming the function and FMA(a, b, c) a b + c; no include guard. */
static void COSINE(cosines)(ptrdiff_t n, const double *restrict u, double gain, double *restrict c) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double t = FMA(u[i], 0.3183098861837907, COSINE_ROUND), k = t - COSINE_ROUND;
    double r = FMA(k, -3.1415926534682512, u[i]);
    r = FMA(k, -1.2154201012607932e-10, r);
    r = FMA(k, -4.0445324975919012e-21, r);
    const double q = r * r;
    double a = 4.646435957800348e-14;
    a = FMA(a, q, -1.1466252259629432e-11);
    a = FMA(a, q, 2.087668155886515e-09);
    a = FMA(a, q, -2.755731857336615e-07);
    a = FMA(a, q, 2.480158729891355e-05);
    a = FMA(a, q, -0.0013888888888884767);
    a = FMA(a, q, 0.04166666666666666);
    a = FMA(a * q, q, FMA(q, -0.5, 1.0));
    uint64_t bits, cosine;
    memcpy(&bits, &t, 8), memcpy(&cosine, &a, 8);
    cosine ^= bits << 63;
    memcpy(&a, &cosine, 8);
    c[i] = gain * a;
  }
}

/* out = f_r a_r for n rounds of `block` numbers each; factors f are `apart` numbers apart */
static void COSINE(scaled)(ptrdiff_t n, ptrdiff_t block, ptrdiff_t apart, const double *restrict f,
                           const double *restrict a, double *restrict out) {
  for (ptrdiff_t r = 0; r < n; r++, f += apart)
    for (ptrdiff_t i = 0; i < block; i++) out[r * block + i] = *f * a[r * block + i];
}
