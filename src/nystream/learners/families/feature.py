"""Learners that combine a feature map with a linear solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.features.base import FeatureMap, of_doubles
from nystream.learners.base import Learner
from nystream.runtime.types import Array, LabelKind
from nystream.solvers.base import Solver

__all__ = ["FeatureLearner"]

BLOCK = 512
"""Rows whose features are computed by one product and held in one buffer."""


class FeatureLearner(Learner):
    """A learner made of features and a solver. Subclasses build both from their parameters in `_parts`."""

    features_: FeatureMap
    solver_: Solver

    def _parts(self) -> tuple[FeatureMap, Solver]:
        """Return a new feature map and a new solver, both before `start`."""
        raise NotImplementedError

    @property
    def labels(self) -> LabelKind:
        return self._solver.labels

    @property
    def classes(self) -> int | None:
        return self._solver.classes

    @property
    def _solver(self) -> Solver:
        """The solver; before the start, a new one with the same parameters."""
        if "solver_" in self.__dict__:
            return self.solver_
        if "_template" not in self.__dict__:
            self._template = self._parts()[1]
        return self._template

    def _start(self, d: int, outputs: int) -> None:
        features, solver = self._parts()
        if not features.d_:
            features.start(d)
        elif features.d_ != d:
            raise ValueError(f"X has {d} columns, but the features were fitted on {features.d_}")
        if solver.dtype == "float64":
            of_doubles(features, type(self).__name__)
        self._check_features(features)
        solver.start(features.dim, outputs)
        features.unnote_all()
        self.features_, self.solver_ = features, solver

    def _check_features(self, features: FeatureMap) -> None:
        """Raise an error if the solver cannot follow the started map."""

    def _check(self, X: Array, learnt: int) -> None:
        self.features_.check(X)

    @property
    def _refuses(self) -> bool:
        return not self.features_.bounded

    def _predict(self, X: Array) -> Array:
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            x = X[i : i + BLOCK]
            P[i : i + BLOCK] = self.predict_features(x, self.features_.transform(x))
        return P

    def predict_features(self, X: Array, Z: Array) -> Array:
        """Return predictions (n, K) for rows X, whose features are Z."""
        return self.solver_.predict(Z)

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if not self.features_.bounded:
            self.features_.check(x[None])
        change = self.features_.observe(x)  # x is known before y: the map may move now
        if change is not None:
            self.solver_.rebase(change, self.features_.dim)
        z = self.features_.row(x)
        p = self.solver_.step(z, y, weight)
        self.features_.note(x, z, None if weight == 1.0 else np.array([weight]))
        return p

    def _step_one(self, x: Any, y: Any) -> float | None:
        features = self.features_
        if features.engine is None:
            return super()._step_one(x, y)
        p = self.solver_.one(features.engine, x, y)
        if p is not None:
            features.note(x)
        return p

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """Do the rounds: row by row while the map may move, then in blocks."""
        self.features_.check(X)
        P = np.empty((len(X), self.outputs_))
        row = 0
        while row < len(X) and not self.features_.settled:
            P[row] = self._step(X[row], Y[row], 1.0 if weights is None else float(weights[row]))
            row += 1
        buffer = np.empty((min(BLOCK, len(X) - row), self.features_.dim), dtype=self.features_.dtype)
        for i in range(row, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            x = X[part]
            Z = buffer[: len(x)]
            self.features_._map(x, Z)
            w = None if weights is None else weights[part]
            P[part] = self.solver_.run(Z, Y[part], w)
            self.features_.note(x, Z, w)
        return P

    def _grow(self, outputs: int) -> None:
        self.solver_.grow(outputs)

    def _widen(self, d: int) -> None:
        self.features_.widen(d)

    @property
    def size(self) -> int:
        """Number of features (0 before the first example)."""
        return self.features_.dim if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return self.features_.nbytes + self.solver_.nbytes if self.d_ else 0
