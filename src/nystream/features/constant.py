"""A feature map with the constant 1 appended: functions with an offset."""

from __future__ import annotations

import copy
from typing import ClassVar, Self

import numpy as np

from nystream.features.base import FeatureMap, Identity, checked_map, fixed_map, of_doubles
from nystream.runtime.types import Array

__all__ = ["WithConstant"]


class WithConstant(FeatureMap):
    """z(x) = (features(x), 1).

    The offset is charged like any other weight. O(1) on top of the features.

    Parameters
    ----------
    features : FeatureMap or None, default None
        None: the columns themselves, for an affine model. The map is copied; one that was fitted is used as it stands.
        It must be one that does not move.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.features import WithConstant
    >>> WithConstant().fit_transform(np.array([[2.0, 3.0]])).tolist()
    [[2.0, 3.0, 1.0]]
    """

    bounded: ClassVar[bool] = False  # as far as the inner map is

    features_: FeatureMap

    def __init__(self, features: FeatureMap | None = None) -> None:
        if features is not None:
            of_doubles(checked_map(features), "WithConstant")
        self.features = features

    def start(self, d: int) -> None:
        inner = Identity() if self.features is None else self.features
        self.features_, self.d_ = fixed_map(inner, d, "WithConstant"), d

    @property
    def dim(self) -> int:
        return self.features_.dim + 1 if self.d_ else 0

    def _map(self, X: Array, out: Array) -> None:
        Z = np.empty((len(X), self.features_.dim))
        self.features_._map(X, Z)
        out[:, :-1] = Z
        out[:, -1] = 1.0

    def row(self, x: Array) -> Array:
        return np.append(self.features_.row(x), 1.0)

    def check(self, X: Array) -> None:
        self.features_.check(X)

    @property
    def missed(self) -> float | None:
        """The `missed` of the inner map, because nothing of the constant is missed."""
        return self.features_.missed if self.d_ else 0.0

    def note(self, X: Array, Z: Array | None = None, weights: Array | None = None) -> None:
        self.features_.note(X, None if Z is None else np.ascontiguousarray(Z[..., :-1]), weights)

    def unnote(self, X: Array, weights: Array | None = None) -> None:
        self.features_.unnote(X, weights)

    def unnote_all(self) -> None:
        self.features_.unnote_all()

    def pool(self, other: Self) -> None:
        self.features_.pool(other.features_)

    @property
    def penalty(self) -> Array | None:
        inner = self.features_.penalty
        if inner is None:
            return None
        P = np.zeros((self.dim, self.dim))
        P[:-1, :-1] = inner
        P[-1, -1] = 1.0
        return P

    def widen(self, d: int) -> None:
        trial = copy.deepcopy(self.features_)
        trial.widen(d)
        if trial.dim != self.features_.dim:  # new ones would come before the constant, out of the solver's order
            raise TypeError("WithConstant cannot follow a map that gains features; declare the columns beforehand")
        self.features_, self.d_ = trial, d

    @property
    def nbytes(self) -> int:
        return self.features_.nbytes if self.d_ else 0
