"""Learners whose labels are those of their loss."""

from __future__ import annotations

from nystream.learners.families.averaging import Averaging
from nystream.losses import Loss
from nystream.types import LabelKind

__all__ = ["LossLearner"]


class LossLearner(Averaging):
    """Subclasses set `_loss` in their constructor."""

    _loss: Loss

    @property
    def labels(self) -> LabelKind:
        return self._loss.labels

    @property
    def classes(self) -> int | None:
        return self._loss.classes
