"""Conversion of labels: names of classes, numbers, several columns, missing ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream.data.inputs import is_masked
from nystream.data.places import Place
from nystream.data.reading import read
from nystream.data.values import convert, is_absent
from nystream.runtime.types import Array

Counts: TypeAlias = npt.NDArray[np.intp]
Places: TypeAlias = Callable[[int], Place]
"""A function from a row number to its place, for messages."""

__all__ = [
    "Counts",
    "class_names",
    "first_label",
    "number_classes",
    "numbers_of",
    "target_columns",
]


def target_columns(y: Any, n: int) -> list[Any]:
    """Return the targets of n rows, one sequence each."""
    if hasattr(y, "columns") or hasattr(y, "column_names") or (isinstance(y, np.ndarray) and y.dtype.names):
        table = read(y)
        parts, length = list(table.columns.values()), table.n
    else:
        values = _values(y)
        if isinstance(values, np.ndarray) and values.ndim == 2:
            parts, length = list(values.T), len(values)
        else:
            if not hasattr(values, "__len__") or isinstance(values, (str, bytes, dict)):
                raise ValueError(f"y must have one label for each of the {n} rows, got {y!r}; for one row use step")
            parts, length = [values], len(values)
    if length != n:
        raise ValueError(f"y must have one label for each of the {n} rows, got {length}")
    if not parts:
        raise ValueError("y has 0 columns")
    return parts


def _values(y: Any) -> Any:
    """Return labels as an array or a list, or a matrix for several targets."""
    if type(y) is not np.ndarray and is_masked(y):
        return np.ma.filled(y.astype(object), None)
    if isinstance(y, np.ndarray):
        if y.ndim == 1 or y.ndim == 2:
            return y
        raise ValueError(f"y must have one label, or one row of targets, for each row; got shape {y.shape}")
    for method in ("to_pylist", "to_list"):  # Arrow; pandas and polars
        if hasattr(y, method):
            return getattr(y, method)()
    values = list(y) if isinstance(y, (tuple, range)) else y
    if isinstance(values, list) and values and isinstance(values[0], (list, tuple, np.ndarray)):
        return np.array(values, dtype=object)
    return values


def class_names(values: Any) -> list[Any]:
    """Return class names: a string, a boolean, or a number (3.0 is 3); None for a missing label."""
    return [_name(value) for value in (values.tolist() if isinstance(values, np.ndarray) else values)]


def _name(value: Any) -> Any:
    if type(value) is str:
        return value if value.strip() else None
    if is_absent(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, (str, int, float)):
        return str(value)
    return value if value != "" else None


def numbers_of(parts: list[Any], names: list[str], place: Places) -> Array:
    """Return targets (n, K), nan if missing."""
    columns = [convert(part, "number", name, place=place)[0] for part, name in zip(parts, names, strict=True)]
    return np.column_stack(columns)


def first_label(part: Any) -> Any:
    """Return the first label that is not missing, or None."""
    return next((value for value in part if not is_absent(value) and value != ""), None)


def number_classes(
    labels: list[Any], classes: list[Any], places: dict[Any, int], place: Places | None
) -> tuple[Array, Counts, list[Any]]:
    """Return class numbers (n, 1), nan if missing, the number of known classes before each row, and all classes.

    A class of another kind than those so far is an error, unless `place` is None.
    """
    classes, places = list(classes), dict(places)
    Y, before = np.empty((len(labels), 1)), np.empty(len(labels), dtype=np.intp)
    for i, label in enumerate(labels):
        before[i] = len(classes)
        if label is None:
            Y[i, 0] = np.nan
            continue
        k = places.get(label)
        if k is None:
            if place is not None:
                _check_alike(label, classes, str(place(i)))
            k = places[label] = len(classes)
            classes.append(label)
        Y[i, 0] = k
    return Y, before, classes


def _check_alike(label: Any, classes: list[Any], place: str) -> None:
    """Raise an error for a class of another kind: a name among numbers, or a fraction among whole numbers."""
    if not classes or isinstance(label, str) == isinstance(classes[0], str):
        if isinstance(label, float) and classes and all(isinstance(name, int) for name in classes):
            raise ValueError(
                f"{place}: label {label!r} is no whole number, as the classes so far are ({_some(classes)}); if the "
                "target is another one now, begin a new model"
            )
        return
    kinds = ("a name", "numbers") if isinstance(label, str) else ("a number", "names")
    raise ValueError(
        f"{place}: label {label!r} is {kinds[0]}, the classes so far are {kinds[1]} ({_some(classes)}); if the "
        "target is another one now, begin a new model"
    )


def _some(classes: list[Any]) -> str:
    return ", ".join(map(str, classes[:5])) + (", ..." if len(classes) > 5 else "")
