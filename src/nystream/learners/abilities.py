"""What a learner may be able to do beside predicting: every ability declared once, refused unless a learner has it."""

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
"""Wrappers that give an ability to learners without it; a refusal names them too."""
MOST_NAMED = 6
"""Learners that a refusal names."""
REASONS = {"merge": "its state depends on the order of the examples"}
"""Why most learners lack an ability, where that can be said of all of them."""
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
"""What a refusal says; of other abilities "has no" and their name."""


class Unable(TypeError):
    """A learner was asked for what it cannot do; the message says which learners can."""


class Abilities:
    """The abilities, with one signature each. Here all of them are refused; a learner overrides those that it has.

    Where parameters decide (a mean that is kept or not, a loss with or without probabilities), the learner says so in
    `why_not`, and begins the method with `_require`.
    """

    # -- probabilities, intervals, uncertainty -----------------------------------------------------------------------
    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        """(n, K) probabilities of the classes, rows summing to 1; of labels -1/+1 the two columns in that order.

        `ahead`, here and below, as in `predict`: None for some later row, 1 for the next one.
        """
        raise self._unable("probabilities")

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Ends (n,), or (n, K) for several targets, of intervals that cover this share of the labels to come."""
        raise self._unable("predict_interval")

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        """(n,), or (n, K) for several targets: what a share q of the labels at x are below, 0 < q < 1.

        With a list of levels one more axis, the last. The ends of `predict_interval` are quantiles too.
        """
        raise self._unable("predict_quantile")

    def std(self, X: Any) -> Array:
        """(n,), or (n, K) for several outputs: predictive standard deviations."""
        raise self._unable("std")

    def leverage(self, X: Any) -> Array:
        """(n,) phi(x)' A^-1 phi(x): large where nothing like x was seen."""
        raise self._unable("leverage")

    def averaged(self, X: Any) -> Array:
        """Predictions of the mean of all hypotheses so far: (n,), or (n, K) for several outputs."""
        raise self._unable("averaged")

    # -- what was promised and what was delivered --------------------------------------------------------------------
    def regret(self) -> float:
        """Cumulative loss minus that of the best in hindsight."""
        raise self._unable("regret")

    def regret_bound(self, norm2: float | None = None, *, changes: int = 0, against: str = "features") -> float:
        """What the regret cannot exceed.

        norm2 is the squared norm of the function that is compared with, where the bound depends on it; changes is how
        often the comparator may change, where the learner follows one that does. against="features" compares with
        functions of the learner's own features or dictionary, against="kernel" with every function of the kernel's
        space; learners that keep the kernel itself give the same number for both.
        """
        raise self._unable("regret_bound")

    def log_det(self) -> float:
        """log det(A / lam) of the metric or Gram matrix A that the learner keeps."""
        raise self._unable("log_det")

    def effective_dimension(self) -> float:
        """How many directions the data really has at this ridge."""
        raise self._unable("effective_dimension")

    def online_dimension(self) -> float:
        """Sum over rounds of s/(1 + s), s the leverage of the example when it arrived."""
        raise self._unable("online_dimension")

    # -- examples put together, taken out ----------------------------------------------------------------------------
    def merge(self, other: Self) -> Self:
        """Become the model of both streams."""
        raise self._unable("merge")

    def unlearn(self, X: Any, Y: Any, weights: Any = None) -> Self:
        """Forget examples that were learnt, exactly: the model becomes what it would be without them."""
        raise self._unable("unlearn")

    def add_outputs(self, combination: Array) -> None:
        """New outputs whose labels so far are the combinations (K, new) of the present outputs' labels."""
        raise self._unable("add_outputs")

    # -- what carries the predictions --------------------------------------------------------------------------------
    def weights(self) -> dict[str, float]:
        """Shares of the parts, experts say, in the next prediction, by name; they sum to 1."""
        raise self._unable("weights")

    def explain(self) -> str:
        """What carries the predictions now, and why: a few lines of text."""
        raise self._unable("explain")

    def importance(self) -> dict[str, float]:
        """Shares of the columns in what the predictions depend on, by name; they sum to 1."""
        raise self._unable("importance")

    def explain_row(self, row: Any) -> dict[str, float]:
        """What each column contributes to the prediction for one row, by name."""
        raise self._unable("explain_row")

    def alarms(self, *, warnings: bool = False) -> list[Any]:
        """Drift alarms, in order; with `warnings` also input shifts that the loss did not confirm."""
        raise self._unable("alarms")

    # -- asking --------------------------------------------------------------------------------------------------------
    def can(self, ability: str) -> bool:
        """Whether this learner, with its parameters, has the ability of that name."""
        if ability not in ABILITIES:
            raise ValueError(f"no ability is called {ability!r}; there are {', '.join(ABILITIES)}")
        return self.why_not(ability) is None

    @property
    def abilities(self) -> frozenset[str]:
        """The names of all abilities that this learner has."""
        return frozenset(name for name in ABILITIES if self.can(name))

    # -- what learners override, and call ------------------------------------------------------------------------------
    @classmethod
    def _declares(cls, ability: str) -> bool:
        """Whether learners of this class have the ability, with some parameters at least."""
        return getattr(cls, ability) is not getattr(Abilities, ability)

    def why_not(self, ability: str) -> str | None:
        """Why this learner lacks the ability; None: it has it."""
        return None if self._declares(ability) else REASONS.get(ability, "the algorithm does not provide it")

    @property
    def _kind(self) -> str:
        """What messages call this learner."""
        return type(self).__name__

    def _norm2(self, norm2: float | None, changes: int) -> float:
        """The norm that a bound against one function needs, or a ValueError."""
        self._unchanging(changes)
        if norm2 is None:
            raise ValueError(
                f"the regret bound of {self._kind} depends on the function that it is compared with: give norm2, its "
                "squared norm"
            )
        return norm2

    def _unchanging(self, changes: int) -> None:
        """Refuse a comparator that changes, where the bound is against one that does not."""
        if changes:
            raise ValueError(f"the regret bound of {self._kind} is against one comparator, got changes={changes!r}")

    def _only_own_parts(self, against: str) -> None:
        """Refuse against="kernel", where the comparators are the learners that this one is made of."""
        if one_of("against", against, AGAINST) == "kernel":
            raise ValueError(
                f"the regret bound of {self._kind} is against the learners that it combines, not against functions of "
                "a kernel; ask these learners"
            )

    def _require(self, ability: str) -> None:
        """Refuse where parameters rule the ability out."""
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
