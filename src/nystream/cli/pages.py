"""`--report`: metrics for the page, and writing it."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from pathlib import Path

from nystream.evaluate import Comparison, Result
from nystream.evaluate.result import check_form
from nystream.explain import Importance
from nystream.learners.base import Learner
from nystream.model import Model

__all__ = ["check", "explained", "importance", "metrics", "write"]

WINDOW = 1000
"""Rows of the windowed curve of a single learner."""


def check(path: Path | None) -> None:
    """Refuse now, not when the stream is over, a page that could not be written."""
    if path is not None:
        check_form(path, (".html", ".htm"))
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no folder {str(path.parent)!r} for the report")
        importlib.import_module("nystream.plot")


def metrics(names: list[str], window: int = WINDOW) -> list[str]:
    """Return the metrics that a page reads: those asked for, the first also windowed, and the meters."""
    windowed = [] if "@" in names[0] else [f"{names[0]}@{window}"]
    meters = ("regret", "regret_bound", "size", "bytes", "rows_per_second", "weights")
    return list(dict.fromkeys([*names, *windowed, *meters]))


def explained(learners: Mapping[str, Learner | Model]) -> dict[str, str]:
    """Return the explanations that learners give at the end, of those that have one."""
    return {f"{name} at the end": learner.explain() for name, learner in learners.items() if learner.can("explain")}


def importance(name: str, model: Model) -> dict[str, Importance]:
    """Return the importance of the columns to a model at the end, if it can tell."""
    return {name: model.importance()} if model.n_seen > 1 and model.can("importance") else {}


def write(
    result: Result | Comparison,
    path: Path,
    title: str,
    about: dict[str, str],
    columns: Mapping[str, Importance] | None = None,
    changes: Collection[int] = (),
) -> None:
    """Write the page; `columns` is the importance of the columns to some of the learners, `changes` are rows."""
    plot = importlib.import_module("nystream.plot")
    plot.report(result, path, title=title, about=about, importance=columns, changes=changes)
