"""Learners on landmarks that the stream provides: functional gradient descent until they are there, features after."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from nystream.dictionary.expansion import Expansion
from nystream.features.adaptive_nystrom import AdaptiveNystrom
from nystream.kernels.base import Kernel
from nystream.learners.feature_learner import FeatureLearner
from nystream.losses import Loss, as_loss
from nystream.solvers.ogd import OGD
from nystream.types import Array

__all__ = ["LandmarkLearner"]

BLOCK = 64
"""Rows whose kernel rows are computed together while landmarks are collected."""


class LandmarkLearner(FeatureLearner):
    """What NOGD and NOLANA share: two phases, neither of which looks ahead.

    Until m points are stored: functional gradient descent, f <- (1 - eta_t lam) f - eta_t l'(y, f(x)) k(x, .), with
    f = sum_i alpha_i k(u_i, .). Then the map is built on u_1..u_m and the same function, projected on its r features,
    goes on as w = S^(1/2) U' alpha under gradient descent.
    Subclasses store their parameters, give `_parts` and set `_template` in their constructor.
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    kernel: Kernel
    landmarks: int
    loss: str | Loss
    select: str = "first"

    features_: AdaptiveNystrom
    solver_: OGD
    _template: OGD
    expansion_: Expansion | None = None
    """f while points are collected, None after that."""
    collected_: int = 0
    """Rounds of that phase."""

    def _parts(self) -> tuple[AdaptiveNystrom, OGD]:
        raise NotImplementedError

    def _start(self, d: int, outputs: int) -> None:
        self.expansion_ = Expansion(self.kernel, limit=self.landmarks)
        self.expansion_.start(d, outputs)
        self.collected_ = 0

    def _predict(self, X: Array) -> Array:
        return super()._predict(X) if self.expansion_ is None else self.expansion_.predict(X)

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if self.expansion_ is None:
            return self.solver_.step(self.features_.row(x), y, weight)
        return self._run(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty((len(X), self.outputs_))
        row = 0
        if self.expansion_ is not None:
            row = self._collect(self.expansion_, X, Y, weights, P)
        if row < len(X):
            P[row:] = self._learn(X[row:], Y[row:], None if weights is None else weights[row:])
        return P

    def _learn(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """Rounds on the map."""
        return super()._run(X, Y, weights)

    def _collect(self, f: Expansion, X: Array, Y: Array, weights: Array | None, P: Array) -> int:
        """Rounds of the first phase into P; how many there were."""
        for start in range(0, len(X), BLOCK):
            f.open(X[start : start + BLOCK])
            for j in range(min(BLOCK, len(X) - start)):
                i = start + j
                P[i] = self._functional_round(f, j, X[i], Y[i], 1.0 if weights is None else float(weights[i]))
                if f.n == self.landmarks:
                    f.close()
                    self._switch(f)
                    return i + 1
            f.close()
        return len(X)

    def _functional_round(self, f: Expansion, j: int, x: Array, y: Array, weight: float) -> Array:
        loss, solver = as_loss(self.loss), self._template
        self.collected_ += 1
        p = f.scores(f.begin(j))
        g = np.asarray(loss.grad(int(y[0]) if loss.multiclass else y, p), dtype=np.float64)
        similar: Array | None = getattr(loss, "label_similarity", None)
        if similar is not None:
            g = similar @ g  # the joint kernel: what moves one label moves those like it
        eta = solver.eta / math.sqrt(self.collected_) if solver.schedule == "sqrt" else solver.eta
        if solver.lam:
            f.decay(1 - eta * solver.lam)
        if self.select == "first" or (weight > 0 and g.any() and f.kxx > 0):
            f.append(x, -eta * weight * g, birth=self.collected_)
        return p

    def _switch(self, f: Expansion) -> None:
        features, solver = self._parts()
        features.begin(np.array(f.points), rows=self.select == "first")
        solver.start(features.dim, f.outputs)
        solver.weights = features.weights_of(f.coef)
        solver.t_ = self.collected_
        self.features_, self.solver_, self.expansion_ = features, solver, None

    def _grow(self, outputs: int) -> None:
        if self.expansion_ is None:
            self.solver_.grow(outputs)
        else:
            self.expansion_.grow(outputs)

    def _widen(self, d: int) -> None:
        if self.expansion_ is None:
            self.features_.widen(d)
        else:
            self.expansion_.widen(d)

    @property
    def points(self) -> Array:
        """The landmarks as they are now, (size, d)."""
        if not self.d_:
            return np.empty((0, 0))
        return self.features_.points if self.expansion_ is None else self.expansion_.points

    @property
    def size(self) -> int:
        """Landmarks stored."""
        return len(self.points)

    @property
    def nbytes(self) -> int:
        return super().nbytes if self.expansion_ is None else self.expansion_.nbytes
