"""Learners whose landmarks come from the stream: functional gradient descent, then descent on features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.data.inputs import as_block
from nystream.dictionary.expansion import Expansion
from nystream.features.adaptive_nystrom import AdaptiveNystrom
from nystream.kernels.base import Kernel
from nystream.learners.base import Learner
from nystream.learners.families.gradient import GradientLearner
from nystream.losses import Loss, as_loss
from nystream.runtime.params import at_least, one_of
from nystream.runtime.types import Array
from nystream.solvers.ogd import OGD

__all__ = ["LandmarkLearner"]

BLOCK = 64
"""Rows whose kernel rows are computed together while landmarks are collected."""
METHODS = ("sgd", "adagrad")
TINY = 1e-8
"""Added to the root that divides a step of "adagrad", as in `OGD`."""


class LandmarkLearner(GradientLearner):
    """The base class of NOGD and NOLANA, which learn in two phases. Given landmarks skip the first phase.

    Until m points are stored: functional gradient descent, f <- (1 - eta_t lam) f - eta_t l'(y, f(x)) k(x, .), with
    f = sum_i alpha_i k(u_i, .). Then the map is built on u_1..u_m. The function, projected on its r features,
    becomes w = S^(1/2) U' alpha, and gradient descent continues. The sum of the hypotheses, if kept, is projected too.

    With method "adagrad" the step of an output in the first phase, where there are no coordinates yet, is
    eta_t / (sqrt(sum_s g_s^2 k(x_s, x_s)) + 1e-8), g its derivatives; on the map `OGD` starts its own sums.
    Subclasses store their own parameters, then call this constructor, and define `_new_map`.
    """

    select: str = "first"

    features_: AdaptiveNystrom
    expansion_: Expansion | None = None
    """f while points are collected, then None."""
    collected_: int = 0
    """Rounds of the first phase."""
    squares_: Array
    """(K,) sums of squared functional gradients of the first phase, for "adagrad"."""

    def __init__(
        self,
        kernel: Kernel,
        landmarks: Any,
        rank: int | None,
        loss: str | Loss,
        eta: float,
        schedule: str,
        lam: float,
        method: str,
        tol: float,
        average: bool,
    ) -> None:
        self.kernel = kernel
        self.landmarks = landmarks if np.ndim(landmarks) else at_least("landmarks", landmarks, 1)
        self.rank = rank
        self.loss = loss
        self.eta = eta
        self.schedule = schedule
        self.lam = lam
        self.method = _checked_method(method, lam)
        self.tol = tol
        self.average = average
        self._loss = as_loss(loss)
        if self._given is not None and self.select != "first":
            raise ValueError("given landmarks are not selected from the stream; leave select at 'first'")
        self._template = self._parts()[1]  # the parts check the values here, not at the first row

    def _parts(self) -> tuple[AdaptiveNystrom, OGD]:
        return self._new_map(), self._descent(self.method)

    def _new_map(self) -> AdaptiveNystrom:
        """Return a new map, before `start`."""
        raise NotImplementedError

    @property
    def separable(self) -> bool:
        return self.select == "first"

    @property
    def _given(self) -> Array | None:
        """The given landmarks (m, d), or None if they come from the stream."""
        return as_block(self.landmarks, name="landmarks") if np.ndim(self.landmarks) else None

    @property
    def _count(self) -> int:
        """m."""
        return len(self.landmarks) if np.ndim(self.landmarks) else int(self.landmarks)

    def _start(self, d: int, outputs: int) -> None:
        given = self._given
        if given is not None:
            if given.shape[1] != d:
                raise ValueError(f"landmarks have {given.shape[1]} columns, but the rows have {d}")
            features, solver = self._parts()
            features.begin(given)
            solver.start(features.dim, outputs)
            self.features_, self.solver_, self.expansion_ = features, solver, None
            self.collected_, self.squares_ = 0, np.zeros(outputs)
            return
        self.expansion_ = Expansion(self.kernel, limit=self.landmarks)
        self.expansion_.start(d, outputs)
        self.collected_ = 0
        self.squares_ = np.zeros(outputs)

    def _check(self, X: Array, learnt: int) -> None:
        if self.expansion_ is None:
            super()._check(X, learnt)

    @property
    def _refuses(self) -> bool:
        return self.expansion_ is None and super()._refuses

    def _predict(self, X: Array) -> Array:
        return super()._predict(X) if self.expansion_ is None else self.expansion_.predict(X)

    def _averaged(self, X: Array) -> Array:
        return super()._averaged(X) if self.expansion_ is None else self.expansion_.averaged(X)

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if self.expansion_ is None:
            return self.solver_.step(self.features_.row(x), y, weight)
        return self._run(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]

    def _step_one(self, x: Any, y: Any) -> float | None:
        if self.expansion_ is None:
            return self.solver_.one(self.features_.landmark_map, x, y)
        return Learner._step_one(self, x, y)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty((len(X), self.outputs_))
        row = 0
        if self.expansion_ is not None:
            row = self._collect(self.expansion_, X, Y, weights, P)
        if row < len(X):
            P[row:] = self._learn(X[row:], Y[row:], None if weights is None else weights[row:])
        return P

    def _learn(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """Do rounds on the map."""
        return super()._run(X, Y, weights)

    def _collect(self, f: Expansion, X: Array, Y: Array, weights: Array | None, P: Array) -> int:
        """Do rounds of the first phase and write predictions to P. Return their number."""
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
        loss, solver = self._loss, self._template
        self.collected_ += 1
        p = f.scores(f.begin(j))
        g = np.asarray(loss.grad(int(y[0]) if loss.multiclass else y, p), dtype=np.float64)
        similar = loss.label_similarity
        if similar is not None:
            g = similar @ g  # the joint kernel: a step for one label also moves similar labels
        eta = solver.eta / math.sqrt(self.collected_) if solver.schedule == "sqrt" else solver.eta
        if solver.lam:
            f.decay(1 - eta * solver.lam)
        if self.select == "first" or (weight > 0 and g.any() and f.kxx > 0):
            f.append(x, -eta * self._scaled(weight * g, f.kxx), birth=self.collected_)
        return p

    def _scaled(self, g: Array, kxx: float) -> Array:
        """Return the direction g of a functional step, scaled by the method."""
        if self._template.method == "sgd":
            return g
        self.squares_ += g * g * kxx
        return np.asarray(g / (np.sqrt(self.squares_) + TINY))

    def _switch(self, f: Expansion) -> None:
        features, solver = self._parts()
        features.begin(np.array(f.points))
        total = f.averaged_coef * self.collected_ if self.average else None
        solver.start(features.dim, f.outputs)
        solver.resume(
            _by_column(features, f.coef), None if total is None else _by_column(features, total), self.collected_
        )
        self.features_, self.solver_, self.expansion_ = features, solver, None

    def _grow(self, outputs: int) -> None:
        if self.expansion_ is None:
            self.solver_.grow(outputs)
        else:
            self.expansion_.grow(outputs)
            self.squares_ = np.pad(self.squares_, (0, outputs - len(self.squares_)))

    def _widen(self, d: int) -> None:
        if self.expansion_ is None:
            self.features_.widen(d)
        else:
            self.expansion_.widen(d)

    @property
    def points(self) -> Array:
        """The present landmarks (size, d)."""
        if not self.d_:
            return np.empty((0, 0))
        return self.features_.points if self.expansion_ is None else self.expansion_.points

    @property
    def size(self) -> int:
        """Number of landmarks."""
        return len(self.points)

    @property
    def nbytes(self) -> int:
        return super().nbytes if self.expansion_ is None else self.expansion_.nbytes


def _checked_method(method: str, lam: float) -> str:
    """Return the method, or raise a ValueError."""
    if one_of("method", method, METHODS) == "adagrad" and lam:
        raise ValueError(f"method='adagrad' takes no ridge here, got lam={lam!r}; use lam=0 or method='sgd'")
    return method


def _by_column(features: AdaptiveNystrom, coef: Array) -> Array:
    """Return weights (dim, K) of K functions, by one product each, so that K outputs give the bits of K learners."""
    return np.hstack([features.weights_of(np.ascontiguousarray(alpha)[:, None]) for alpha in coef.T])
