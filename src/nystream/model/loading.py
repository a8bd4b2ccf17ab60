"""Load trained models from files, for the estimators of other libraries."""

from __future__ import annotations

import os

from nystream import persist
from nystream.model.model import Model

__all__ = ["load_trained"]


def load_trained(path: str | os.PathLike[str], task: str, who: str) -> Model:
    """Load a model that an estimator, a command or Python has saved; `who` is an estimator for models of this task."""
    model = persist.load(path)
    if not isinstance(model, Model) or model.learner_ is None or model.schema_ is None:
        raise ValueError(f"{os.fspath(path)} holds no trained model of `save`")
    if model.task != task:
        raise ValueError(f"{os.fspath(path)} holds a model of {model.task}; {who} is for {task}")
    return model
