"""Forgetting: least squares on features, in which old rows fade."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np

from nystream.data.inputs import as_block
from nystream.features.base import FeatureMap, checked_map
from nystream.features.constant import WithConstant
from nystream.learners.families.feature import BLOCK, FeatureLearner
from nystream.losses import Loss, Squared
from nystream.runtime.types import Array
from nystream.solvers.forgetting import Forgetting as ForgettingSolver

__all__ = ["Forgetting"]


class Forgetting(FeatureLearner):
    """Online ridge regression on a fixed basis that follows a drifting target: weights decay^age, ridge kept.

    With z_t = z(x_t) and g = decay::

        A_t = lam_t I + sum_{s<=t} g^(t-s) z_s z_s'       b_t = sum_{s<=t} g^(t-s) y_s z_s       p_{t+1} = b_t' A_t^-1 z

    where lam_t is lam, up to a factor of at most 2 between the rows at which the factor of A is refreshed; see
    `nystream.solvers.Forgetting` for its exact value. Cost per row O(r^2) for r features, and O(r^3) once in `refresh`
    rows; nothing grows with t. Several outputs share the factor; a row of weight w counts as w rows. It remembers about
    1/(1 - g) rows, so it suits few features, or a linear model: on a stream whose labels drift an affine model with
    decay 0.95 is hard to beat.

    Parameters
    ----------
    features : FeatureMap or None, default None
        A map that does not move; None: the columns and the constant 1, which want a common scale.
    lam : float, default 0.01
        Ridge, > 0.
    decay : float, default 0.99
        g in (0, 1].
    refresh : int or None
        Rows between refreshes; None: 32, or fewer so that lam_t >= lam/2. 1: lam_t = lam, O(r^3) a row.
    clip : float or None
        Predictions are clipped to [-clip, clip].

    References
    ----------
    Haykin. Adaptive Filter Theory, chapter on recursive least squares.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.learners import Forgetting
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> y = np.where(np.arange(1000) < 500, X[:, 0], 2 - X[:, 1])
    >>> p = Forgetting(decay=0.95).run(X, y)
    >>> bool(np.abs(p - y)[[480, 980]].max() < 0.02)
    True
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    solver_: ForgettingSolver

    def __init__(
        self,
        features: FeatureMap | None = None,
        *,
        lam: float = 0.01,
        decay: float = 0.99,
        refresh: int | None = None,
        clip: float | None = None,
    ) -> None:
        solver = ForgettingSolver(lam, decay=decay, refresh=refresh, clip=clip)  # which checks the values
        self.features = None if features is None else checked_map(features)
        self.lam, self.decay, self.refresh, self.clip = solver.lam, solver.decay, solver.refresh, solver.clip

    @property
    def objective(self) -> Loss | None:
        return Squared()

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs. Exact."""
        self.solver_.add_outputs(combination)
        self._gained(combination.shape[1])

    def leverage(self, X: Any) -> Array:
        """Return s = z'A^-1 z (n,), which is large for rows unlike the recent ones."""
        if not self.d_:
            raise ValueError("this Forgetting has learnt no row yet")
        X = as_block(X, self.d_)
        parts = [self.solver_.leverage(self.features_.transform(X[i : i + BLOCK])) for i in range(0, len(X), BLOCK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _parts(self) -> tuple[FeatureMap, ForgettingSolver]:
        solver = ForgettingSolver(self.lam, decay=self.decay, refresh=self.refresh, clip=self.clip)
        return WithConstant() if self.features is None else self.features._as_parameter(), solver

    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        penalty = self.features_.penalty
        if penalty is not None:
            self.solver_.start_from(self.lam * penalty)

    def _check_features(self, features: FeatureMap) -> None:
        if not features.dim or not features.settled:
            raise ValueError(
                f"Forgetting needs a map that does not move, but {features!r} still takes points from the stream; fit "
                "it on a warm-up sample first or give it the landmarks"
            )

    @property
    def _solver(self) -> ForgettingSolver:
        return cast(ForgettingSolver, super()._solver)
