"""`--report`: what is measured for the page, and how it is written."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from nystream.evaluate import Comparison, Result
from nystream.evaluate.result import check_form
from nystream.learners.base import Learner
from nystream.model import Model

__all__ = ["check", "explained", "metrics", "write"]

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
    """What is read for a page: the metrics asked for, the first also windowed, and the meters."""
    windowed = [] if "@" in names[0] else [f"{names[0]}@{window}"]
    meters = ("regret", "regret_bound", "size", "bytes", "rows_per_second", "weights")
    return list(dict.fromkeys([*names, *windowed, *meters]))


def explained(learners: Mapping[str, Learner | Model]) -> dict[str, str]:
    """What learners that can say it rely on at the end."""
    return {f"{name} at the end": learner.explain() for name, learner in learners.items() if learner.can("explain")}


def write(result: Result | Comparison, path: Path, title: str, about: dict[str, str]) -> None:
    """Write the page."""
    importlib.import_module("nystream.plot").report(result, path, title=title, about=about)
