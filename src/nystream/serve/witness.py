"""The witness: a small file beside the log that says which event of each model was committed last.

It is written after a commit and before the answers, without a sync. After a kill of the process it is as new as the
log, after a loss of power it may be older, and it is never newer. So a log that ends before its witness has lost
events that were acknowledged.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

__all__ = ["DELETED", "Witness"]

_SLOT = struct.Struct("<qqI4x")
"""Model, number of its last event, checksum of both. Slot 0 holds the magic number and the highest model."""
MAGIC = 0x6E797377
"""First number of the file, by which it is recognised: "nysw" in ASCII."""
DELETED = -1
"""Stands for the last event of a model that was deleted."""


class Witness:
    """One slot of 24 bytes for each model, by its id."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "witness"
        self._handle: int | None = None
        self.seen: dict[int, int] = {}
        """Last committed event by model, as the file had it at the start."""
        self.damage: list[str] = []
        """Sentences about slots that cannot be read."""
        self._highest = 0
        self._read()

    def _read(self) -> None:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            self.damage.append(f"{self.path} cannot be read: {error.strerror}")
            return
        if not content:
            return
        if len(content) % _SLOT.size:
            self.damage.append(f"{self.path} is cut off after {len(content)} bytes")
        slots = [_slot(content, k) for k in range(len(content) // _SLOT.size)]
        for k, found in enumerate(slots):
            if found is None:
                self.damage.append(f"{self.path}: the slot of {'the header' if k == 0 else f'model {k}'} is damaged")
            elif k == 0 and found[0] == MAGIC:
                self._highest = found[1]
            elif k and found[0] == k:
                self.seen[k] = found[1]
        if len(slots) <= self._highest:
            self.damage.append(f"{self.path} has {len(slots) - 1} slots, and {self._highest} models had one")

    def write(self, model: int, seq: int) -> None:
        """Say that this event of a model was committed. A disk without room is no error: the log is what counts."""
        try:
            if self._handle is None:
                self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            if model > self._highest:
                self._highest = model
                os.pwrite(self._handle, _pack(MAGIC, model), 0)
            os.pwrite(self._handle, _pack(model, seq), model * _SLOT.size)
        except OSError:
            return

    def reset(self, seen: dict[int, int]) -> None:
        """Write the file anew: a person has accepted the log as it is."""
        self.close()
        self.path.unlink(missing_ok=True)
        self._highest, self.seen, self.damage = 0, dict(seen), []
        for model, seq in sorted(seen.items()):
            self.write(model, seq)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _pack(model: int, seq: int) -> bytes:
    return _SLOT.pack(model, seq, zlib.crc32(struct.pack("<qq", model, seq)))


def _slot(content: bytes, k: int) -> tuple[int, int] | None:
    """Return the slot, (0, 0) where nothing was ever written, or None where it is damaged."""
    part = content[k * _SLOT.size : (k + 1) * _SLOT.size]
    if not any(part):
        return 0, 0
    model, seq, crc = _SLOT.unpack(part)
    good = part == _pack(model, seq) and crc == zlib.crc32(struct.pack("<qq", model, seq))
    return (model, seq) if good and (k == 0 or model == k) else None
