"""What `nystream run` saves: a learner, and what it takes to feed it again."""

from __future__ import annotations

import os
from typing import Any

from nystream import persist
from nystream.auto import Auto, Baseline
from nystream.catalogue import Entry, find
from nystream.compose import Classifier, Standardized
from nystream.inputs import as_block
from nystream.learners import Learner
from nystream.params import Params
from nystream.types import Array

__all__ = ["Model", "build", "of_classes", "read"]

DEFAULT = "auto"
"""The learner of `nystream run` when none is named."""


class Model(Params):
    """A learner with the task it was trained for, the names of its columns and of its classes.

    Parameters
    ----------
    learner : Learner
        The pattern; `learner_` is the trained copy.
    task : "regression" or "classification"
    columns : list of str or None
        Names of the input columns, where the file had names.
    """

    learner_: Learner
    names_: list[Any]

    def __init__(self, learner: Learner, task: str, columns: list[str] | None = None) -> None:
        self.learner = learner
        self.task = task
        self.columns = columns

    def start(self) -> None:
        self.learner_ = self.learner.clone()
        self.names_ = []

    def predict(self, X: Any) -> Any:
        """Numbers, or for classes their names."""
        P = self.learner_.predict(as_block(X, self.learner_.d_ or None, missing=self.learner_.missing))
        if self.task != "classification":
            return P
        return [self.names_[k] for k in P[:, : len(self.names_)].argmax(axis=1)]  # there may be room for more classes

    def said(self, P: Array) -> list[str]:
        """Predictions as text, one line each."""
        if self.task == "classification":
            return [str(self.names_[k]) if k < len(self.names_) else "?" for k in P.argmax(axis=1)]
        return [f"{p:.10g}" if P.ndim == 1 else ",".join(f"{v:.10g}" for v in p) for p in P]


def build(
    name: str | None,
    task: str,
    columns: list[str] | None,
    sigma: float,
    seed: int,
    settings: dict[str, Any],
    standardize: bool = True,
) -> Model:
    """A fresh model from a learner's name, None for the default, and `--set` values."""
    entry = find(name or DEFAULT)
    learner = _built(entry, sigma, seed, settings)
    if task == "regression" and learner.labels != "real":
        if "loss" in settings or "loss" not in learner.get_params(deep=False):
            raise ValueError(f"{entry.name} learns classes, and the target is a number; use another learner or --task")
        learner.set_params(loss="squared")
    if task == "classification":
        learner = of_classes(learner)
    if standardize and not issubclass(entry.cls, (Auto, Baseline)):  # these two scale by themselves
        learner = Standardized(learner)
    model = Model(learner, task, columns)
    model.start()
    return model


def of_classes(learner: Learner) -> Learner:
    """A learner of class numbers: in its own setting for them, where it has one, or wrapped."""
    own = learner.for_classes()
    return own if own.labels == "class" != learner.labels else Classifier(learner)


def read(path: str | os.PathLike[str]) -> Model:
    """A model saved by `nystream run`, or a regression learner saved from Python."""
    found = persist.load(path)
    if isinstance(found, Model):
        return found
    if isinstance(found, Learner) and found.labels == "real":
        model = Model(found.clone(), "regression")
        model.learner_, model.names_ = found, []
        return model
    if isinstance(found, Learner):
        what = f"a {type(found).__name__} that learns classes without their names"
    else:
        what = f"a {type(found).__name__}, which is no learner"
    raise ValueError(
        f"{os.fspath(path)} holds {what}; `nystream run` goes on with models that it saved itself, and with learners "
        "of numbers"
    )


def _built(entry: Entry, sigma: float, seed: int, settings: dict[str, Any]) -> Learner:
    nested = {k: v for k, v in settings.items() if "__" in k}
    try:
        learner = entry.build(sigma, **{"seed": seed, **{k: v for k, v in settings.items() if k not in nested}})
        return learner.set_params(**nested)
    except TypeError as error:  # parts that do not fit together are the settings' fault
        raise ValueError(str(error)) from error
