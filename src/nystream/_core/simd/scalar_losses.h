/* The losses, one prediction at a time: value, derivative, second derivative, implicit step.

   Scalar losses take (kind, a, y, p): a is the loss's constant (eps, delta, q or rho).
   Squared losses carry no 1/2.  Labels of hinge, squared hinge and logistic are -1/+1; novelty ignores y.
   loss_implicit gives alpha = argmin_a s/2 a^2 + c l(p + s a), that is alpha = -c l'(p + s alpha); 0 when s <= 0 or
   c <= 0.  The NumPy forms in nystream/losses are the definition; tests hold these to them.  The losses of a score
   vector are in multi_losses.h. */
#ifndef NYSTREAM_SCALAR_LOSSES_H
#define NYSTREAM_SCALAR_LOSSES_H
#include <math.h>

enum {
  LOSS_SQUARED = 0, LOSS_ABSOLUTE = 1, LOSS_EPSILON = 2, LOSS_HUBER = 3, LOSS_PINBALL = 4,
  LOSS_HINGE = 5, LOSS_SQUARED_HINGE = 6, LOSS_LOGISTIC = 7, LOSS_NOVELTY = 8,
  LOSS_MULTICLASS_HINGE = 9, LOSS_SOFTMAX = 10, LOSS_STRUCTURED_HINGE = 11
};

static inline double loss_clamp(double v, double lo, double hi) { return fmin(fmax(v, lo), hi); }

static inline double loss_sign(double v) { return (double)((v > 0) - (v < 0)); }

/* 1/(1 + exp(-u)) without overflow. */
static inline double loss_expit(double u) {
  const double e = exp(-fabs(u));
  return u >= 0 ? 1 / (1 + e) : e / (1 + e);
}

/* log(1 + exp(u)) without overflow, exact for very negative u. */
static inline double loss_softplus(double u) { return fmax(u, 0) + log1p(exp(-fabs(u))); }

static inline double loss_value(int kind, double a, double y, double p) {
  const double r = p - y, u = fabs(r);
  switch (kind) {
    case LOSS_SQUARED: return r * r;
    case LOSS_ABSOLUTE: return u;
    case LOSS_EPSILON: return fmax(0, u - a);
    case LOSS_HUBER: return u <= a ? 0.5 * r * r : a * (u - 0.5 * a);
    case LOSS_PINBALL: return r <= 0 ? -a * r : (1 - a) * r;
    case LOSS_HINGE: return fmax(0, a - y * p);
    case LOSS_SQUARED_HINGE: { const double h = fmax(0, a - y * p); return h * h; }
    case LOSS_LOGISTIC: return loss_softplus(-y * p);
    case LOSS_NOVELTY: return fmax(0, a - p);
    default: return NAN;
  }
}

static inline double loss_grad(int kind, double a, double y, double p) {
  const double r = p - y;
  switch (kind) {
    case LOSS_SQUARED: return 2 * r;
    case LOSS_ABSOLUTE: return loss_sign(r);
    case LOSS_EPSILON: return fabs(r) > a ? loss_sign(r) : 0;
    case LOSS_HUBER: return loss_clamp(r, -a, a);
    case LOSS_PINBALL: return r < 0 ? -a : r > 0 ? 1 - a : 0;
    case LOSS_HINGE: return y * p < a ? -y : 0;
    case LOSS_SQUARED_HINGE: return y * p < a ? -2 * y * (a - y * p) : 0;
    case LOSS_LOGISTIC: return -y * loss_expit(-y * p);
    case LOSS_NOVELTY: return p < a ? -1 : 0;
    default: return NAN;
  }
}

static inline double loss_second(int kind, double a, double y, double p) {
  switch (kind) {
    case LOSS_SQUARED: return 2;
    case LOSS_HUBER: return fabs(p - y) < a ? 1 : 0;
    case LOSS_SQUARED_HINGE: return y * p < a ? 2 : 0;
    case LOSS_LOGISTIC: return loss_expit(p) * loss_expit(-p);
    case LOSS_ABSOLUTE: case LOSS_EPSILON: case LOSS_PINBALL: case LOSS_HINGE: case LOSS_NOVELTY: return 0;
    default: return NAN;
  }
}

/* a = c sigma(-u) with u = m + s c sigma(-u): bracketed Newton in u, because a may be many orders below c. */
static inline double loss_logistic_implicit(double m, double s, double c) {
  const double sc = s * c;
  double lo = m, hi = m + sc * loss_expit(-m);
  double u = sc > 1 && hi - lo >= 1 ? loss_clamp(log(sc), lo, hi) : lo;
  for (int i = 0; i < 100; i++) {
    const double f = loss_expit(-u), h = u - m - sc * f;
    if (h > 0) hi = u; else lo = u;
    double next = u - h / (1 + sc * f * loss_expit(u));
    /* closed interval: an open one would take a converged step for a failure */
    if (next < lo || next > hi) next = 0.5 * (lo + hi);
    const double move = fabs(next - u);
    const int done = move <= 1e-13 * fmax(1, fabs(u));
    u = next;
    if (done) break;
  }
  return c * loss_expit(-u);
}

static inline double loss_implicit(int kind, double a, double y, double p, double s, double c) {
  const double r = y - p;
  if (!(s > 0) || !(c > 0)) return 0;
  switch (kind) {
    case LOSS_SQUARED: return 2 * c * r / (1 + 2 * c * s);
    case LOSS_ABSOLUTE: return loss_clamp(r / s, -c, c);
    case LOSS_EPSILON: return loss_sign(r) * fmin(c, fmax(0, fabs(r) - a) / s);
    case LOSS_HUBER: return loss_clamp(c * r / (1 + c * s), -c * a, c * a);
    case LOSS_PINBALL: return loss_clamp(r / s, -c * (1 - a), c * a);
    case LOSS_HINGE: return y * loss_clamp((a - y * p) / s, 0, c);
    case LOSS_SQUARED_HINGE: return y * (2 * c * fmax(0, a - y * p) / (1 + 2 * c * s));
    case LOSS_LOGISTIC: return y * loss_logistic_implicit(y * p, s, c);
    case LOSS_NOVELTY: return loss_clamp((a - p) / s, 0, c);
    default: return NAN;
  }
}
#endif
