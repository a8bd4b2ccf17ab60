"""What a golden file is: a model in the middle of its stream, and calls on it with what they give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N = 60
"""Rows of every table."""


def _tables() -> dict[str, np.ndarray]:
    """Inputs and labels of one small stream; of few digits, so that a text holds them exactly."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (N, 3)).round(3)
    X[17:20] = X[:3]  # rows that come again
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
    holes = X.copy()
    holes[rng.random((N, 3)) < 0.15] = np.nan
    holes[:2] = X[:2]
    label = np.digitize(f, [-0.3, 0.3])
    late = np.where((label == 2) & (np.arange(N) < 10), 0, label)  # class 2 appears in row 10 or after it
    y, Y2 = (0.5 * f).round(3), np.column_stack([0.5 * f, X[:, 2] ** 2 - X[:, 0]]).round(3)
    experts = (y[:, None] * [0.5, 1.0, 0.0, -0.3] + 0.2 * rng.normal(size=(N, 4))).round(3)
    return {
        "X": X,
        "wide": np.hstack([1000 * X, rng.normal(size=(N, 1)).round(3)]),
        "holes": holes,
        "y": y,
        "Y2": Y2,
        "sign": np.where(f >= 0, 1.0, -1.0),
        "label": label,
        "two": (f >= 0).astype(int),
        "late": late,
        "weight": rng.choice([0.5, 1.0, 2.0, 3.0], N),
        "experts": experts,
        "odds": (1 + rng.multinomial(13, [0.3, 0.3, 0.4], N)) / 16,
        "column": y[:, None],
        "signs": np.where(f >= 0, 1.0, -1.0)[:, None],
        "labels": label[:, None],
        "stacked": np.stack([experts, experts[:, ::-1]], axis=2),
        "frames": rng.integers(30, 226, (12, 3, 4, 3)).astype(np.uint8),
    }


TABLES = _tables()


@dataclass(frozen=True)
class Rows:
    """Rows `start` to `stop` of a table, or, without `stop`, the single row `start`."""

    table: str
    start: int
    stop: int | None = None

    @property
    def value(self) -> Any:
        table = TABLES[self.table]
        if self.stop is not None:
            return table[self.start : self.stop]
        return table[self.start].copy() if table.ndim > 1 else table[self.start].item()


@dataclass(frozen=True)
class Call:
    """A method with its arguments (`Rows`, or plain numbers), or an attribute where `args` is None."""

    name: str
    args: tuple[Any, ...] | None = None

    def on(self, model: Any) -> Any:
        found = model
        for part in self.name.split("."):
            found = getattr(found, part)
        return found if self.args is None else found(*(a.value if isinstance(a, Rows) else a for a in self.args))


@dataclass
class Case:
    """One file: `model` is saved as it is, then the calls are made on it, in order.

    `tolerance`, with its `reason`, replaces the usual one where other processors round to other predictions.
    `learner` says what the file is about; "Auto" for everything that has the automatic learner inside.
    """

    name: str
    model: Any
    calls: list[Call]
    learner: str = ""
    tolerance: float | None = None
    reason: str = ""
    trust: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.learner = self.learner or type(self.model).__name__


PROBE = (50, 53)
"""Rows on which predictions are compared before the model goes on and after it."""
TARGETS = {"real": "y", "sign": "sign", "class": "label", "none": None}


def trained(
    name: str,
    model: Any,
    *,
    table: str = "X",
    target: str | None = None,
    weights: bool = False,
    cut: int = 16,
    stop: int = 22,
    also: Iterable[str] = (),
    more: Iterable[Call] = (),
    **about: Any,
) -> Case:
    """A learner that has learnt rows 0..cut - 1; it goes on to `stop`, and by one more single row.

    `also` are methods of a block of rows that are compared beside `predict`; `more` are other calls.
    """
    target = target or TARGETS[model.labels]

    def rows(start: int, end: int | None) -> tuple[Rows | None, ...]:
        label = None if target is None else Rows(target, start, end)
        return (Rows(table, start, end), label, *([Rows("weight", start, end)] if weights else []))

    if cut:
        model.run(*(None if r is None else r.value for r in rows(0, cut)))
    probe = Rows(table, *PROBE)
    calls = [Call("n_seen"), Call("size"), Call("predict", (probe,)), *more]
    calls += [Call(method, (probe,)) for method in also]
    calls += [Call("run", rows(cut, stop)), Call("step", rows(stop, None)), Call("n_seen"), Call("size")]
    calls += [Call(method, (probe,)) for method in ("predict", *also)]
    return Case(name, model, calls, **about)
