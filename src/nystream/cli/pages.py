"""`--report`: what is measured for the page, and how it is written."""

from __future__ import annotations

import importlib
from pathlib import Path

from nystream.evaluate import Comparison, Result
from nystream.evaluate.result import check_form

__all__ = ["check", "metrics", "write"]

WINDOW = 1000
"""Rows of the windowed curve of a single learner."""


def check(path: Path | None) -> None:
    """Refuse now, not when the stream is over, a page that could not be written."""
    if path is not None:
        check_form(path, (".html", ".htm"))
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no folder {str(path.parent)!r} for the report")
        importlib.import_module("nystream.plot")


def metrics(names: list[str]) -> list[str]:
    """What `nystream run` reads for a page: the metrics asked for, the first also windowed, and the meters."""
    windowed = [] if "@" in names[0] else [f"{names[0]}@{WINDOW}"]
    return list(dict.fromkeys([*names, *windowed, "regret", "regret_bound", "size", "bytes", "rows_per_second"]))


def write(result: Result | Comparison, path: Path, title: str, about: dict[str, str]) -> None:
    """Write the page."""
    importlib.import_module("nystream.plot").report(result, path, title=title, about=about)
