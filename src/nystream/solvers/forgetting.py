"""Least squares with exponential forgetting, whose ridge is not forgotten."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from nystream._core.inputs import RowMap
from nystream._core.linalg import fade
from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array
from nystream.solvers.awv import AWV
from nystream.solvers.base import Solver

__all__ = ["Forgetting"]

LONGEST = 32
"""Largest number of rows between refreshes if `refresh` is None."""
ROUNDING = 1e-14
"""A ridge below this share of the trace of the Gram matrix is lost in rounding."""
FAINTEST = 1e-100
"""Smallest share of the ridge that may remain while refreshes wait; below it the ridge is enlarged."""
LEAST = 1e-6
"""Smallest decay^refresh, the weight of the first row of a stretch at its end."""


class Forgetting(Solver):
    """Ridge regression in which the weight of a row is multiplied by g with every later row.

    With g = decay, after rows 1..t of weights w_s::

        A_t = lam_t I + sum_{s<=t} g^(t-s) w_s z_s z_s'        b_t = sum_{s<=t} g^(t-s) w_s y_s z_s
        p_{t+1} = b_t' A_t^-1 z_{t+1}                          lam_t = lam g^(t mod refresh)

    The ridge is restored after every `refresh` rows. Without that, as in recursive least squares with a forgetting
    factor, A would become singular in rarely seen directions. Predictions are exact for this definition and for any
    blocks. With refresh = 1, lam_t = lam in every round.

    Between refreshes A / g^(t mod refresh) only gains z z', in the one pass over its factor of `AWV` (2 r^2 flops);
    at a refresh the Gram matrix, which is kept beside it, is factored anew (r^3 / 3 + refresh r^2 flops). O(r^2)
    memory for r features. A row of weight 0 is not learnt, but past rows still decay. If a row is so large that lam
    is lost in the rounding of the sums (|z|^2 > 1e14 lam), refreshes wait until that row has faded. Predictions stay
    accurate, because the factor between refreshes is not formed from sums.

    Parameters
    ----------
    lam : float, default 0.01
        Ridge, > 0.
    decay : float, default 0.99
        g, in (0, 1]: 1/(1 - g) rows are remembered.
    refresh : int or None
        None: 32, or fewer so that lam_t >= lam/2.
    clip : float or None
        Predictions are clipped to [-clip, clip].

    References
    ----------
    Haykin. Adaptive Filter Theory, chapter on recursive least squares. Gay. Dynamically regularized fast RLS with
    application to echo cancellation. ICASSP 1996 (a ridge that is restored as it is forgotten).

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.solvers import Forgetting
    >>> solver = Forgetting(decay=0.9)
    >>> solver.start(dim=2, outputs=1)
    >>> Z = np.random.default_rng(0).normal(size=(200, 2))
    >>> Y = np.vstack([Z[:100] @ [[1.0], [1.0]], Z[100:] @ [[-3.0], [2.0]]])
    >>> P = solver.run(Z, Y)
    >>> solver.weights[:, 0].round(2).tolist()
    [-3.0, 2.0]
    """

    weighted: ClassVar[bool] = True

    ridge_: AWV
    """A and b divided by decay^filled."""
    prior_: Array | None
    """The initial matrix (dim, dim), if it is not lam I."""
    gram_: Array
    """(dim, dim) sum of decayed w z z' at the last refresh, lower triangle only."""
    right_: Array
    """(dim, K) sum of decayed w z y' at the last refresh."""
    rows_: Array
    """Features, labels and weights since then, (refresh, dim + K + 1)."""
    filled_: int
    faded_: float
    """Decay of the ridge since the last refresh that could be made."""

    def __init__(
        self, lam: float = 0.01, *, decay: float = 0.99, refresh: int | None = None, clip: float | None = None
    ) -> None:
        self.lam = positive("lam", lam)
        self.decay = positive("decay", decay)
        if decay > 1.0:
            raise ValueError(f"decay must be at most 1 (1: nothing is forgotten), got {decay!r}")
        self.refresh = None if refresh is None else at_least("refresh", refresh, 1)
        if refresh is not None and decay**refresh < LEAST:
            raise ValueError(f"decay={decay!r} loses the ridge within refresh={refresh} rows; use a smaller refresh")
        self.clip = None if clip is None else positive("clip", clip)

    def start(self, dim: int, outputs: int) -> None:
        self.ridge_ = AWV(self.lam, vovk=False, clip=self.clip)
        self.ridge_.start(dim, outputs)
        self.prior_ = None
        stretch = self._stretch
        self.gram_, self.right_ = np.zeros((dim, dim) if stretch else (0, 0)), np.zeros((dim, outputs))
        self.rows_ = np.zeros((stretch, dim + outputs + 1))
        self.filled_, self.faded_ = 0, 1.0

    def start_from(self, A: Array) -> None:
        """Restart from a positive definite A (dim, dim) in place of lam I, as `AWV.start_from`."""
        self.ridge_.start_from(A)
        self.prior_ = A.copy()

    def predict(self, Z: Array) -> Array:
        return self.ridge_.predict(Z)

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        if not len(self.rows_):
            return self.ridge_.step(z, y, weight)
        p = self.ridge_.step(z, y, weight * self.decay ** -(self.filled_ + 1.0))
        row = self.rows_[self.filled_]
        row[: len(z)], row[len(z) : -1], row[-1] = z, y, weight
        self.count(1)
        return p

    def one(self, features: RowMap, x: Any, y: Any) -> float | None:
        if not len(self.rows_):
            return self.ridge_.one(features, x, y)
        p = self.ridge_.one_kept(features, x, y, self.decay ** -(self.filled_ + 1.0), self.rows_, self.filled_)
        if p is not None:
            self.count(1)
        return p

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        if not self._stretch:
            return self.ridge_.run(Z, Y, weights)
        P = np.empty((len(Z), self.ridge_.outputs_))
        stretch, given = self._stretch, np.ones(len(Z)) if weights is None else weights
        # scalar powers: array powers may differ from those of `step` in the last bit
        scales = np.array([self.decay ** -(k + 1.0) for k in range(stretch)])
        scaled = given * scales[(self.filled_ + np.arange(len(Z))) % stretch]
        block = np.hstack([Z, Y, given[:, None]])
        row = 0
        while row < len(Z):  # up to the next refresh
            stop = min(len(Z), row + stretch - self.filled_)
            P[row:stop] = self.ridge_.run(Z[row:stop], Y[row:stop], scaled[row:stop])
            self.rows_[self.filled_ : self.filled_ + stop - row] = block[row:stop]
            self.count(stop - row)
            row = stop
        return P

    @property
    def weights(self) -> Array:
        """The weights A^-1 b (dim, K): predictions are Z @ weights. O(dim^2), computed when they are read."""
        return self.ridge_.weights

    @property
    def matrix(self) -> Array:
        """The matrix A (dim, dim)."""
        return self.ridge_.matrix * self.decay**self.filled_

    @property
    def right_side(self) -> Array:
        """The right side b (dim, K)."""
        return self.ridge_.right_side * self.decay**self.filled_

    def leverage(self, Z: Array) -> Array:
        """Return the leverage z'A^-1 z (n,)."""
        return self.ridge_.leverage(Z) / self.decay**self.filled_

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are Y @ combination (K, new). This is exact: least squares is linear in Y."""
        dim = self.ridge_.dim_
        labels = self.rows_[:, dim:-1]
        self.rows_ = np.hstack([self.rows_[:, :-1], labels @ combination, self.rows_[:, -1:]])
        self.right_ = np.hstack([self.right_, self.right_ @ combination])
        self.ridge_.add_outputs(combination)

    def grow(self, outputs: int) -> None:
        """Add outputs whose labels were 0 in every round so far."""
        self.add_outputs(np.zeros((self.ridge_.outputs_, outputs - self.ridge_.outputs_)))

    def widen(self, dim: int) -> None:
        """Append features up to `dim`, 0 in every row so far: A gains the ridge on its diagonal, b zeros."""
        old, new = self.ridge_.dim_, dim - self.ridge_.dim_
        if self.prior_ is not None:
            raise TypeError("a model with its own initial matrix has no ridge for new features")
        self.ridge_.widen(dim)
        self.gram_ = np.pad(self.gram_, (0, new)) if len(self.gram_) else self.gram_
        self.right_ = np.pad(self.right_, ((0, new), (0, 0)))
        self.rows_ = np.insert(self.rows_, [old] * new, 0.0, axis=1)

    @staticmethod
    def nbytes_for(dim: int, outputs: int, *, forgets: bool = True, prior: bool = False) -> float:
        """Return the bytes of a solver of this size: the factor, the sums for its next factor, the prior."""
        matrices = 0.6 if not forgets else 3.0 if prior else 2.0
        return 8.0 * (matrices * dim * dim + 3 * dim * outputs)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.ridge_.nbytes

    @property
    def _stretch(self) -> int:
        """Rows from one refresh to the next; 0 if nothing is forgotten."""
        if self.decay == 1.0:
            return 0
        if self.refresh is not None:
            return int(self.refresh)
        return max(1, min(LONGEST, math.floor(math.log(0.5) / math.log(self.decay))))

    def count(self, n: int) -> None:
        """Count n learnt rows. At the end of the stretch they are added to the Gram matrix, which is factored."""
        self.filled_ += n
        if self.filled_ < len(self.rows_):
            return
        fade(self.rows_, self.decay, self.gram_, self.right_)
        self.filled_ = 0
        self._refresh(self.decay ** len(self.rows_))

    def _refresh(self, kept: float) -> None:
        """Restore the ridge by a new factor, unless the ridge would be lost in the rounding of the sums."""
        A = self.gram_.copy() if self.prior_ is None else self.gram_ + self.prior_
        rounding = ROUNDING * float(np.trace(self.gram_))
        if self.prior_ is None:
            A.flat[:: len(A) + 1] += self.lam
        if (self.prior_ is not None or rounding <= self.lam) and self._factored(A):
            return
        if self.faded_ > FAINTEST:  # the present factor stays accurate: it only gained positive terms
            self.ridge_.fade(kept)
            self.faded_ *= kept
            return
        A.flat[:: len(A) + 1] += 10 * rounding
        self._factored(A)

    def _factored(self, A: Array) -> bool:
        try:
            self.ridge_.start_from(A, self.right_)
        except ValueError:
            return False
        self.faded_ = 1.0
        return True
