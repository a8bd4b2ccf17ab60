"""A progress line on the terminal, with a bar if the number of rows is known or estimated."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO, TypeVar

__all__ = ["Bar", "bar_of", "estimated_rows"]

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds before the line is shown: short work needs none."""
PAUSE = 0.2
"""Seconds between two versions of the line."""
WIDTH = 30
"""Characters of the bar."""
SAMPLE = 1 << 18
"""Bytes at the beginning of a file from which its number of rows is estimated."""
PLAIN = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".libsvm", ".svm", ".svmlight", ".arff")
"""Endings of files with one row in a line, not compressed."""


class Bar:
    """Counts rows and shows them on standard error while it is a terminal; erased before anything else is printed.

    Parameters
    ----------
    total : int or None
        Rows there are, as far as that is known.
    about : bool
        Whether that is an estimate.
    quiet : bool
        Show nothing.
    file : text file, optional
        Where to show it instead of standard error.
    """

    def __init__(
        self, total: int | None = None, *, about: bool = False, quiet: bool = False, file: TextIO | None = None
    ) -> None:
        self._file = sys.stderr if file is None else file
        self._total, self._about = total, about
        self._is_shown_at_all = not quiet and self._file.isatty()
        self._rows, self._began, self._last, self._is_shown = 0, time.monotonic(), 0.0, False

    def watch(self, blocks: Iterable[T], size: Callable[[T], int]) -> Iterator[T]:
        """Yield the blocks, and count each when it has been dealt with."""
        try:
            for block in blocks:
                yield block
                self.add(size(block))
        finally:
            self.clear()

    def add(self, rows: int) -> None:
        """Add to the count of rows done."""
        self._rows += rows
        now = time.monotonic()
        if self._is_shown_at_all and now - self._began >= PATIENCE and now - self._last >= PAUSE:
            self._last = now
            self._file.write(f"\r\x1b[K{self.line(now - self._began)}")
            self._file.flush()
            self._is_shown = True

    def clear(self) -> None:
        """Erase the line, for something else to be printed there."""
        if self._is_shown:
            self._file.write("\r\x1b[K")
            self._file.flush()
            self._is_shown = False

    def line(self, seconds: float) -> str:
        """Return the line to show after so many seconds."""
        speed = self._rows / max(seconds, 1e-9)
        told = f"{self._rows:,} rows, {speed:,.0f} rows/s"
        if not self._total:
            return told
        done = min(self._rows / self._total, 0.99 if self._about else 1.0)
        left = max(self._total - self._rows, 0) / max(speed, 1e-9)
        sign = "about " if self._about else ""
        return f"[{'#' * int(WIDTH * done):<{WIDTH}}] {sign}{done:.0%}, {told}, {sign}{_duration(left)} left"


def bar_of(source: str, total: int | None, *, limit: int | None = None, quiet: bool = False) -> Bar:
    """Return a bar for rows of a source, at most `limit` of them; the unknown total of a text file is estimated."""
    estimate = estimated_rows(source) if total is None else None
    known = [rows for rows in (total, estimate, limit) if rows is not None]
    return Bar(min(known, default=None), about=estimate is not None and estimate == min(known), quiet=quiet)


def estimated_rows(source: str) -> int | None:
    """Estimate the rows of a text file by its size and its first lines; None where that cannot be told."""
    path = Path(source)
    if path.suffix.lower() not in PLAIN or not path.is_file():
        return None
    try:
        size = os.path.getsize(path)
        with path.open("rb") as file:
            sample = file.read(SAMPLE)
    except OSError:
        return None
    lines = sample.count(b"\n")
    return None if lines < 2 else max(1, round(size * lines / (sample.rfind(b"\n") + 1)) - 1)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
