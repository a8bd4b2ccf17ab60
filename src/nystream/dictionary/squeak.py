"""SQUEAK and DISQUEAK: dictionaries of a stream, or of its parts, that are thinned by ridge leverage scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nystream.data.inputs import as_block
from nystream.dictionary.gram_factor import GramFactor
from nystream.kernels.base import Kernel, checked_kernel
from nystream.runtime.params import Params, at_least, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.threads import run_parallel
from nystream.runtime.types import Array, Seed

__all__ = ["SQUEAK", "disqueak", "merge_tree", "theory_copies"]


class SQUEAK(Params):
    """A weighted dictionary of the rows so far, whose size follows their effective dimension.

    Every row enters with `copies` copies, each kept with probability p = 1 so far, and weight 1. After every `block`
    rows the copies are thinned by the leverage scores of the atoms, given all atoms with their weights w::

        tau_i = (1 - eps) phi_i' (sum_j w_j phi_j phi_j' + ridge I)^-1 phi_i
        p_i' = min(p_i, tau_i),     copies_i ~ Binomial(copies_i, p_i'/p_i),     w_i = copies_i/(copies p_i')

    Atoms without copies go. sum_i w_i phi_i phi_i' is an unbiased estimate of that of all rows. With
    `theory_copies(n, delta, eps)` copies it is within 1 +- eps of it, ridge included, with probability 1 - delta, and
    there are at most 3 copies d_eff atoms. `merge` (DISQUEAK) makes the dictionary of several streams from theirs, with
    the same guarantee in any tree of merges; `disqueak` builds the parts side by side. O(m^3) a block and a merge for m
    atoms, however long the streams are. `nystream.Nystrom(kernel, dictionary.points)` is the feature map.

    `KORS` decides once about each row and never looks back: cheaper, and larger (online dimension).

    Parameters
    ----------
    kernel : Kernel
    ridge : float
        gamma of the paper, > 0: directions with less than this in all rows are not kept.
    eps : float, default 0.5
        Accuracy, in (0, 1).
    copies : int, default 8
        q of the paper; accuracy is about sqrt(1/copies) for the useful values of 4 to 30.
    block : int, default 64
        Rows that enter before atoms are thinned; 1 in the paper.
    seed : int, Generator or None

    Deviations from the paper: rows enter in blocks, which changes no guarantee (a block is a merge of single rows). The
    constants of the guarantee are given from memory.

    References
    ----------
    Calandriello, Lazaric, Valko. Distributed Adaptive Sampling for Kernel Matrix Approximation. AISTATS 2017,
    arXiv:1803.10172.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import SQUEAK
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, (4000, 1))
    >>> left, right = (SQUEAK(Gaussian(0.5), 1.0, seed=i).partial_fit(part) for i, part in enumerate(np.split(X, 2)))
    >>> both = left.merge(right)
    >>> both.n < 120, both.n_seen
    (True, 4000)
    """

    points_: Array
    odds_: Array
    copies_: npt.NDArray[np.int64]
    rng_: np.random.Generator
    d_: int = 0
    n_seen_: int = 0

    def __init__(
        self,
        kernel: Kernel,
        ridge: float,
        *,
        eps: float = 0.5,
        copies: int = 8,
        block: int = 64,
        seed: Seed = None,
    ) -> None:
        self.kernel = checked_kernel(kernel)
        self.ridge = positive("ridge", ridge)
        self.eps = positive("eps", eps, below=1.0)
        self.copies = at_least("copies", copies, 1)
        self.block = at_least("block", block, 1)
        self.seed = checked_seed(seed)

    def start(self, d: int) -> None:
        """Begin with no atom, for rows of d columns."""
        self.points_, self.odds_, self.copies_ = np.zeros((0, d)), np.zeros(0), np.zeros(0, dtype=np.int64)
        self.rng_ = generator(self.seed)
        self.d_, self.n_seen_ = d, 0

    @property
    def n(self) -> int:
        """Atoms."""
        return len(self.points_) if self.d_ else 0

    @property
    def n_seen(self) -> int:
        """Rows that the dictionary stands for."""
        return self.n_seen_

    @property
    def points(self) -> Array:
        """(n, d) the atoms."""
        self._check_started()
        return self.points_

    @property
    def weights(self) -> Array:
        """(n,) how many rows each atom stands for: copies_i/(copies p_i)."""
        self._check_started()
        return np.asarray(self.copies_ / (self.copies * self.odds_))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.points_.nbytes + self.odds_.nbytes + self.copies_.nbytes if self.d_ else 0

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take in more rows; the first call fixes the number of columns."""
        X = as_block(X, self.d_ or None)
        if not self.d_:
            self.start(X.shape[1])
        for i in range(0, len(X), self.block):
            rows = X[i : i + self.block]
            self._take(rows, np.ones(len(rows)), np.full(len(rows), self.copies))
            self._thin(1.0)
            self.n_seen_ += len(rows)
        return self

    def merge(self, *others: Self) -> Self:
        """Become the dictionary of all these streams (DISQUEAK): the union of the atoms, thinned.

        Parameters must be equal, seeds aside. The scores count the ridge 1 + eps times, because each dictionary may be
        wrong by eps. Merge in a balanced tree: O(n^3) for n atoms in all.
        """
        for other in others:
            if other._key() != self._key():
                raise ValueError(f"merge needs dictionaries with equal parameters; got {self!r} and {other!r}")
            if not other.d_:
                raise ValueError(f"merge needs dictionaries that have seen rows; {other!r} has not")
            if self.d_ and other.d_ != self.d_:
                raise ValueError(f"merge needs equal columns; got {self.d_} and {other.d_}")
        if others and not self.d_:
            self.start(others[0].d_)
        for other in others:
            self._take(other.points_, other.odds_, other.copies_)
            self.n_seen_ += other.n_seen_
        if self.d_:
            self._thin(1 + self.eps)
        return self

    def leverage(self, X: Any) -> Array:
        """Return (n,) phi(x)' (sum w phi phi' + ridge I)^-1 phi(x): how little the atoms say about a row."""
        self._check_started()
        return self._factor(1.0).leverage(as_block(X, self.d_))

    def effective_dimension(self) -> float:
        """Estimate of tr K (K + ridge I)^-1 over the rows so far. O(n^3)."""
        return self._factor(1.0).effective_dimension if self.n else 0.0

    def _key(self) -> dict[str, Any]:
        """Return the parameters that must agree in dictionaries that merge."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in ("seed", "block")}

    def _take(self, X: Array, odds: Array, copies: npt.NDArray[np.int64]) -> None:
        self.points_ = np.vstack([self.points_, X])
        self.odds_ = np.append(self.odds_, odds)
        self.copies_ = np.append(self.copies_, copies)

    def _factor(self, inflation: float) -> GramFactor:
        factor = GramFactor(self.kernel, inflation * self.ridge)
        factor.start(self.d_)
        if self.n:
            factor.extend(self.points_, np.sqrt(self.weights))
        return factor

    def _thin(self, inflation: float) -> None:
        """Lower the probabilities to the scores, with `inflation` times the ridge inside; atoms may go."""
        if not self.n:
            return
        # own_leverage has the weight of the atom and the ridge inside: the score has neither
        scores = (1 - self.eps) * inflation * self._factor(inflation).own_leverage / self.weights
        odds = np.minimum(self.odds_, np.maximum(scores, np.finfo(float).tiny))
        copies = self.rng_.binomial(self.copies_, np.minimum(odds / self.odds_, 1.0))
        stay = copies > 0
        self.points_, self.odds_, self.copies_ = self.points_[stay], odds[stay], copies[stay]

    def _check_started(self) -> None:
        if not self.d_:
            raise ValueError("this SQUEAK has seen no rows yet; call partial_fit first")


def disqueak(X: Any, parts: int, pattern: SQUEAK) -> SQUEAK:
    """Build the dictionaries of `parts` parts of X side by side in threads, and merge them in a balanced tree.

    `pattern` has the parameters, with an int as its seed or None; part i draws from the generator of (seed, i), so that
    the result does not depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import SQUEAK, disqueak
    >>> from nystream.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-1, 1, (4000, 1))
    >>> dictionary = disqueak(X, 8, SQUEAK(Gaussian(0.5), 1.0, seed=0))
    >>> dictionary.n < 120, dictionary.n_seen
    (True, 4000)
    """
    X = as_block(X)
    if at_least("parts", parts, 1) > max(len(X), 1):
        raise ValueError(f"parts must be at most the number of rows, {len(X)}; got {parts!r}")
    if isinstance(pattern.seed, np.random.Generator):
        raise ValueError("disqueak needs a pattern whose seed is an int or None: parts draw side by side")
    seed = pattern.seed if pattern.seed is not None else int(np.random.default_rng().integers(2**63))
    makers = [partial(_of_part, pattern, rows, [seed, i]) for i, rows in enumerate(np.array_split(X, parts))]
    return merge_tree(run_parallel(makers))


def merge_tree(dictionaries: Sequence[SQUEAK]) -> SQUEAK:
    """Merge dictionaries by pairs, then the results by pairs, and so on; the first one becomes the whole."""
    left = list(dictionaries)
    while len(left) > 1:
        pairs = list(zip(left[::2], left[1::2], strict=False))
        left = run_parallel([partial(one.merge, other) for one, other in pairs]) + left[2 * len(pairs) :]
    return left[0]


def _of_part(pattern: SQUEAK, rows: Array, seed: list[int]) -> SQUEAK:
    part = pattern.clone()
    part.start(rows.shape[1])
    part.rng_ = np.random.default_rng(seed)
    return part.partial_fit(np.ascontiguousarray(rows))


def theory_copies(n: int, delta: float, eps: float = 0.5) -> int:
    """Return the copies of the paper's guarantee for n rows: 39 (1 + eps)/(1 - eps) log(2 n/delta)/eps^2."""
    eps = positive("eps", eps, below=1.0)
    logs = math.log(2 * at_least("n", n, 1) / positive("delta", delta, below=1.0))
    return math.ceil(39 * (1 + eps) / (1 - eps) * logs / eps**2)
