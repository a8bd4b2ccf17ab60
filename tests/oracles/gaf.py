"""GAF by definition: every surrogate is kept, and every round is a minimisation in all dimensions."""

from __future__ import annotations

import numpy as np
from scipy import linalg, optimize, special


def aggregated(X, y, classes, lam, c, mean):
    """Log probabilities (n, K). mean(m, V): E softmax(N(m, V)), up to the factor with which it is computed."""
    n, d = X.shape
    H, b = 2 * lam * np.eye(classes * d), np.zeros(classes * d)
    P = np.zeros((n, classes))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        each = np.kron(np.eye(classes), x)  # (K, K d): the scores are each @ w
        m, V = each @ np.linalg.solve(H, b), each @ np.linalg.solve(H, each.T)
        P[t] = np.log(mean(m, V))
        w = minimiser(H, b, each, int(label))
        u = each @ w
        p = special.softmax(u)
        S = c * (np.diag(p) - np.outer(p, p))
        H += each.T @ S @ each
        b += each.T @ (S @ u - p + np.eye(classes)[int(label)])
    return P


def minimiser(H, b, each, label):
    """The minimum of w'Hw/2 - b'w + log sum exp(each w) - (each w)_label."""

    def value(w):
        u = each @ w
        return w @ H @ w / 2 - b @ w + special.logsumexp(u) - u[label]

    def slope(w):
        return H @ w - b + each.T @ (special.softmax(each @ w) - np.eye(len(each))[label])

    def hess(w):
        p = special.softmax(each @ w)
        return H + each.T @ (np.diag(p) - np.outer(p, p)) @ each

    w = optimize.minimize(value, np.linalg.solve(H, b), jac=slope, hess=hess, method="trust-exact").x
    for _ in range(3):  # full Newton steps from there are exact to rounding
        w = w - np.linalg.solve(hess(w), slope(w))
    return w


def over_points(points):
    """The mean over given points of a standard Gaussian, by the symmetric root of V."""

    def mean(m, V):
        return special.softmax(m + points @ np.real(linalg.sqrtm(V)), axis=1).mean(axis=0)

    return mean
