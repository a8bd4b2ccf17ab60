"""Budgets of an expansion: rules that remove a point when the budget is exceeded."""

from __future__ import annotations

from typing import Any

from nystream._core.terms import Eviction
from nystream.dictionary.expansion import Expansion
from nystream.kernels.gaussian import Gaussian
from nystream.runtime.params import Params, at_least, one_of
from nystream.runtime.types import Array

__all__ = ["DROPS", "Budget", "plain_removal"]

DROPS = ("smallest", "oldest", "contribution", "project", "merge")
"""The rules of SILK. "age" (terms live `size` rounds) is the rule of NORMA."""


class Budget(Params):
    """A limit of `size` points in an expansion. If it is full, a new point removes exactly one entry.

    An entry's size is its largest absolute coefficient (over the outputs), after all decay. The rules:

    smallest
        Removes the entry of smallest size, the new one included; of equals the oldest. O(m).
    oldest
        First in, first out. O(m).
    contribution
        Smallest size times sqrt(k(x, x)), the norm of the term; the same as "smallest" where k(x, x) is constant. O(m).
    project
        As "smallest", and the dropped entry r is projected on the others: they get alpha_r c with
        (K + ridge) c = k_r, the projection of k(x_r, .) on their span. A Cholesky factor of the Gram matrix is
        kept: O(m^2) time per drop and memory; ridge 1e-10 k(x, x).
    merge
        Gaussian kernel only. The smallest entry i and a partner j become one point z = h x_i + (1 - h) x_j with
        coefficient alpha_i k^((1-h)^2) + alpha_j k^(h^2), k = k(x_i, x_j), where h maximises its absolute value
        (golden section to 1e-6) and j is the partner that loses least in the kernel's norm. Partners have a
        coefficient of the same sign; with several outputs, a coefficient vector at no more than a right angle. An
        entry without a partner is removed. O(m d + m log(1/precision)).
    age
        Terms live `size` rounds, whether or not the rounds stored anything.

    Removal is weak if every stored point matters. "project" and "merge" cost more and lose less.

    Parameters
    ----------
    size : int or None
        Largest number of points; None keeps all.
    drop : str
        The rule.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import Budget, Expansion
    >>> from nystream.kernels import Gaussian
    >>> f, budget = Expansion(Gaussian(1.0)), Budget(2, "smallest")
    >>> f.start(d=1)
    >>> budget.start(f)
    >>> X = np.array([[0.0], [3.0], [6.0]])
    >>> f.open(X)
    >>> for j, alpha in enumerate([0.5, -0.1, 0.3]):
    ...     k = f.begin(j)
    ...     budget.admit(np.array([alpha]), birth=j)
    >>> f.coef.ravel().tolist(), f.points.ravel().tolist()
    ([0.5, 0.3], [0.0, 6.0])
    """

    def __init__(self, size: int | None, drop: str = "smallest") -> None:
        self.size = None if size is None else at_least("budget", size, 1)
        self.drop = one_of("drop", drop, (*DROPS, "age"))
        self._saved: dict[str, Any] = {}

    def start(self, f: Expansion) -> None:
        """Attach the budget to an expansion (started, or restored together with this budget)."""
        if self.size is not None and self.drop == "merge" and type(f.kernel) is not Gaussian:
            raise ValueError(f"drop='merge' needs a Gaussian kernel, got {f.kernel!r}; use drop='project'")
        self._f = f
        self._eviction = Eviction(f.terms, "none" if self.size is None else self.drop, self.size or 0)
        if self._saved:
            self._eviction.restore(self._saved)
        else:
            self._eviction.refactor()
        self._saved = {}

    @property
    def eviction(self) -> Eviction:
        """The compiled object, for compiled loops."""
        return self._eviction

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self._eviction.nbytes if "_eviction" in self.__dict__ else 0

    def admit(self, alpha: Array, birth: int, own: float | None = None) -> None:
        """Store the present row of the open block with coefficients alpha (K,), which are not all 0."""
        self._eviction.enter(alpha, self._f.kxx if own is None else own, birth)

    def _state(self) -> dict[str, Any]:
        return self._eviction.state() if "_eviction" in self.__dict__ else dict(self._saved)

    def _restore(self, state: dict[str, Any]) -> None:
        self._saved = state


def plain_removal(name: str, rule: str, dtype: str) -> None:
    """Raise a ValueError if points in single precision would be projected or merged, which amplifies rounding."""
    if dtype == "float32" and rule in ("project", "merge"):
        raise ValueError(f"{name}={rule!r} needs dtype='float64': single precision is for rules that remove points")
