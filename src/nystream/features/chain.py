"""One feature map after another."""

from __future__ import annotations

import copy
from typing import ClassVar, Self

import numpy as np

from nystream.features.base import FeatureMap, checked_map, fixed_map, of_doubles
from nystream.runtime.types import Array

__all__ = ["Chain"]


class Chain(FeatureMap):
    """z(x) = second(first(x)), for example a learned metric before the features of a kernel.

    Parameters
    ----------
    first, second : FeatureMap
        Maps that do not move. They are copied; one that was fitted is used as it stands. Landmarks of the second are
        points of the first map's space.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream import PKRR
    >>> from nystream.features import Chain, Fourier, LearnedMetric
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(1000, 8))
    >>> y = np.sin(3 * X[:, 0])
    >>> metric = LearnedMetric().fit(X[:300], y[:300])
    >>> features = Fourier(Gaussian(1.0), 100, seed=0)
    >>> with_metric, without = (PKRR(f, lam=0.1).run(X, y) for f in (Chain(metric, features), features))
    >>> bool(np.square(with_metric - y)[300:].sum() < 0.5 * np.square(without - y)[300:].sum())
    True
    """

    bounded: ClassVar[bool] = False  # as far as the two maps are

    first_: FeatureMap
    second_: FeatureMap

    def __init__(self, first: FeatureMap, second: FeatureMap) -> None:
        for name, part in (("first", first), ("second", second)):
            of_doubles(checked_map(part, name), "Chain")
        self.first = first
        self.second = second

    def start(self, d: int) -> None:
        first = fixed_map(self.first, d, "Chain")
        second = fixed_map(self.second, first.dim, "Chain")
        self.first_, self.second_, self.d_ = first, second, d

    @property
    def dim(self) -> int:
        return self.second_.dim if self.d_ else 0

    def _map(self, X: Array, out: Array) -> None:
        self.second_._map(self._between(X), out)

    def row(self, x: Array) -> Array:
        return self.second_.row(self.first_.row(x))

    def check(self, X: Array) -> None:
        self.first_.check(X)
        if not self.second_.bounded:
            self.second_.check(self._between(X))

    @property
    def penalty(self) -> Array | None:
        return self.second_.penalty

    def widen(self, d: int) -> None:
        first, second = copy.deepcopy(self.first_), copy.deepcopy(self.second_)
        first.widen(d)
        if first.dim != second.d_:
            second.widen(first.dim)
        self.first_, self.second_, self.d_ = first, second, d

    @property
    def nbytes(self) -> int:
        return self.first_.nbytes + self.second_.nbytes if self.d_ else 0

    @property
    def missed(self) -> float | None:
        """The `missed` of the second map, for its kernel on the features of the first map."""
        return self.second_.missed if self.d_ else 0.0

    def note(self, X: Array, Z: Array | None = None, weights: Array | None = None) -> None:
        self.first_.note(X, None, weights)
        if type(self.second_).note is not FeatureMap.note:  # most maps count nothing: then nothing is computed for it
            self.second_.note(self._between(np.atleast_2d(X)), Z, weights)

    def unnote(self, X: Array, weights: Array | None = None) -> None:
        self.first_.unnote(X, weights)
        if type(self.second_).unnote is not FeatureMap.unnote:
            self.second_.unnote(self._between(X), weights)

    def unnote_all(self) -> None:
        self.first_.unnote_all()
        self.second_.unnote_all()

    def pool(self, other: Self) -> None:
        self.first_.pool(other.first_)
        self.second_.pool(other.second_)

    def _between(self, X: Array) -> Array:
        Z = np.empty((len(X), self.first_.dim))
        self.first_._map(X, Z)
        return Z
