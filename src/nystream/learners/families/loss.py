"""Learners that minimise a loss. The loss sets the kind of labels and whether predictions are log odds."""

from __future__ import annotations

from typing import Any

from nystream.data.inputs import as_block
from nystream.learners.base import Learner
from nystream.learners.links import LINKS
from nystream.losses import Loss
from nystream.runtime.params import checked_ahead
from nystream.runtime.types import Array, LabelKind

__all__ = ["LossLearner"]


class LossLearner(Learner):
    """A learner that minimises a loss. Subclasses set `_loss` in their constructor."""

    _loss: Loss

    @property
    def labels(self) -> LabelKind:
        return self._loss.labels

    @property
    def classes(self) -> int | None:
        return self._loss.classes

    @property
    def objective(self) -> Loss | None:
        return self._loss

    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        """Return probabilities (n, K): of -1 and +1 with "logistic", of every class with "softmax"."""
        self._require("probabilities")
        ahead = checked_ahead(ahead)
        P = self.predict_clean(as_block(X, self.d_ or None, missing=self.missing), ahead)
        if self.labels == "sign" and P.shape[1] != 1:
            raise ValueError(f"this {self._kind} has {P.shape[1]} targets; probabilities need one target")
        return LINKS[str(self.link)](P)

    def why_not(self, ability: str) -> str | None:
        if ability == "probabilities" and self.link not in LINKS:
            return f"predictions of the loss {self._loss.name!r} are not log odds; use 'logistic' or 'softmax'"
        return super().why_not(ability)
