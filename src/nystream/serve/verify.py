"""Check the folder of a server without changing it: everything that a start checks, and every row and file beside."""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nystream.serve.folder import lock_all
from nystream.serve.log import Log
from nystream.serve.models import QUARANTINED
from nystream.serve.recovery import recovered
from nystream.serve.salvage import HEAD, is_closed, list_damaged_rows
from nystream.serve.store import Store
from nystream.serve.wal import read_wal

__all__ = ["Report", "verify"]


@dataclass
class Report:
    """What is wrong with a folder, and what is in it."""

    findings: list[str] = field(default_factory=list)
    quarantined: dict[str, str] = field(default_factory=dict)
    """Models that a server would not serve, and why."""
    models: int = 0
    events: int = 0
    snapshots: int = 0

    @property
    def is_good(self) -> bool:
        return not self.findings and not self.quarantined

    def add(self, text: str) -> None:
        if text not in self.findings:
            self.findings.append(text)


def verify(folder: Path) -> Report:
    """Check everything in a folder that no server holds: the log, its WAL, the witness, the snapshots, the events."""
    report = Report()
    with lock_all(folder) as places:
        for place in places:
            _check_files(place, report)
            with _copied(place) as copy:
                _check_copy(copy, place, report)
    return report


def _check_files(folder: Path, report: Report) -> None:
    """Look at the bytes of the log before SQLite does."""
    if is_closed(folder) is False:
        report.add(f"{folder / 'log.db'} has changed since the last server ended")
    state = read_wal(folder / "log.db-wal")
    if state.header_damaged:
        report.add(f"the header of {folder / 'log.db-wal'} is damaged")
    for frame in state.damaged[:5]:
        report.add(f"frame {frame} of {folder / 'log.db-wal'} has a wrong checksum")
    head = folder / "log.head"
    if head.exists():
        content = head.read_bytes()
        if len(content) != HEAD + 4 or zlib.crc32(content[:HEAD]) != int.from_bytes(content[HEAD:], "little"):
            report.add(f"{head}, the copy of the first page of the log, is damaged")


@contextmanager
def _copied(folder: Path) -> Iterator[Path]:
    """Yield a copy of the folder that may be changed; snapshots are links."""
    place = Path(tempfile.mkdtemp(prefix="nystream-verify-", dir=folder))
    try:
        for name in ("log.db", "log.db-wal", "log.head", "witness", "closed"):
            if (folder / name).exists():
                shutil.copy2(folder / name, place / name)
        (place / "snapshots").mkdir()
        for path in (folder / "snapshots").iterdir() if (folder / "snapshots").exists() else ():
            os.link(path, place / "snapshots" / path.name)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _check_copy(copy: Path, folder: Path, report: Report) -> None:
    """Do with the copy what a start does, then look at every row and every snapshot."""
    with recovered(copy, Log.close) as store:
        for finding in store.findings:
            report.add(finding.replace(str(copy), str(folder)))
        for table, id, _ in list_damaged_rows(store.log):
            report.add(f"row {id} of table {table!r} of the log has a wrong checksum")
        _check_snapshots(store, report)
        report.models += len(store.models)
        report.quarantined |= {e.name: str(e.reason) for e in store.models if e.state == QUARANTINED}
        report.events += store.log.run("select count(*) from event").fetchone()[0]


def _check_snapshots(store: Store, report: Report) -> None:
    for file, size, crc in store.log.run("select file, bytes, crc from snapshot").fetchall():
        report.snapshots += 1
        try:
            content = (store.files / file).read_bytes()
        except OSError as error:
            report.add(f"snapshot {file} cannot be read: {error.strerror}")
            continue
        if len(content) != size or zlib.crc32(content) != crc:
            report.add(f"snapshot {file} is not what was written: its checksum is wrong")
