"""Rows that wait for their labels, as plain values with their predictions."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from nystream.model.model import Model

__all__ = ["WAITING", "WAITS", "label", "remember"]

WAITING = 10_000
"""Default limit of rows that wait for their labels: about ten megabytes of narrow rows."""

WAITS = ("waiting_", "n_remembered_", "n_forgotten_")
"""The state of rows that wait for their labels: their ids belong to the model that gave them."""


def remember(model: Model, row: Any) -> int:
    """Predict a row, keep it until its label comes, and return its id; see `Model.remember`."""
    if not model.waiting:
        raise ValueError("this model was made with waiting=0: no row waits for its label")
    kept = _plain_row(row)
    answer = _plain_answer(model.predict(_rows_of(kept))[0])
    waiting = {} if model.waiting_ is None else model.waiting_
    while len(waiting) >= model.waiting:
        del waiting[next(iter(waiting))]
        model.n_forgotten_ += 1
        _report_forgotten(model)
    id = model.n_remembered_
    waiting[id] = [kept, answer]
    model.waiting_, model.n_remembered_ = waiting, id + 1
    return id


def label(model: Model, id: int, y: Any, weight: float) -> Any:
    """Learn the row with this id, and return its prediction; see `Model.label`."""
    waiting = {} if model.waiting_ is None else model.waiting_
    if isinstance(id, bool) or not isinstance(id, (int, np.integer)) or id not in waiting:
        raise ValueError(f"no row with id {id!r} waits for a label: {_why_not_waiting(model, id)}")
    row, answer = waiting[id]
    model.run(_rows_of(row), [y], None if weight == 1.0 else [weight])
    del waiting[id]
    return np.array(answer) if isinstance(answer, list) else answer


def _why_not_waiting(model: Model, id: Any) -> str:
    if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
        return "ids are whole numbers, as `remember` returns them"
    if not 0 <= id < model.n_remembered_:
        return "this model never gave that id"
    if not model.n_forgotten_:
        return "it has been labelled already"
    return (
        f"it has been labelled already, or it was one of {model.n_forgotten_:,} that were forgotten because more "
        f"than {model.waiting:,} rows waited; Model(waiting=...) sets that limit"
    )


def _report_forgotten(model: Model) -> None:
    if None not in model._reported:
        model._reported.add(None)
        warnings.warn(
            f"{model.waiting:,} rows wait for their labels, as many as may: from now on each new one makes the "
            "model forget the oldest. n_forgotten counts them; Model(waiting=...) sets the limit",
            UserWarning,
            stacklevel=4,
        )


def _plain_row(row: Any) -> dict[str, Any] | list[float]:
    """Convert one row to values that a model file can have: a dict of names to values, or a list of numbers."""
    if not isinstance(row, Mapping) and hasattr(row, "to_dict") and getattr(row, "ndim", 0) == 1:
        row = row.to_dict()  # a pandas Series
    if isinstance(row, Mapping):
        return {str(name): _plain(value) for name, value in row.items()}
    try:
        numbers = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise TypeError(f"remember takes one row, a dict of names to values or numbers (d,); got {type(row).__name__}")
    return [float(number) for number in numbers]


def _rows_of(row: dict[str, Any] | list[float]) -> Any:
    """Return the row as a block of one."""
    return [row] if isinstance(row, dict) else np.array([row], dtype=np.float64)


def _plain_answer(answer: Any) -> Any:
    """Convert a prediction to values that a model file can have."""
    return answer.tolist() if isinstance(answer, (np.ndarray, np.generic)) else answer


def _plain(value: Any) -> Any:
    """Convert a value of a row; times become text in ISO form, which every reader of times takes."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, (datetime.datetime, datetime.date)):  # pandas' Timestamp and NaT are datetimes too
        return value.isoformat() if value == value else None
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"remember takes numbers, strings, booleans, times and None; got {value!r}")
