"""Callbacks that are called at drift alarms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from nystream.auto.drift.records import Alarm

__all__ = ["Listener", "Listeners"]

Listener: TypeAlias = Callable[[Alarm], Any]


class Listeners:
    """Callbacks of one object, called once for every alarm; they are not saved, copied or cloned with it.

    They are called after the rows of a `step` or `run` are learnt and everything is consistent, in the order in which
    they were added. If some of them raise, all are called first, and then the first exception is raised.
    """

    def __init__(self) -> None:
        self._callbacks: list[tuple[Listener, bool]] = []
        self._row = 0

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def add(self, callback: Listener, *, warnings: bool, row: int) -> None:
        """Add a callback for alarms after this row, and for warnings too if they are wanted."""
        if not callable(callback):
            raise TypeError(f"on_alarm takes a function of one alarm, got {callback!r}")
        if not self._callbacks:
            self._row = row
        self._callbacks.append((callback, warnings))

    def announce(self, records: Sequence[Alarm], row: int) -> None:
        """Call the callbacks with the records that are new; `row`: rows learnt by now."""
        new = [alarm for alarm in records if alarm.row > self._row]
        self._row = row
        errors: list[BaseException] = []
        for alarm in new:
            for callback, warnings in list(self._callbacks):
                if warnings or alarm.level == "alarm":
                    try:
                        callback(alarm)
                    except Exception as error:
                        errors.append(error)
        if errors:
            raise errors[0]
