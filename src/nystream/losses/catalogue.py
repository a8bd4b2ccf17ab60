"""Losses by name."""

from __future__ import annotations

import difflib
from typing import Any

from nystream.losses.base import Loss
from nystream.losses.classification import Hinge, Logistic, Novelty, SquaredHinge
from nystream.losses.multiclass import MulticlassHinge, StructuredHinge
from nystream.losses.regression import Absolute, EpsilonInsensitive, Huber, Pinball, Squared
from nystream.losses.softmax import Softmax

__all__ = ["LOSSES", "as_loss"]

LOSSES: dict[str, type[Loss]] = {
    kind.name: kind
    for kind in (
        Squared,
        Absolute,
        EpsilonInsensitive,
        Huber,
        Pinball,
        Hinge,
        SquaredHinge,
        Logistic,
        Novelty,
        MulticlassHinge,
        Softmax,
        StructuredHinge,
    )
}
"""Name -> class, in the order of the documentation."""


def as_loss(loss: Any) -> Loss:
    """Return a loss as it is, or the loss of that name with its default constants.

    Examples
    --------
    >>> as_loss("huber"), as_loss(LOSSES["huber"](delta=0.5))
    (Huber(), Huber(delta=0.5))
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise ValueError(f"loss must be a name or a Loss object, got {loss!r}")
    if loss not in LOSSES:
        close = difflib.get_close_matches(loss, LOSSES, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"unknown loss {loss!r}{hint}; the losses are {', '.join(LOSSES)}")
    if loss == StructuredHinge.name:
        raise ValueError("loss 'structured_hinge' needs its label margins; pass StructuredHinge(margins)")
    return LOSSES[loss]()
