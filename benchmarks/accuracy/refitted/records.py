"""What a contestant answered on a stream, kept in a file, so that everybody runs once and can be left and taken up."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from refitted.contestants import CONTESTANTS
from refitted.streams import Stream

__all__ = ["Record", "answered", "kept"]


@dataclass(frozen=True)
class Record:
    """Labels of all rows, answers to the first of them (or to all), and processor seconds."""

    y: np.ndarray
    answers: np.ndarray
    classes: int
    seconds: float
    made_by: str

    @property
    def finished(self) -> bool:
        return len(self.answers) == len(self.y)

    @property
    def losses(self) -> np.ndarray:
        """Wrong or right, 1 or 0; or squared errors over the variance of all labels."""
        y = self.y[: len(self.answers)]
        away = self.answers - y
        found: np.ndarray = (away != 0).astype(float) if self.classes else away**2 / self.y.var()
        return found

    def error(self, rows: slice = slice(None)) -> float:
        """Error rate, or root mean squared error over the labels' deviation."""
        mean = float(self.losses[rows].mean())
        return mean if self.classes else mean**0.5


def _path(cache: Path, stream: str, rows: int, name: str) -> Path:
    return cache / f"{stream}-{rows}-{name}.npz"


def kept(cache: Path, stream: str, rows: int, name: str) -> Record | None:
    """The record in the cache, whoever made it."""
    path = _path(cache, stream, rows, name)
    if not path.is_file():
        return None
    with np.load(path) as file:
        return Record(file["y"], file["answers"], int(file["classes"]), float(file["seconds"]), str(file["made_by"]))


def answered(cache: Path, stream: Stream, rows: int, name: str, limit: float) -> Record:
    """The contestant's record, continued until all rows are answered or the limit of seconds is used up."""
    contestant = CONTESTANTS[name]
    made_by = contestant.made_by(stream.name)
    record = kept(cache, stream.name, rows, name)
    if record is None or record.made_by != made_by or not np.array_equal(record.y, stream.y):
        record = Record(stream.y, np.empty(0), stream.classes, 0.0, made_by)
    if record.finished or record.seconds >= limit:
        return record
    pieces = contestant.answers(stream, len(record.answers))
    while not record.finished and record.seconds < limit:
        start = time.process_time()
        piece = next(pieces)
        seconds = record.seconds + time.process_time() - start
        record = Record(stream.y, np.concatenate([record.answers, piece]), stream.classes, seconds, made_by)
        _keep(record, _path(cache, stream.name, rows, name))
    return record


def _keep(record: Record, path: Path) -> None:
    """Whole or not at all: whoever stops us in the middle loses the last piece alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        np.savez(file, **vars(record))
    os.replace(unfinished, path)
