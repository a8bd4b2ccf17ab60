"""Read saved models, to continue or to predict with."""

from __future__ import annotations

import os

from nystream import persist
from nystream.learners.base import Learner
from nystream.model import Model

__all__ = ["read"]


def read(path: str | os.PathLike[str]) -> Model:
    """Read a saved model, or a saved learner of numbers."""
    found = persist.load(path)
    if isinstance(found, Model):
        return found
    if isinstance(found, Learner) and found.labels == "real" and found.d_:
        return Model.around(found)
    if isinstance(found, Learner) and found.labels == "real":
        what = f"a {type(found).__name__} that has learnt nothing"
    elif isinstance(found, Learner):
        what = f"a {type(found).__name__} that learns classes without their names"
    else:
        what = f"a {type(found).__name__}, which is not a learner"
    raise ValueError(f"{os.fspath(path)} holds {what}; save a nystream.Model, or a learner of numbers")
