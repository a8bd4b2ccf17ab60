"""What a learner around a learner must answer, made by hand: the inner learner on rows and labels mapped here."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nystream import Classifier, Conformal, Encoded, Standardized, Thresholded
from nystream.compose.probabilities import Brier
from nystream.compose.targets import StandardizedTarget
from nystream.compose.thresholded import best_threshold
from nystream.scaling import RunningScale
from oracles.conformal import dtaci_levels, radius

WINDOW, REFRESH = 30, 10
ASK = {
    "probabilities": lambda m, Q: m.probabilities(Q),
    "predict_interval": lambda m, Q: m.predict_interval(Q, 0.8),
    "predict_quantile": lambda m, Q: m.predict_quantile(Q, 0.3),
    "std": lambda m, Q: m.std(Q),
    "leverage": lambda m, Q: m.leverage(Q),
    "averaged": lambda m, Q: m.averaged(Q),
    "regret": lambda m, Q: m.regret(),
    "regret_bound": lambda m, Q: m.regret_bound(1.5),
    "log_det": lambda m, Q: m.log_det(),
    "effective_dimension": lambda m, Q: m.effective_dimension(),
    "online_dimension": lambda m, Q: m.online_dimension(),
    "weights": lambda m, Q: m.weights(),
    "explain": lambda m, Q: m.explain(),
    "importance": lambda m, Q: m.importance(),
    "explain_row": lambda m, Q: m.explain_row(Q[0]),
    "alarms": lambda m, Q: m.alarms(),
}
"""How an ability that changes nothing is asked for."""
CHANGES = {
    "merge": lambda m: m.merge(m.clone()),
    "unlearn": lambda m: m.unlearn(np.zeros((1, 3)), np.ones(1)),
    "add_outputs": lambda m: m.add_outputs(np.ones((1, 1))),
}
"""How one that does is asked for, where it is to be refused."""


class Inside:
    """The learner itself."""

    def __init__(self, learner):
        self.pattern, self.learner = learner, learner.clone()

    def run(self, X, Y):
        return self.learner.run(X, Y)

    def can(self, ability):
        return self.pattern.can(ability)

    def predict(self, Q):
        return self.learner.predict(Q)

    def ask(self, ability, Q):
        return ASK[ability](self.learner, Q)


class Scaled:
    """`Standardized`: the learner gets rows scaled by those up to them, and is asked about rows scaled likewise."""

    def __init__(self, inside):
        self.inside, self.scale, self.pattern = inside, RunningScale(), Standardized(inside.pattern)

    def run(self, X, Y):
        self.scale.start(X.shape[1])
        return self.inside.run(self.scale(X), Y)

    def can(self, ability):
        return ability not in ("merge", "unlearn") and self.inside.can(ability)

    def predict(self, Q):
        return self.inside.predict(self.scale.scaled(Q))

    def ask(self, ability, Q):
        return self.inside.ask(ability, self.scale.scaled(Q))


class Rescaled:
    """`StandardizedTarget`: the learner gets targets scaled by those up to them; its answers are turned back."""

    def __init__(self, inside):
        self.inside, self.pattern = inside, StandardizedTarget(inside.pattern)

    def run(self, X, Y):
        means = np.array([Y[: t + 1].mean() for t in range(len(Y))])
        deviations = np.array([Y[: t + 1].std() or 1.0 for t in range(len(Y))])
        self.mean, self.deviation = means[-1], deviations[-1]
        return self.inside.run(X, (Y - means) / deviations)

    def can(self, ability):
        lost = ("merge", "unlearn", "add_outputs", "regret", "regret_bound")
        return ability not in lost and self.inside.can(ability)

    def predict(self, Q):
        return self.mean + self.deviation * self.inside.predict(Q)

    def ask(self, ability, Q):
        answer = self.inside.ask(ability, Q)
        if ability == "std":
            return self.deviation * answer
        numbers = ("averaged", "predict_interval", "predict_quantile")
        if ability == "explain_row":
            return {name: self.deviation * part for name, part in answer.items()}
        return self.mean + self.deviation * np.asarray(answer) if ability in numbers else answer


class Numbers:
    """`Encoded` on rows of numbers: the learner itself."""

    def __init__(self, inside):
        self.inside, self.pattern = inside, Encoded(inside.pattern)
        self.run, self.predict, self.ask = inside.run, inside.predict, inside.ask

    def can(self, ability):
        lost = ("merge", "unlearn", "add_outputs", "importance", "explain_row")
        return ability not in lost and self.inside.can(ability)


class Surrounded:
    """`Conformal`: the learner itself, and intervals by the definition of its levels."""

    def __init__(self, inside):
        self.inside, self.pattern = inside, Conformal(inside.pattern, 0.7, window=WINDOW)
        self.predict = inside.predict

    def run(self, X, Y):
        P = self.inside.run(X, Y)
        self.past, self.level = dtaci_levels(np.abs(Y - P).tolist(), 0.7, WINDOW)[-1]
        return P

    def can(self, ability):
        if ability in ("predict_interval", "predict_quantile"):
            return True
        return ability not in ("merge", "unlearn", "add_outputs") and self.inside.can(ability)

    def ask(self, ability, Q):
        if ability == "predict_interval":  # of coverage 0.8, see ASK
            return self.predict(Q) - self._width(0.8), self.predict(Q) + self._width(0.8)
        if ability == "predict_quantile":  # 0.3: the lower end of coverage 0.4
            return self.predict(Q) - self._width(0.4)
        return self.inside.ask(ability, Q)

    def _width(self, coverage):
        return max(radius(self.past, self.level * (1 - coverage) / 0.3), 0.0)


class Shifted:
    """`Thresholded`: the learner's own answers, predictions less the threshold that the last ones chose.

    A learner with a setting for classes learns two of them; the threshold is on the difference of its two scores, which
    are logarithms of probabilities in all of these.
    """

    def __init__(self, inside):
        self.pattern = Thresholded(inside.pattern, **self.options)
        native = inside.pattern.for_classes()
        self.native, self.theta = native.labels == "class", 0.0
        self.inside = Inside(native) if self.native and inside.pattern.labels != "class" else inside

    options: ClassVar = {"window": WINDOW, "refresh": REFRESH, "positive": 1, "caution": 0.0}

    def run(self, X, Y):
        P = self.inside.run(X, Y)
        assert len(X) % REFRESH == 0
        scores, signs = (P[:, 1] - P[:, 0], 2 * Y - 1) if self.native else (P, Y)
        self.theta = best_threshold(scores[-WINDOW:], signs[-WINDOW:], np.ones(WINDOW))
        return P

    def can(self, ability):
        lost = ("merge", "unlearn", "add_outputs", *(("predict_interval", "predict_quantile") if self.native else ()))
        return ability not in lost and self.inside.can(ability)

    def predict(self, Q):
        return self._moved(self.inside.predict(Q))

    def ask(self, ability, Q):
        answer = self.inside.ask(ability, Q)
        if ability == "predict_interval":
            return answer[0] - self.theta, answer[1] - self.theta
        if ability == "predict_quantile":
            return answer - self.theta
        return self._moved(answer) if ability == "averaged" else answer

    def _moved(self, P):
        if not self.native:
            return P - self.theta
        score = P[:, 1] - P[:, 0] - self.theta
        return np.column_stack([-score / 2, score / 2])


class ByHand(Shifted):
    """`Thresholded` that nothing but `tune` moves: the learner's own answers, and exact where the learner is."""

    options: ClassVar = {"window": 0}

    def run(self, X, Y):
        return self.inside.run(X, Y)

    def can(self, ability):
        return (ability in ("merge", "unlearn") and self.inside.can(ability)) or super().can(ability)


class Classes:
    """`Classifier` of two classes: a learner with a setting for classes, of codes, or of one against the other."""

    def __init__(self, inside):
        self.pattern = Classifier(inside.pattern)
        native = inside.pattern.for_classes()
        self.native, self.codes = native.labels == "class", False
        self.inside = Inside(native) if self.native and inside.pattern.labels != "class" else inside
        if not self.native:
            self.codes = inside.pattern.labels == "real" and inside.pattern.can("add_outputs")

    def run(self, X, Y):
        if self.native:
            return self.inside.run(X, Y)
        signs = np.where(Y == 1, 1.0, -1.0)
        return self.inside.run(X, np.column_stack([np.ones(len(X)), -signs, signs]) if self.codes else signs)

    def can(self, ability):
        if ability == "probabilities":
            return True
        if ability in ("merge", "unlearn"):
            return self.codes and self.inside.can(ability)
        lost = ("add_outputs", "predict_quantile", *(() if self.native or self.codes else ("explain_row",)))
        return ability not in lost and self.inside.can(ability)

    def predict(self, Q):
        return self._columns(self.inside.predict(Q))

    def ask(self, ability, Q):
        if ability == "probabilities":
            return self._probabilities(Q)
        answer = self.inside.ask(ability, Q)
        if ability == "predict_interval" and not (self.native or self.codes):
            low, high = answer
            return np.column_stack([-high, low]), np.column_stack([-low, high])
        return self._columns(answer, ability == "averaged") if ability in ("std", "averaged") else answer

    def _columns(self, P, signed=True):
        if self.native:
            return P
        return P[:, 1:] if self.codes else np.column_stack([-P if signed else P, P])

    def _probabilities(self, Q):
        """None: they follow the stream through a map that `tests/compose/test_probabilities.py` is about."""
        if self.codes:
            return Brier()(self.predict(Q))
        loss = self.inside.pattern.objective
        if not self.native and loss is not None and loss.estimates_mean:
            return Brier()(self.predict(Q))
        own = self.inside.pattern.link or (self.native and self.inside.can("probabilities"))
        return self.inside.ask("probabilities", Q) if own else None


WRAPPERS = {
    "standardized": (Scaled,),
    "thresholded": (Shifted,),
    "thresholded by hand": (ByHand,),
    "classifier": (Classes,),
    "standardized target": (Rescaled,),
    "encoded": (Numbers,),
    "conformal": (Surrounded,),
    "standardized standardized": (Scaled, Scaled),
    "standardized target standardized": (Rescaled, Scaled),
    "conformal standardized": (Scaled, Surrounded),
    "encoded standardized": (Scaled, Numbers),
    "encoded classifier": (Classes, Numbers),
    "standardized thresholded": (Shifted, Scaled),
    "thresholded standardized": (Scaled, Shifted),
    "standardized classifier": (Classes, Scaled),
    "classifier standardized": (Scaled, Classes),
    "classifier thresholded": (Shifted, Classes),
}
"""From the inside out."""


def wrapped(name, learner):
    """The oracle of a wrapper around the learner, with the wrapper itself as its `pattern`; None where it refuses."""
    oracle = Inside(learner)
    for around in WRAPPERS[name]:
        try:
            oracle = around(oracle)
        except ValueError:
            return None
    return oracle
