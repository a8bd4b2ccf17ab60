"""Tasks of models without a declared task, and default metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from nystream.data.items import as_pairs, is_iterator
from nystream.data.reading import Table
from nystream.data.targets import target_columns
from nystream.data.task import LABELS, choose_task
from nystream.evaluate.pairs import items, labels_of_first
from nystream.learners.base import Learner
from nystream.model import Model

__all__ = ["settle_tasks", "usual_metric"]


def settle_tasks(stream: Any, learners: Iterable[Learner | Model], block: int) -> Any:
    """Choose the missing tasks of models from the first 1,000 labels. Return the stream to read."""
    stream = as_pairs(stream)
    unsure = [learner for learner in learners if isinstance(learner, Model) and learner.task is None]
    if not unsure:
        return stream
    if is_iterator(stream):
        stream = _Items(stream, [learner for learner in learners if isinstance(learner, Model)])
    if isinstance(stream, tuple):
        labels = labels_of_first(stream[0], stream[1], unsure, LABELS)
    elif callable(getattr(stream, "blocks", None)):
        stream = _Begun(stream, block)
        labels = stream.labels
    else:
        labels = None
    choice = None if labels is None else choose_task(target_columns(labels, len(labels)))
    if choice is None:
        raise ValueError(
            f"none of the first {LABELS:,} rows has a label, so that the task is not known; say it, as in "
            'Model(task="regression") or Model(task="classification")'
        )
    for model in unsure:
        model.set_params(task=choice.task)
    return stream


def usual_metric(learner: Learner | Model) -> str:
    """Return the default metric of a learner's task; for novelty, the size of the model."""
    if isinstance(learner, Model):
        return {"classification": "accuracy", "novelty": "size"}.get(learner.task or "", "mse")
    return {"real": "mse", "none": "size"}.get(learner.labels, "accuracy")


class _Items:
    """Rows of an iterator as a stream of blocks, which can be read once."""

    def __init__(self, rows: Iterator[Any], models: list[Model]) -> None:
        self._rows, self._models = rows, models

    def blocks(self, size: int) -> Iterator[tuple[Any, Any]]:
        return items(self._rows, self._models, size)


class _Begun:
    """A stream whose first blocks were looked at; they come again, once."""

    def __init__(self, stream: Any, size: int) -> None:
        self._rest: Iterator[tuple[Any, Any]] = iter(stream.blocks(size))
        self._first: list[tuple[Any, Any]] = []
        rows = 0
        while rows < LABELS:
            block = next(self._rest, None)
            if block is None:
                break
            self._first.append(block)
            rows += len(block[0])

    @property
    def labels(self) -> Any:
        """Labels of the first rows; None where there are none."""
        parts = [Y for _, Y in self._first if Y is not None]
        if not parts:
            return None
        if isinstance(parts[0], Table):
            return Table.joined(parts)
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return [value for part in parts for value in part]

    def blocks(self, size: int) -> Iterator[tuple[Any, Any]]:
        return chain(self._first, self._rest)
