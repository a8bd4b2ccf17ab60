"""Optional methods of learners (abilities). Each is declared here once and raises an error unless a learner has it."""

from __future__ import annotations

import re
from typing import Any, Self

from nystream.learners.bounds import AGAINST
from nystream.registry import LEARNERS
from nystream.runtime.params import one_of
from nystream.runtime.types import Array

__all__ = ["ABILITIES", "Abilities", "Unable"]

ABILITIES = (
    "probabilities",
    "predict_interval",
    "predict_quantile",
    "std",
    "leverage",
    "averaged",
    "regret",
    "regret_bound",
    "log_det",
    "effective_dimension",
    "online_dimension",
    "merge",
    "unlearn",
    "add_outputs",
    "weights",
    "explain",
    "importance",
    "explain_row",
    "alarms",
)
"""The names of all abilities."""
GIVEN_BY = {"probabilities": "Classifier"}
"""Wrappers that add an ability to learners without it. Error messages name them too."""
MOST_NAMED = 6
"""Largest number of learners that an error message names."""
REASONS = {"merge": "its state depends on the order of the examples"}
"""The common reason why learners lack an ability."""
PHRASES = {
    "predict_interval": "has no intervals",
    "predict_quantile": "has no quantiles",
    "std": "has no standard deviations",
    "averaged": "has no mean hypothesis",
    "regret_bound": "has no bound on its regret",
    "log_det": "has no determinant",
    "effective_dimension": "has no effective dimension",
    "online_dimension": "has no online dimension",
    "merge": "cannot merge",
    "unlearn": "cannot unlearn",
    "add_outputs": "cannot add outputs",
    "weights": "has no parts with weights",
    "explain": "has no explanation",
    "importance": "has no importance of columns",
    "explain_row": "cannot explain a row",
}
"""Phrases of error messages. For other abilities: "has no" and the name."""


class Unable(TypeError):
    """The error for an ability that a learner lacks. The message names learners that have it."""


class Abilities:
    """The abilities with their signatures. Here each raises an error; a learner overrides those that it has.

    If an ability depends on parameters (such as a loss with or without probabilities), the learner overrides `why_not`
    and calls `_require` first in the method.
    """

    # -- probabilities, intervals, uncertainty -----------------------------------------------------------------------
    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        """Return probabilities (n, K) of the classes; for labels -1/+1 two columns in that order.

        `ahead`, here and below, as in `predict`: None for some later row, 1 for the next one.
        """
        raise self._unable("probabilities")

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Return the ends (n,), or (n, K) for several targets, of intervals that cover this share of future labels."""
        raise self._unable("predict_interval")

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        """Return the q-quantiles of the label, 0 < q < 1: (n,), or (n, K) for several targets.

        A list of levels adds a last axis. The ends of `predict_interval` are quantiles too.
        """
        raise self._unable("predict_quantile")

    def std(self, X: Any) -> Array:
        """Return predictive standard deviations: (n,), or (n, K) for several outputs."""
        raise self._unable("std")

    def leverage(self, X: Any) -> Array:
        """Return phi(x)' A^-1 phi(x) (n,), which is large for unusual rows."""
        raise self._unable("leverage")

    def averaged(self, X: Any) -> Array:
        """Return predictions of the mean of all hypotheses: (n,), or (n, K) for several outputs."""
        raise self._unable("averaged")

    # -- regret and diagnostics -------------------------------------------------------------------------------------
    def regret(self) -> float:
        """Return the cumulative loss minus that of the best in hindsight."""
        raise self._unable("regret")

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """Return an upper bound of the regret.

        norm2 is the squared norm of the comparator, if the bound depends on it. changes is the number of changes of
        the comparator, if the learner follows a changing one. against="features" compares with
        functions of the learner's own features or dictionary, against="kernel" with every function of the kernel's
        space; learners that keep the kernel itself give the same number for both.
        """
        raise self._unable("regret_bound")

    def log_det(self) -> float:
        """Return log det(A / lam) of the metric or Gram matrix A of the learner."""
        raise self._unable("log_det")

    def effective_dimension(self) -> float:
        """Return the effective dimension: the number of directions in which the data outweigh the ridge."""
        raise self._unable("effective_dimension")

    def online_dimension(self) -> float:
        """Return the sum over rounds of s/(1 + s), where s is the leverage of the row when it arrived."""
        raise self._unable("online_dimension")

    # -- changes of the learnt rows ---------------------------------------------------------------------------------
    def merge(self, other: Self) -> Self:
        """Become the model of both streams."""
        raise self._unable("merge")

    def unlearn(self, X: Any, Y: Any, weights: Any = None) -> Self:
        """Remove learnt rows exactly: the model becomes the one without them."""
        raise self._unable("unlearn")

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs."""
        raise self._unable("add_outputs")

    # -- explanations ---------------------------------------------------------------------------------------------
    def weights(self) -> dict[str, float]:
        """Return the shares of the parts (such as experts) in the next prediction, by name. They sum to 1."""
        raise self._unable("weights")

    def explain(self) -> str:
        """Return a few lines of text about the parts that make the predictions now."""
        raise self._unable("explain")

    def importance(self) -> dict[str, float]:
        """Return the importance of the columns, by name. The shares sum to 1."""
        raise self._unable("importance")

    def explain_row(self, row: Any) -> dict[str, float]:
        """Return the contribution of each column to the prediction for one row, by name."""
        raise self._unable("explain_row")

    def alarms(self, *, warnings: bool = False) -> list[Any]:
        """Return the drift alarms in order; with `warnings` also input shifts that the loss did not confirm."""
        raise self._unable("alarms")

    # -- queries -------------------------------------------------------------------------------------------------------
    def can(self, ability: str) -> bool:
        """Return whether this learner, with its parameters, has the ability of that name."""
        if ability not in ABILITIES:
            raise ValueError(f"no ability is called {ability!r}; there are {', '.join(ABILITIES)}")
        return self.why_not(ability) is None

    @property
    def abilities(self) -> frozenset[str]:
        """Return the names of all abilities of this learner."""
        return frozenset(name for name in ABILITIES if self.can(name))

    # -- for learners -------------------------------------------------------------------------------------------------
    @classmethod
    def _declares(cls, ability: str) -> bool:
        """Return whether learners of this class have the ability with some parameters."""
        return getattr(cls, ability) is not getattr(Abilities, ability)

    def why_not(self, ability: str) -> str | None:
        """Return why this learner lacks the ability, or None if it has it."""
        return None if self._declares(ability) else REASONS.get(ability, "the algorithm does not provide it")

    @property
    def _kind(self) -> str:
        """The name of this learner in messages."""
        return type(self).__name__

    def _norm2(self, norm2: float | None, changes: int) -> float:
        """Return norm2, or raise a ValueError if the bound needs it and it is missing."""
        self._unchanging(changes)
        if norm2 is None:
            raise ValueError(
                f"the regret bound of {self._kind} depends on the comparator: give norm2, its squared norm"
            )
        return norm2

    def _unchanging(self, changes: int) -> None:
        """Raise a ValueError for a changing comparator if the bound needs a fixed one."""
        if changes:
            raise ValueError(f"the regret bound of {self._kind} is against one comparator, got changes={changes!r}")

    def _only_own_parts(self, against: str) -> None:
        """Raise a ValueError for against="kernel" if the comparators are the parts of this learner."""
        if one_of("against", against, AGAINST) == "kernel":
            raise ValueError(
                f"the regret bound of {self._kind} is against the learners that it combines, not against functions of "
                "a kernel; ask these learners"
            )

    def _require(self, ability: str) -> None:
        """Raise an error if the parameters exclude the ability."""
        if not self.can(ability):
            raise self._unable(ability)

    def _unable(self, ability: str) -> Unable:
        own = set(re.findall(r"\w+", self._kind))
        able = [name for name in _able(ability) if name not in own]
        named = ", ".join(able[:MOST_NAMED]) + (f" and {len(able) - MOST_NAMED} more" if len(able) > MOST_NAMED else "")
        others = f"learners with `{ability}` are {named}" if able else f"no other learner has `{ability}`"
        phrase = PHRASES.get(ability, f"has no {ability}")
        return Unable(f"{self._kind} {phrase}: {self.why_not(ability)}; {others}")


def _able(ability: str) -> list[str]:
    """Return the names of the learners of the registry that have the ability: those that override its method."""
    able = {record.class_name for record in LEARNERS.values() if record.cls._declares(ability)}
    return sorted(able | ({GIVEN_BY[ability]} if ability in GIVEN_BY else set()))
