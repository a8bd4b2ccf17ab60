"""Fair scheduling: the commands of many models are applied in slices, so that none waits for all rows of another."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from nystream.serve.models import Entry
    from nystream.serve.writer import Command

__all__ = ["Slices", "Turns", "complete"]

T = TypeVar("T")
Slices: TypeAlias = Generator[None, None, T]
"""Yields between slices of a few milliseconds."""


def complete(work: Slices[T]) -> T:
    """Run all slices; return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


class _Line:
    """The commands of one model that wait, and the seconds that the model has had since it began to wait."""

    def __init__(self, entry: Entry, spent: float) -> None:
        self.entry, self.spent = entry, spent
        self.work: Slices[Any] | None = None


class Turns:
    """Commands by model: each model's in order, and always a slice of the model that had the least time.

    A model that comes new begins with the time of the one that had least, so that it is served next, and those who
    wait longer are not put off for ever.
    """

    def __init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self.waiting = 0
        """Commands that are not applied yet."""
        self.seconds = 0.0
        """Time that they will take, about."""

    def add(self, command: Command) -> None:
        """Put a durable command at the end of its model's line."""
        entry = command.line
        assert entry is not None
        if entry.id not in self._lines:
            least = min((line.spent for line in self._lines.values()), default=0.0)
            self._lines[entry.id] = _Line(entry, least)
        entry.pending.append(command)
        command.seconds = command.rows * entry.row_seconds
        self.seconds += command.seconds
        self.waiting += 1

    def commands(self) -> list[Command]:
        """Return all commands that are not applied yet."""
        return [command for line in self._lines.values() for command in line.entry.pending]

    def take(self, apply: Any) -> tuple[Command, Any] | None:
        """Run one slice, by `apply(command)`; return the command and its answer if that was its last."""
        line = min(self._lines.values(), key=lambda found: found.spent)
        entry = line.entry
        command = entry.pending[0]
        began = time.perf_counter()
        if line.work is None:
            line.work = apply(command)
        try:
            next(line.work)
            entry.halfway = True
            return None
        except StopIteration as end:
            answer = end.value
        finally:
            line.spent += time.perf_counter() - began
        line.work, entry.halfway = None, False
        entry.pending.popleft()
        self.waiting -= 1
        self.seconds = self.seconds - command.seconds if self.waiting else 0.0
        if not entry.pending:
            del self._lines[entry.id]
        return command, answer
