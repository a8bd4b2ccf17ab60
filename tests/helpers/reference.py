"""Learners of the expansion family that run the rounds that their classes write in Python."""

from __future__ import annotations

from typing import TypeVar

from nystream.learners.families.expansion import ExpansionLearner

_Learner = TypeVar("_Learner", bound=ExpansionLearner)


def reference(learner: _Learner) -> _Learner:
    """Return a new learner with equal parameters that runs the Python rounds of its class: slow, but readable."""
    twin = learner.clone()
    twin._in_python = True
    return twin
