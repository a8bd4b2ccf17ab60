"""Choose and check the learner for a task: the default, one with its setting for classes, or a wrapped one."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.auto.learner import Auto
from nystream.compose.classifier import Classifier
from nystream.compose.novelty import default_novelty
from nystream.compose.wrapper import Wrapper
from nystream.learners.base import Learner

__all__ = ["algorithm", "check_class", "check_sparse", "for_task"]


def algorithm(learner: Learner) -> str:
    """Return the name of the algorithm inside scalings and codes of classes."""
    return algorithm(learner.learner) if isinstance(learner, Wrapper) else type(learner).__name__


def for_task(learner: Learner | None, task: str, d: int) -> Learner:
    """Return a new learner for the task: the default one for None; for classes one with its own setting for classes, or
    wrapped.
    """
    if task == "novelty":
        fresh = default_novelty(d) if learner is None else learner.clone()
        if fresh.labels != "none":
            raise ValueError(f"{learner!r} learns from labels; novelty detection takes loss='novelty'")
        return fresh
    fresh = Auto() if learner is None else learner.clone()
    if task == "regression":
        if fresh.labels != "real":
            raise ValueError(f"{algorithm(fresh)} {_classes_only(fresh)}")
        return fresh
    fresh = fresh.for_classes()
    own = fresh.labels == "class" and fresh.can("probabilities")
    return fresh if own else Classifier(fresh)


def _classes_only(learner: Learner) -> str:
    way_out = "use Auto, or a least-squares learner such as PKRR"
    if "loss" in learner.get_params(deep=False):
        way_out = f"give it loss='squared' where it takes that, or {way_out}"
    return f"learns classes, and the target is a number; {way_out}"


def check_class(learner: Learner, label: Any) -> None:
    """Raise an error for a fraction as the first label of a learner of classes, if nobody declared the task."""
    if isinstance(label, (float, np.floating)) and not float(label).is_integer():
        raise ValueError(
            f"label {float(label)!r}: {algorithm(learner)} {_classes_only(learner)}, or a schema with "
            "task='classification' if fractions are classes here"
        )


def check_sparse(learner: Learner, width: int | None) -> None:
    """Raise an error for sparse rows with so many columns (None: rows are not sparse), if the learner takes none."""
    if width is not None and not learner.takes_sparse:
        raise ValueError(
            f"rows are sparse with {width:,} columns, which {algorithm(learner)} does not take; use Auto, SparseLinear "
            "or GaussianFilter, or Encoded(learner, experts=True)"
        )
