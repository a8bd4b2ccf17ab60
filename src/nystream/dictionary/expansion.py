"""A function in the kernel's space: stored points and coefficients, with K outputs."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.terms import Terms
from nystream.kernels.base import Kernel
from nystream.runtime.params import Params, at_least, one_of
from nystream.runtime.types import DTYPES, Array

__all__ = ["Expansion"]


class Expansion(Params):
    """f = S sum_i a_i k(x_i, .), with one lazy scale S, so that shrinking all coefficients costs O(1).

    S is multiplied into the a_i when it falls below 1e-100. Slots have no order in time: `remove` moves the last entry
    into the hole, and `birth` tells when each was stored. The mean of the hypotheses that made predictions (one per
    `begin`) is kept lazily too: the sum of coefficient i over the rounds is a_i cum + past_i with cum the sum of S;
    it loses no more than four digits because cum is settled into past_i whenever it exceeds 1e4 S.

    A block of inputs is opened once: its kernel rows against the stored points come from one product, and every later
    `append`, `replace` or `remove` corrects them for the rows to come, so that a block gives what single rows give::

        f.open(X)
        for j in range(len(X)):
            k = f.begin(j)                      # (m,) kernel row of X[j], a window, no copy
            p = f.scores(k)                     # (K,)
            f.decay(0.99)
            f.append(X[j], alpha, birth=t + j)
        f.close()

    Compiled loops take `f.terms` (`_core.expansions.expansion.Terms`) and do the same without the interpreter.

    Parameters
    ----------
    kernel : Kernel
    limit : int, optional
        Largest number of points, if the caller enforces it (blocks then reserve no more memory).
    dtype : {"float64", "float32"}
        Type of the stored points. In single precision, kernel values have it too. Coefficients, scores and sums are
        always float64.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import Expansion
    >>> from nystream.kernels import Gaussian
    >>> f = Expansion(Gaussian(1.0))
    >>> f.start(d=2, outputs=1)
    >>> f.append(np.zeros(2), np.array([2.0]), birth=1)
    >>> f.decay(0.5)
    >>> f.predict(np.zeros((1, 2))).tolist(), f.coef.tolist()
    ([[1.0]], [[1.0]])
    """

    def __init__(self, kernel: Kernel, *, limit: int | None = None, dtype: str = "float64") -> None:
        self.kernel = kernel
        self.limit = None if limit is None else at_least("limit", limit, 1)
        self.dtype = one_of("dtype", dtype, DTYPES)

    def start(self, d: int, outputs: int = 1) -> None:
        """Start without points, for rows of d columns and K = `outputs` scores."""
        self._terms = Terms(self.kernel, d, outputs, self.dtype == "float32")

    @property
    def terms(self) -> Terms:
        """The compiled object, for compiled loops."""
        return self._terms

    # -- contents ------------------------------------------------------------------------------------------------------
    @property
    def n(self) -> int:
        """Stored points, m below."""
        return self._terms.n

    @property
    def outputs(self) -> int:
        """K, the number of coefficients of a point."""
        return self._terms.K

    @property
    def points(self) -> Array:
        """(m, d) view of the stored rows, valid until the next change."""
        return self._terms.points

    @property
    def coef(self) -> Array:
        """(m, K) coefficients with the scale, a copy."""
        return self._terms.coef

    @property
    def averaged_coef(self) -> Array:
        """(m, K) mean of the coefficients over the rounds, a copy."""
        return self._terms.averaged_coef

    @property
    def birth(self) -> npt.NDArray[np.int64]:
        """(m,) round in which each point was stored, a view."""
        return self._terms.birth

    @property
    def own(self) -> Array:
        """(m,) k(x_i, x_i), a view."""
        return self._terms.own

    @property
    def scale(self) -> float:
        """S. Stored coefficients a_i = coef_i / S."""
        return self._terms.scale

    @property
    def cum(self) -> float:
        """The sum of S over the rounds since sums were last settled."""
        return self._terms.cum

    @property
    def rounds(self) -> int:
        """Number of hypotheses in the mean."""
        return self._terms.rounds

    @property
    def nbytes(self) -> int:
        """Bytes reserved."""
        return self._terms.nbytes

    def __len__(self) -> int:
        return self._terms.n

    # -- values --------------------------------------------------------------------------------------------------------
    def predict(self, X: Array) -> Array:
        """Return the values (n, K) at rows (n, d), without any change."""
        return self._terms.predict(X)

    def averaged(self, X: Array) -> Array:
        """Return values (n, K) at rows (n, d) of the mean hypothesis, restricted to the present points."""
        return self._terms.predict(X, self.averaged_coef)

    def scores(self, k: Array) -> Array:
        """Return the values (K,) for the kernel row k (m,) of one input."""
        return self._terms.values(k)

    # -- a block of inputs ---------------------------------------------------------------------------------------------
    def open(self, X: Array) -> None:
        """Compute the kernel rows of a block X (n, d), which is kept until `close`. At most len(X) points are added."""
        self._terms.open_block(X, sys.maxsize if self.limit is None else self.limit + 1)

    def begin(self, j: int) -> Array:
        """Begin the round of row j of the open block and return its kernel row (m,). j increases."""
        return self._terms.begin_round(j)

    @property
    def row(self) -> Array:
        """Return the kernel row (m,) of the present round for the present points."""
        return self._terms.kernel_row()

    @property
    def kxx(self) -> float:
        """k(x, x) of the present round's row."""
        return self._terms.own_value()

    def close(self) -> None:
        """Free the rows of the block."""
        self._terms.close_block()

    # -- changes -------------------------------------------------------------------------------------------------------
    def decay(self, factor: float) -> None:
        """Multiply all coefficients by factor > 0. O(1)."""
        self._terms.shrink(factor)

    def append(self, x: Array, alpha: Array, birth: int, own: float | None = None) -> None:
        """Store x (d,) with coefficients alpha (K,), after all decay so far. `own` is k(x, x), if known."""
        self._terms.store(x, alpha, self._own(x) if own is None else own, birth)

    def replace(self, i: int, x: Array, alpha: Array, birth: int, own: float | None = None) -> None:
        """Replace entry i by (x, alpha)."""
        self._terms.replace(i, x, alpha, self._own(x) if own is None else own, birth)

    def remove(self, i: int) -> None:
        """Remove entry i; the last entry takes its slot. O(d + K), plus O(remaining rows) of an open block."""
        self._terms.forget(i)

    def add(self, alpha: Array) -> None:
        """Add alpha (m, K) to the coefficients."""
        self._terms.add(alpha)

    def grow(self, outputs: int) -> None:
        """Add outputs with coefficients 0."""
        self._terms.reshape(self._terms.d, outputs)

    def widen(self, d: int) -> None:
        """Add columns of zeros to the stored points."""
        self._terms.reshape(d, self._terms.K)

    def _own(self, x: Array) -> float:
        return float(self._terms.owns(x[None])[0])

    def _state(self) -> dict[str, Any]:
        return self._terms.state() if "_terms" in self.__dict__ else {}

    def _restore(self, state: dict[str, Any]) -> None:
        if state:
            self.start(state["points_"].shape[1], len(state["coef_"]))
            self._terms.restore(state)
