"""Rows that cannot be learnt: a stream stops at them, skips them, or writes them to a folder of dead letters."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyarrow import fs
from pyspark import TaskContext

from nystream.spark.errors import one_line
from nystream.spark.folders import open_folder

__all__ = ["OnError", "Refused", "batch_number", "find_bad_rows"]

WORDS = ("stop", "skip")
"""Values of `on_error` that are no folder."""
UNFINISHED = re.compile(r"[0-9a-f]{32}\.jsonl\.\d+\.new")
"""Files of dead letters that are being written."""
UNFINISHED_AFTER = timedelta(hours=1)
"""A task writes such a file in less time than this: an older one was left by a killed process."""


@dataclass(frozen=True)
class Refused:
    """A row that was refused: its place among the rows that were given, and why."""

    place: int
    reason: str


@dataclass(frozen=True)
class OnError:
    """What is done with rows that cannot be learnt: "stop", "skip", or the address of a folder of dead letters."""

    value: str
    source: str | None = None
    """Which files or offsets the rows come from, if that is known."""

    def __post_init__(self) -> None:
        is_text = isinstance(self.value, str) and bool(self.value)
        if not is_text or (self.value not in WORDS and self.value.strip().lower() in WORDS):
            raise ValueError(
                f"on_error must be 'stop', 'skip', or the address of a folder for refused rows; got {self.value!r}"
            )

    @property
    def stops(self) -> bool:
        return self.value == "stop"

    @property
    def folder(self) -> str | None:
        """Where refused rows are written, or None."""
        return None if self.value in WORDS else self.value

    def write(self, rows: list[dict[str, Any]], reasons: list[str], **where: Any) -> None:
        """Write refused rows with their reasons as lines of JSON, in a file named by what it contains.

        A batch that Spark runs again after a failure writes the same file again: no row is there twice.
        """
        if self.folder is None or not rows:
            return
        if self.source is not None:
            where["source"] = self.source
        lines = [
            json.dumps({**where, "reason": reason, "row": _plain(row)}, default=str, sort_keys=True)
            for row, reason in zip(rows, reasons, strict=True)
        ]
        content = ("\n".join(lines) + "\n").encode()
        files, root = open_folder(self.folder)
        files.create_dir(root, recursive=True)
        name = f"{root}/{hashlib.sha256(content).hexdigest()[:32]}.jsonl"
        if files.get_file_info(name).type == fs.FileType.File:
            return
        with files.open_output_stream(f"{name}.{_attempt()}.new") as file:
            file.write(content)
        files.move(f"{name}.{_attempt()}.new", name)

    def remove_unfinished(self) -> int:
        """Remove files that killed tasks left half-written, an hour ago or earlier; return how many there were."""
        if self.folder is None:
            return 0
        files, root = open_folder(self.folder)
        if files.get_file_info(root).type != fs.FileType.Directory:
            return 0
        latest = datetime.now(UTC) - UNFINISHED_AFTER
        found = [
            info.path
            for info in files.get_file_info(fs.FileSelector(root))
            if UNFINISHED.fullmatch(info.base_name) and info.mtime is not None and info.mtime < latest
        ]
        for path in found:
            files.delete_file(path)
        return len(found)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with words in place of numbers that JSON does not have: nan, inf and -inf."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def find_bad_rows(count: int, learn: Callable[[int, int], None]) -> list[Refused]:
    """Return which of `count` rows cannot be learnt, by halving: `learn(i, j)` learns rows i to j or raises.

    `learn` works on a copy of the model. A stretch that was learnt is not learnt again, and one that raises is halved.
    """
    found: list[Refused] = []

    def look(start: int, end: int) -> None:
        try:
            learn(start, end)
        except (ValueError, TypeError) as error:
            if end - start == 1:
                found.append(Refused(start, one_line(error).removeprefix("row 0: ")))  # the only one of these rows
                return
            middle = (start + end) // 2
            look(start, middle)
            look(middle, end)

    if count:
        look(0, count)
    return found


def batch_number() -> int | None:
    """Return the number of the micro-batch that this task works for, or None outside of streams."""
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    return int(text) if text is not None and text.isdigit() else None


def _attempt() -> int:
    context = TaskContext.get()
    return 0 if context is None else int(context.taskAttemptId())
