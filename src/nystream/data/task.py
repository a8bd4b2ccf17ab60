"""The rule that infers the task from the labels. All callers use `choose_task`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from nystream.data.cells import MISFIT, is_missing, parse_number, parse_time
from nystream.data.values import drop_absent

__all__ = ["LABELS", "MOST_CLASSES", "TASKS", "TaskChoice", "choose_task"]

TASKS = ("regression", "classification", "novelty")
LABELS = 1000
"""Number of first rows whose labels are examined."""
MOST_CLASSES = 20
"""Whole numbers with more distinct values than this are quantities."""
ENOUGH_NAMES, ENOUGH_ALONE, ENOUGH_DATES = 100, 40, 5
"""Labels, at least, of which more than half must not differ; of which one must repeat; and of dates, of which more than
half must not differ. Of fewer labels many may be different, although they are classes."""
SHOWN = 3
"""Labels that a reason shows."""


class TaskChoice(NamedTuple):
    """A task, and the reason for it: a clause that continues "because ..."."""

    task: str
    reason: str


def choose_task(targets: Sequence[Any], *, whole_floats: bool = False) -> TaskChoice | None:
    """Choose the task from the labels of the first 1,000 rows; None if none of them has a label.

    Strings and booleans are classes, and floats are quantities. Strings are quantities if all of them are numbers and
    one is written like 1,042.3 or 0.5. Whole numbers are classes only if there are at most 20 distinct ones and these
    are 0..K-1 or 1..K with K > 1, and one of them occurs twice if K > 2; all others are quantities. Beside missing
    labels a float without a fraction counts as a whole number: pandas stores whole numbers with gaps as floats. Several
    targets are quantities. Strings that are no numbers are an error if more than half of at least 100 differ, or all of
    at least 40, or if they are dates of which more than half differ: they are no classes that can be learnt.

    Parameters
    ----------
    targets : list of sequences
        The labels of each target.
    whole_floats : bool
        Whether a float without a fraction counts as a whole number, for sources that have no integers.

    Examples
    --------
    >>> choose_task([["up", "down", None]]).task, choose_task([[0, 1, 1, 0]]).task, choose_task([[3.5, 4.0]]).task
    ('classification', 'classification', 'regression')
    >>> choose_task([[0.0, 1.0, float("nan"), 1.0]]).task
    'classification'
    >>> choose_task([[10, 20, 30] * 5])
    TaskChoice(task='regression', reason='the labels are whole numbers, but not 0 to 2 or 1 to 3 (10, 20, 30)')
    """
    if len(targets) > 1:
        return TaskChoice("regression", f"there are {len(targets)} targets")
    first = targets[0][:LABELS] if hasattr(targets[0], "__getitem__") else list(islice(iter(targets[0]), LABELS))
    values = first.tolist() if isinstance(first, np.ndarray) else list(first)
    labels = [value for value in drop_absent(values) if value not in ("", b"")]
    if not labels:
        return None
    names = [value for value in labels if isinstance(value, (str, bytes))]
    if names and _are_written_numbers(labels):
        return TaskChoice("regression", f"the labels are numbers, written as text ({_shown(names)})")
    if names:
        _check_names(names)
        return TaskChoice("classification", f"the labels are names ({_shown(names)})")
    if any(isinstance(value, (bool, np.bool_)) for value in labels):
        return TaskChoice("classification", "the labels are true or false")
    if whole_floats or len(labels) < len(values):
        labels = [int(v) if isinstance(v, float) and v.is_integer() else v for v in labels]
    if not all(isinstance(value, (int, np.integer)) for value in labels):
        fractions = [value for value in labels if _has_fraction(value)]
        if fractions:
            return TaskChoice("regression", f"the labels are numbers with fractions ({_shown(fractions)})")
        return TaskChoice("regression", f"the labels are decimal numbers ({_shown(labels)})")
    return _of_whole_numbers(labels)


def _check_names(names: list[Any]) -> None:
    distinct, n = len(set(names)), len(names)
    if n >= ENOUGH_DATES and distinct > n / 2 and all(isinstance(v, str) and _is_date(v) for v in names):
        raise ValueError(
            f"the labels are dates or times ({_shown(names)}), which are no classes and no numbers: choose another "
            "target, or write numbers, such as days since a date"
        )
    if (n >= ENOUGH_NAMES and distinct > n / 2) or distinct == n >= ENOUGH_ALONE:
        raise ValueError(
            f"{distinct} of the first {len(names)} labels are different names ({_shown(names)}): these are no classes; "
            "write numbers without units, choose another target, or say the task if they are classes"
        )


def _is_date(text: str) -> bool:
    return not text.strip().isdigit() and not is_missing(text) and parse_time(text) is not MISFIT


def _are_written_numbers(labels: list[Any]) -> bool:
    """Return whether all labels are texts of numbers and not codes of classes: one has more than digits.

    An infinite number counts as one; it is refused later.
    """
    if not all(isinstance(label, str) for label in labels):
        return False
    labels = [label for label in labels if label.strip().lstrip("+-").lower() not in ("inf", "infinity")]
    numbers = [parse_number(label) for label in labels]
    if any(number is MISFIT or number != number for number in numbers):
        return False
    return not all(label.strip().lstrip("+-").isdigit() for label in labels)


def _has_fraction(value: Any) -> bool:
    try:
        return not float(value).is_integer()
    except (TypeError, OverflowError):
        return False


def _of_whole_numbers(labels: list[Any]) -> TaskChoice:
    values = sorted({int(value) for value in labels})
    k = len(values)
    if k == 1:
        return TaskChoice("regression", f"all labels are {values[0]}")
    if k > MOST_CLASSES:
        return TaskChoice("regression", f"the labels are more than {MOST_CLASSES} distinct whole numbers")
    if values not in (list(range(k)), list(range(1, k + 1))):
        wanted = f"0 to {k - 1} or 1 to {k}"
        return TaskChoice("regression", f"the labels are whole numbers, but not {wanted} ({_shown(values)})")
    if len(labels) == k > 2:
        return TaskChoice("regression", f"the labels are whole numbers that all differ ({_shown(values)})")
    return TaskChoice("classification", f"the labels are the whole numbers {values[0]} to {values[-1]}")


def _shown(values: Sequence[Any]) -> str:
    found = list(dict.fromkeys(_short(value) for value in values))
    return ", ".join(found[:SHOWN]) + (", ..." if len(found) > SHOWN else "")


def _short(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 64:
        return "a very large number"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 20 else f"{text[:17]}..."
