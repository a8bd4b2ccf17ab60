"""Small learners in plain NumPy, for tests of evaluation that should not depend on the real ones."""

from __future__ import annotations

import numpy as np

from nystream.learners.base import Learner


class Ridge(Learner):
    """Online ridge regression, any number of targets; knows its regret."""

    multi_output = True

    def __init__(self, lam=1.0, seed=None):
        self.lam = lam
        self.seed = seed

    def _start(self, d, outputs):
        self.A_, self.b_ = self.lam * np.eye(d), np.zeros((d, outputs))
        self.loss_, self.y2_ = 0.0, 0.0

    def _predict(self, X):
        return np.array([x @ np.linalg.solve(self.A_, self.b_) for x in X]).reshape(len(X), self.outputs_)

    def _run(self, X, Y, weights):
        P = np.empty((len(X), self.outputs_))
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            P[i] = x @ np.linalg.solve(self.A_, self.b_)
            self.A_ += np.outer(x, x)
            self.b_ += np.outer(x, y)
            self.loss_ += float(((P[i] - y) ** 2).sum())
            self.y2_ += float((y**2).sum())
        return P

    def regret(self):
        """Cumulative loss minus min_w sum (w.x - y)^2 + lam |w|^2 = sum y^2 - b' A^-1 b."""
        best = self.y2_ - float((self.b_ * np.linalg.solve(self.A_, self.b_)).sum())
        return self.loss_ - best

    @property
    def size(self):
        return self.d_

    @property
    def nbytes(self):
        return self.A_.nbytes + self.b_.nbytes if self.d_ else 0


class Linear(Learner):
    """Gradient descent on the logistic loss of -1/+1 labels, or on the softmax loss of classes that may appear late."""

    def __init__(self, loss="logistic", eta=0.5):
        self.loss = loss
        self.eta = eta

    @property
    def labels(self):
        return "sign" if self.loss == "logistic" else "class"

    @property
    def link(self):
        return self.loss

    def _start(self, d, outputs):
        self.w_ = np.zeros((d, outputs))

    def _grow(self, outputs):
        self.w_ = np.hstack([self.w_, np.zeros((len(self.w_), outputs - self.w_.shape[1]))])

    def _predict(self, X):
        return np.array([x @ self.w_ for x in X]).reshape(len(X), -1)

    def _run(self, X, Y, weights):
        P = np.empty((len(X), self.outputs_))
        for i, (x, y) in enumerate(zip(X, Y[:, 0], strict=True)):
            P[i] = x @ self.w_
            if self.loss == "logistic":
                slope = -y / (1.0 + np.exp(y * P[i]))
            else:
                e = np.exp(P[i] - P[i].max())
                slope = e / e.sum() - (np.arange(self.outputs_) == y)
            self.w_ = self.w_ - self.eta * np.outer(x, slope)
        return P

    @property
    def size(self):
        return self.d_

    @property
    def nbytes(self):
        return self.w_.nbytes if self.d_ else 0


def regression_stream(n, d=3, seed=0):
    """(X, y): a noisy linear target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)


def sign_stream(n, d=3, seed=0):
    """(X, y) with y in -1/+1, noisy."""
    X, y = regression_stream(n, d, seed)
    return X, np.where(y >= 0, 1.0, -1.0)


def class_stream(n, seed=0):
    """(X, y) with y in 0..4; classes 2, 3, 4 appear late."""
    rng = np.random.default_rng(seed)
    late = np.minimum(5, 2 + np.arange(n) * 4 // n)
    y = np.floor(rng.random(n) * late)
    return rng.normal(size=(n, 5)) + 2.0 * np.eye(5)[y.astype(int)], y


class Blocks:
    """A stream that can be read once, in blocks of uneven sizes up to the one asked for, and counts its rows."""

    def __init__(self, X, Y, seed=0):
        self.X, self.Y, self.rng, self.given = X, Y, np.random.default_rng(seed), 0

    def blocks(self, size):
        while self.given < len(self.X):
            start = self.given
            self.given = min(len(self.X), start + int(self.rng.integers(1, size + 1)))
            yield self.X[start : self.given], None if self.Y is None else self.Y[start : self.given]
