/* The losses of a score vector: multi-class hinge, structured hinge and softmax.

   Arguments: kind, as in scalar_losses.h; D, the K*K label margins, row-major (D[y*K + j] >= 0, zero diagonal), NULL
   for 1 off the diagonal, ignored by softmax; K labels; y the true one, 0 <= y < K; p the K scores.  With K = 1 there
   is no rival and every loss is 0.

   multi_implicit(...) writes alpha in R^K, which sums to zero:
     rule    MULTI_EXACT: the minimiser of s/2 |alpha|^2 + c L(p + s alpha), O(K log K), needs M == NULL;
             MULTI_RUNNER_UP: only y and its strongest rival move (hinges only).
     M       K*K label similarities of the joint kernel k(x,x') M[y,y'], NULL for the identity (runner_up only).
     f       the scores that choose the rival, NULL to take p (ILK chooses by f_t while p = kappa f_t).
     work    at least K doubles of scratch. */
#ifndef NYSTREAM_MULTI_LOSSES_H
#define NYSTREAM_MULTI_LOSSES_H
#include <math.h>
#include <stdlib.h>
#include "scalar_losses.h"

enum { MULTI_EXACT = 0, MULTI_RUNNER_UP = 1 };

static inline double multi_margin(const double *D, int K, int y, int j) { return D ? D[(size_t)y * K + j] : 1; }

/* The strongest rival argmax_{j != y} D[y,j] + p_j, smallest index on ties; -1 when there is none. */
static inline int multi_rival(const double *D, int K, int y, const double *p) {
  int best = -1;
  double top = -INFINITY;
  for (int j = 0; j < K; j++) {
    if (j == y) continue;
    const double v = multi_margin(D, K, y, j) + p[j];
    if (best < 0 || v > top) { top = v; best = j; }
  }
  return best;
}

static inline int multi_top(int K, const double *p) {
  int top = 0;
  for (int j = 1; j < K; j++) if (p[j] > p[top]) top = j;
  return top;
}

/* |e_y - e_j|^2 under the label similarity M, NULL for the identity: what a step along the pair is paid in. */
static inline double multi_pair(const double *M, int K, int y, int j) {
  const size_t n = (size_t)K;
  return M ? M[y * n + y] + M[j * n + j] - 2 * M[y * n + j] : 2;
}

/* v <- M v: with the joint kernel k(x,x') M[y,y'] what moves one label moves those like it.  work: K doubles. */
static inline void multi_mix(const double *M, int K, double *v, double *work) {
  if (!M) return;
  for (int j = 0; j < K; j++) work[j] = v[j];
  for (int j = 0; j < K; j++) {
    v[j] = 0;
    for (int i = 0; i < K; i++) v[j] += M[(size_t)j * K + i] * work[i];
  }
}

static inline double multi_value(int kind, const double *D, int K, int y, const double *p) {
  if (kind == LOSS_SOFTMAX) {
    /* log sum_j exp(p_j) - p_y around the largest score: log1p keeps a tiny loss exact */
    const int top = multi_top(K, p);
    double rest = 0;
    for (int j = 0; j < K; j++) if (j != top) rest += exp(p[j] - p[top]);
    return (p[top] - p[y]) + log1p(rest);
  }
  const int rival = multi_rival(D, K, y, p);
  return rival < 0 ? 0 : fmax(0, multi_margin(D, K, y, rival) + p[rival] - p[y]);
}

static inline void multi_grad(int kind, const double *D, int K, int y, const double *p, double *g) {
  if (kind == LOSS_SOFTMAX) {
    const double top = p[multi_top(K, p)];
    double total = 0, rest = 0;
    for (int j = 0; j < K; j++) total += g[j] = exp(p[j] - top);
    for (int j = 0; j < K; j++) g[j] /= total;
    for (int j = 0; j < K; j++) if (j != y) rest += g[j];
    g[y] = -rest;  /* pi_y - 1, without the cancellation */
    return;
  }
  const int rival = multi_rival(D, K, y, p);
  for (int j = 0; j < K; j++) g[j] = 0;
  if (rival >= 0 && multi_margin(D, K, y, rival) + p[rival] - p[y] > 0) { g[y] = -1; g[rival] = 1; }
}

static int multi_ascending(const void *l, const void *r) {
  const double x = *(const double *)l, z = *(const double *)r;
  return (x > z) - (x < z);
}

/* Exact step of the hinges.  With b the rivals' violations / s, top their largest and e = top - b sorted ascending (E
   its partial sums), the step is nu_j = max(0, thr - e_j): thr = (top + E_k)/(k+1) while alpha_y = sum nu <= c, else nu
   is the projection on the simplex of mass c, thr = (c + E_k)/k.  In distances from the top, a c that is lost in the
   rounding of b still counts. */
static inline void multi_hinge_exact(const double *D, int K, int y, const double *p, double s, double c, double *e,
                                     double *alpha) {
  const int rival = multi_rival(D, K, y, p);
  for (int j = 0; j < K; j++) alpha[j] = 0;
  const double best = multi_margin(D, K, y, rival) + p[rival], top = (best - p[y]) / s;
  if (!(top > 0)) return;
  const int n = K - 1;
  int i = 0;
  for (int j = 0; j < K; j++)
    if (j != y) e[i++] = (best - (multi_margin(D, K, y, j) + p[j])) / s;
  qsort(e, (size_t)n, sizeof *e, multi_ascending);
  double sum = 0, thr = top;
  for (i = 1; i <= n && e[i - 1] < (top + sum + e[i - 1]) / (i + 1); i++) {
    sum += e[i - 1];
    thr = (top + sum) / (i + 1);
  }
  if (top - thr > c) {
    sum = 0;
    for (i = 1; i <= n && e[i - 1] < (c + sum + e[i - 1]) / i; i++) {
      sum += e[i - 1];
      thr = (c + sum) / i;
    }
  }
  double total = 0;
  for (int j = 0; j < K; j++) {
    if (j == y) continue;
    const double nu = thr - (best - (multi_margin(D, K, y, j) + p[j])) / s;
    if (nu > 0) { alpha[j] = -nu; total += nu; }
  }
  alpha[y] = fmin(total, c);
}

static inline void multi_hinge_runner_up(const double *D, const double *M, int K, int y, const double *p,
                                         const double *f, double s, double c, double *alpha) {
  const int rival = multi_rival(D, K, y, f ? f : p);
  for (int j = 0; j < K; j++) alpha[j] = 0;
  if (rival < 0) return;
  const double both = multi_pair(M, K, y, rival);
  if (!(s * both > 0)) return;  /* the two labels share one function: no step separates them */
  const double v = loss_clamp((multi_margin(D, K, y, rival) + p[rival] - p[y]) / (s * both), 0, c);
  if (v > 0) { alpha[y] = v; alpha[rival] = -v; }
}

/* omega(x) > 0 with omega + log(omega) = x: two steps of the Fritsch-Shafer-Crowley iteration from a piecewise start
   (Lawrence, Corless, Jeffrey, Algorithm 917, restricted to real x). */
static inline double multi_omega(double x) {
  if (x < -50) return exp(x);
  if (x > 1e20) return x;
  double w = x < -2 ? exp(x) : x < 1 ? exp(2 * (x - 1) / 3) : x - log(x) + log(x) / x;
  for (int i = 0; i < 2; i++) {
    const double r = x - w - log(w), q = 2 * (w + 1) * (w + 1 + 2 * r / 3);
    w *= 1 + r / (w + 1) * (q - r) / (q - 2 * r);
  }
  return w;
}

/* Softmax: with sc = s c, omega_j = sc pi_j and the unknown x = logsumexp(p + s alpha) - p_y,
       omega_j = omega(log sc + p_j - p_y - x) for j != y,     omega_y = omega(log sc + sc - x),    sum_j omega_j = sc.
   The sum is tested as G(x) = v - sum_{j != y} omega_j with v = sc - omega_y = s alpha_y; G is increasing and concave,
   so Newton from the left end never leaves the bracket but for rounding. */
static inline double multi_softmax_gain(double sc, double x, double *slope) {
  const double w = multi_omega(log(sc) + sc - x);
  double v = sc - w;
  /* x = v - log(1 - v/sc); where sc - w cancels, one Newton step on this restores every digit of v */
  if (w > 0.5 * sc) v -= (v - log1p(-v / sc) - x) / (1 + 1 / w);
  *slope = w / (1 + w);
  return v;
}

static inline void multi_softmax_implicit(int K, int y, const double *p, double s, double c, double *alpha) {
  const double sc = s * c, log_sc = log(sc);
  double top = sc, total = 0;
  for (int j = 0; j < K; j++) if (j != y) top = fmax(top, p[j] - p[y]);
  for (int j = 0; j < K; j++) total += exp((j == y ? sc : p[j] - p[y]) - top);
  double hi = top + log(total), lo = fmax(0, hi - sc), x = lo;
  for (int i = 0; i < 100; i++) {
    double slope, G = multi_softmax_gain(sc, x, &slope);
    for (int j = 0; j < K; j++) {
      if (j == y) continue;
      const double w = multi_omega(log_sc + (p[j] - p[y]) - x);
      G -= w;
      slope += w / (1 + w);
    }
    if (G > 0) hi = x; else lo = x;
    double next = x - G / slope;
    if (!(next >= lo && next <= hi)) next = 0.5 * (lo + hi);
    const double move = fabs(next - x);
    const int done = move <= 1e-13 * fmax(1, fabs(x));
    x = next;
    if (done) break;
  }
  double sum = 0;
  for (int j = 0; j < K; j++) {
    if (j == y) continue;
    const double pi = fmin(multi_omega(log_sc + (p[j] - p[y]) - x) / sc, 1);
    alpha[j] = -c * pi;
    sum += c * pi;
  }
  alpha[y] = fmin(sum, c);
}

static inline void multi_implicit(int kind, int rule, const double *D, const double *M, int K, int y, const double *p,
                                  const double *f, double s, double c, double *work, double *alpha) {
  if (!(s > 0) || !(c > 0) || K < 2) {
    for (int j = 0; j < K; j++) alpha[j] = 0;
  } else if (kind == LOSS_SOFTMAX) {
    multi_softmax_implicit(K, y, p, s, c, alpha);
  } else if (rule == MULTI_RUNNER_UP) {
    multi_hinge_runner_up(D, M, K, y, p, f, s, c, alpha);
  } else {
    multi_hinge_exact(D, K, y, p, s, c, work, alpha);
  }
}
#endif
