"""The base class of feature maps, with the methods of scikit-learn's transformers."""

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
"""Largest squared norm of features. Products of larger ones overflow."""


class FeatureMap(Params):
    """A map x -> z(x) in R^dim that approximates a kernel's feature space.

    A map is `start`ed when the number of columns d is known. `transform` changes nothing. `observe` may move the map
    before the label is known; for a fixed map it returns None. Subclasses define `start`, `dim` and `_map(X, out)`, and
    `row` if one row can be faster than a block of one.
    """

    bounded: ClassVar[bool] = True
    """Whether all finite rows have usable features. If not, `check` raises an error for the others."""

    appends: ClassVar[bool] = False
    """Whether a map that moves only appends coordinates, which count as 0 in all rows before."""

    dtype: str = "float64"
    """Number type of the features; a parameter if there is a choice."""

    d_: int = 0
    engine: RowMap | None = None
    """Compiled code for the features of a row, after the start. Only for maps that never move and whose features are
    usable for every finite row."""

    def start(self, d: int) -> None:
        """Set the number of columns `d_`, and draw or compute the constants of the map."""
        self.d_ = d

    @property
    def dim(self) -> int:
        """Number of features."""
        raise NotImplementedError

    def _map(self, X: Array, out: Array) -> None:
        """Write the features of clean rows X (n, d) to out (n, dim), both C-ordered."""
        raise NotImplementedError

    def transform(self, X: Any, out: Array | None = None) -> Array:
        """Return features (n, dim) of rows (n, d), in the C-ordered array `out` if given."""
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
        """Return the features (dim,) of one clean row."""
        z = np.empty((1, self.dim), dtype=self.dtype)
        self._map(x[None], z)
        return z[0]

    def observe(self, x: Array) -> Change | None:
        """Process x before its label is known. Return the change of the map, or None."""
        return None

    def growth(self, X: Array, Z: Array) -> Array | None:
        """Return the squares (n,) of the coordinates that `observe` would append for each row as the next one.

        Z (n, dim) are the present features of X. 0 means that a row would append nothing, None that no row would.
        """
        return None

    @property
    def settled(self) -> bool:
        """Whether the map will never move again, so that whole blocks can be transformed at once."""
        return True

    def check(self, X: Array) -> None:
        """Raise an error, before anything is learnt, if features of a clean block (n, d) are too large."""

    @property
    def penalty(self) -> Array | None:
        """The matrix P (dim, dim) if the squared norm of a function w is w'Pw; None if it is |w|^2."""
        return None

    @property
    def missed(self) -> float | None:
        """The weighted sum of k(x, x) - |z(x)|^2, the part outside the features, over the learnt rows.

        It is known only if the features are coordinates of P phi(x), with a projection P in the space of `kernel`.
        Otherwise it is None, for example for random features.
        """
        return None

    def note(self, X: Array, Z: Array | None = None, weights: Array | None = None) -> None:
        """Add a learnt row (d,) or block (n, d) to `missed`. Features do not change.

        Z are the features of these rows, if known; weights (n,) default to 1.
        """

    def unnote(self, X: Array, weights: Array | None = None) -> None:
        """Remove an unlearnt block (n, d) from `missed`."""

    def unnote_all(self) -> None:
        """Set `missed` to 0, because a learner starts on this map and has learnt no rows."""

    def pool(self, other: Self) -> None:
        """Add the `missed` of `other`, a map with the same features."""

    def widen(self, d: int) -> None:
        """Add columns that were 0 in every row so far, up to d. Features of past rows do not change."""
        raise TypeError(f"{type(self).__name__} cannot take more columns once it has started; declare them beforehand")

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the map holds."""
        return sum(v.nbytes for v in self._state().values() if isinstance(v, np.ndarray))

    # methods of scikit-learn's transformers
    def fit(self, X: Any, y: Any = None) -> Self:
        """Restart on X (at least one row) and observe its rows. If X is invalid, the map is not changed."""
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
        """Do fit(X), then return transform(X)."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return names such as fourier0, fourier1, ...: class and number of the feature."""
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(self.dim)], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows, once they are known."""
        if not self.d_:
            raise AttributeError(f"this {type(self).__name__} has seen no data yet")
        return self.d_

    def _as_parameter(self) -> Self:
        """Return a copy with its state: a fitted map that is given to a learner stays fitted."""
        return copy.deepcopy(self)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags. Only scikit-learn calls this, so it is loaded already."""
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
    """Return a copy of a map, started on d columns. Raise a ValueError if it still takes points from the stream."""
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
    """Return the map itself. Raise a ValueError if its features are in single precision."""
    if features.dtype != "float64":
        raise ValueError(f"{who} works on float64 features, but {features!r} has dtype={features.dtype!r}")
    return features


def refuse_large(norms: Array, what: str, remedy: str) -> None:
    """Raise an error for rows whose features have squared norms (n,) that are not numbers, or too large to calculate
    with.
    """
    bad = ~(norms <= LARGEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{what} is {norms[row]:g} at row {row}, which cannot be calculated with; {remedy}")
