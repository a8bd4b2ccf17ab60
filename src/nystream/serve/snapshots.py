"""Snapshot files: written whole or not at all, and kept by age."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from pathlib import Path

from nystream.serve.log import Broken, Full
from nystream.serve.settings import Retention

__all__ = ["no_room", "surplus", "sync", "write_durably"]

HOUR, DAY = 3600.0, 86400.0
"""Seconds of an hour and of a day."""


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole after any crash, or not at all.

    Raises Full where there is no room, and Broken where the disk failed.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if no_room(error):
            raise Full(f"{path}: {error.strerror}") from None
        raise Broken(f"{path}: {error}") from error


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a crash."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def no_room(error: OSError) -> bool:
    """Return whether a write failed because the disk, or a quota on it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def surplus(times: Iterable[tuple[int, float]], now: float, keep: Retention) -> list[int]:
    """Return which of the snapshots (id, time) need not be kept.

    All of the last `keep.all_for` seconds stay, then the first of each hour, then the first of each day. The newest
    always stays.
    """
    ordered = sorted(times, key=lambda pair: pair[1])
    seen: set[tuple[float, int]] = set()
    drop = []
    for id, at in ordered[:-1]:
        age = now - at
        if age <= keep.all_for:
            continue
        unit = HOUR if age <= keep.hourly_for else DAY
        place = (unit, int(at // unit))
        if age > keep.daily_for or place in seen:
            drop.append(id)
        seen.add(place)
    return drop
