"""What every feature map shares: start, block transform, and scikit-learn's transformer verbs."""

from __future__ import annotations

import copy
import sys
from typing import Any, ClassVar, Self

import numpy as np

from nystream._core.inputs import RowMap
from nystream.data.inputs import as_block
from nystream.runtime.params import Params
from nystream.runtime.types import Array, Change

__all__ = ["FeatureMap", "Identity", "checked_map", "fixed_map", "of_doubles", "refuse_large"]

LARGEST = 1e200
"""Of a squared norm of features: products of larger ones overflow."""


class FeatureMap(Params):
    """x -> z(x) in R^dim, a finite-dimensional stand-in for a kernel's feature space.

    A map is `start`ed when the number of columns d is known. `transform` is pure. `observe` may move the map before
    the label is known; fixed maps return None there and never move.
    Subclasses give `start`, `dim` and `_map(X, out)`; `row` only where one row can be faster than a block of one.
    """

    bounded: ClassVar[bool] = True
    """Whether features of any finite row can be calculated with; if not, `check` refuses those that cannot."""

    dtype: str = "float64"
    """Of the features; a parameter where there is a choice."""

    d_: int = 0
    engine: RowMap | None = None
    """What makes the features of a row, compiled, once started; only where every finite row has features that can be
    calculated with, and no row moves the map."""

    def start(self, d: int) -> None:
        """Fix the number of columns and draw or compute what the map needs. Sets `d_`."""
        self.d_ = d

    @property
    def dim(self) -> int:
        """Number of features."""
        raise NotImplementedError

    def _map(self, X: Array, out: Array) -> None:
        """Features of clean rows X (n, d) into out (n, dim), both C-ordered."""
        raise NotImplementedError

    def transform(self, X: Any, out: Array | None = None) -> Array:
        """(n, d) -> (n, dim). `out`, if given, is a C-ordered (n, dim) array to write into."""
        self._check_started()
        X = as_block(X, self.d_)
        if out is None:
            out = np.empty((len(X), self.dim), dtype=self.dtype)
        self._map(X, out)
        return out

    def _check_started(self) -> None:
        if not self.d_:
            raise ValueError(
                f"this {type(self).__name__} has seen no data yet; call fit, partial_fit or start(d) first"
            )

    def row(self, x: Array) -> Array:
        """Features of one clean row, (dim,)."""
        z = np.empty((1, self.dim), dtype=self.dtype)
        self._map(x[None], z)
        return z[0]

    def observe(self, x: Array) -> Change | None:
        """See x before its label: move the map if it is one that moves."""
        return None

    def growth(self, X: Array, Z: Array) -> Array | None:
        """The square of the coordinate that `observe` would append for each row if it came next, (n,). Changes nothing.

        Z (n, dim) are the features of X now; 0 stands for a row that would append nothing. None: no row would.
        """
        return None

    @property
    def settled(self) -> bool:
        """Whether the map will never move again: then whole blocks go through it at once."""
        return True

    def check(self, X: Array) -> None:
        """Refuse a clean block (n, d) before any of it is learnt, where its features cannot be calculated with."""

    @property
    def penalty(self) -> Array | None:
        """P (dim, dim), if the squared norm of a function w of the features is w'Pw; None: it is |w|^2."""
        return None

    @property
    def missed(self) -> float | None:
        """Sum over the rows learnt from of k(x, x) - |z(x)|^2, times their weights: what the features miss of them.

        It is known only of features that are coordinates of P phi(x), with P a projection in the space of `kernel`.
        None elsewhere: random features, for example, are no part of that space.
        """
        return None

    def note(self, X: Array, Z: Array | None = None, weights: Array | None = None) -> None:
        """Count what the map misses of a clean row (d,) or block (n, d) that was learnt from. Changes no feature.

        Z are the features of these rows, if the caller has them; weights (n,) default to 1.
        """

    def unnote(self, X: Array, weights: Array | None = None) -> None:
        """Take a block (n, d) that was unlearnt out of the count."""

    def unnote_all(self) -> None:
        """Begin the count anew: a learner starts on this map, and rows that the map was fitted on are not its rows."""

    def pool(self, other: Self) -> None:
        """The rows noted by `other`, a map with the same features, count here too."""

    def widen(self, d: int) -> None:
        """Rows have d columns from now on, the new ones 0 in every row so far, whose features stay as they were."""
        raise TypeError(f"{type(self).__name__} cannot take more columns once it has started; declare them beforehand")

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the map holds."""
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))

    # scikit-learn's transformer verbs
    def fit(self, X: Any, y: Any = None) -> Self:
        """Start anew on X, at least one row, and observe its rows. X that is refused leaves the map as it was."""
        X = as_block(X)
        if not len(X):
            raise ValueError("X has 0 rows; fit needs at least one")
        before = dict(self.__dict__)
        for name in list(self._state()):
            delattr(self, name)
        try:
            return self.partial_fit(X, y)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Observe more rows; the first call fixes the number of columns."""
        X = as_block(X, self.d_ or None)
        if not self.d_:
            self.start(X.shape[1])
        for x in X:
            self.observe(x)
        self.note(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """fit(X), then transform(X)."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """fourier0, fourier1, ...: the class and the number of the feature."""
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(self.dim)], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows, once they are known."""
        if not self.d_:
            raise AttributeError(f"this {type(self).__name__} has seen no data yet")
        return self.d_

    def _as_parameter(self) -> Self:
        """With what it was fitted on: a fitted map that is given to a learner is used as it stands."""
        return copy.deepcopy(self)

    def __sklearn_tags__(self) -> Any:
        """Asked for by scikit-learn alone, which is therefore loaded already: the core does not depend on it."""
        sk = sys.modules["sklearn.utils"]
        return sk.Tags(
            estimator_type=None,
            target_tags=sk.TargetTags(required=False),
            transformer_tags=sk.TransformerTags(),
            input_tags=sk.InputTags(),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return bool(self.d_)


class Identity(FeatureMap):
    """z(x) = x: a linear model."""

    bounded: ClassVar[bool] = False

    @property
    def missed(self) -> float | None:
        return 0.0  # these are the features of the linear kernel itself

    @property
    def dim(self) -> int:
        return self.d_

    def check(self, X: Array) -> None:
        refuse_large(np.einsum("ij,ij->i", X, X), "|x|^2", "scale the inputs")

    def _map(self, X: Array, out: Array) -> None:
        out[:] = X


def checked_map(features: Any, name: str = "features") -> FeatureMap:
    """Return the map itself, or raise a ValueError that names the argument."""
    if not isinstance(features, FeatureMap):
        raise ValueError(f"{name} must be a feature map, e.g. Fourier(Gaussian(1.0), 200); got {features!r}")
    return features


def fixed_map(features: FeatureMap, d: int, who: str) -> FeatureMap:
    """Return a copy of a map, started on d columns; a ValueError where it would still take points from the stream."""
    twin = features._as_parameter()
    if not twin.d_:
        twin.start(d)
    elif twin.d_ != d:
        raise ValueError(f"rows have {d} columns here, but {twin!r} was fitted on {twin.d_}")
    if not twin.dim or not twin.settled:
        raise ValueError(
            f"{who} needs a map that does not move, but {twin!r} still takes points from the stream; fit it on a "
            "warm-up sample first or give it the landmarks"
        )
    return twin


def of_doubles(features: FeatureMap, who: str) -> FeatureMap:
    """The map itself, or a ValueError where its features are of single precision."""
    if features.dtype != "float64":
        raise ValueError(f"{who} works on float64 features, but {features!r} has dtype={features.dtype!r}")
    return features


def refuse_large(norms: Array, what: str, remedy: str) -> None:
    """Refuse rows whose features have squared norms (n,) that are not numbers, or too large to calculate with."""
    bad = ~(norms <= LARGEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{what} is {norms[row]:g} at row {row}, which cannot be calculated with; {remedy}")
