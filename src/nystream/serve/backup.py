"""A copy of the whole folder while it is served: the log and the snapshots that it names, of one moment."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from nystream.serve.form import one_line
from nystream.serve.json_text import to_json
from nystream.serve.log import Full
from nystream.serve.refusals import Refusal
from nystream.serve.snapshots import no_room, sync
from nystream.serve.writer import Command, Writer

__all__ = ["Backup"]

NO_ROOM = "there is no room on the disk for a backup"


class Backup(Command):
    """Into a new folder of DIR/backups. Snapshot files never change, so that links to them are enough."""

    alone = True

    def execute(self, writer: Writer) -> Any:
        store, now = writer.store, time.time()
        with store.log.transaction():
            store.write_pending(now)
        store.pending_written()
        name = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now)) + f"-{store.log.seq}"
        place: Path = store.folder / "backups" / name
        if place.exists():
            raise Refusal(409, f"there is a backup {name} already, of this second and this event")
        part = place.with_name(name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            (part / "snapshots").mkdir(parents=True)
            store.log.copy(part / "log.db")
            for (file,) in store.log.run("select file from snapshot").fetchall():
                os.link(store.files / file, part / "snapshots" / file)
            for path in (part / "log.db", part / "snapshots", part):
                sync(path)
            part.rename(place)
            sync(place.parent)
        except (Full, OSError) as error:
            shutil.rmtree(part, ignore_errors=True)
            if isinstance(error, Full) or no_room(error):
                raise Refusal(507, NO_ROOM) from None
            raise Refusal(409, f"there is no backup: {one_line(error)}") from None
        return to_json({"backup": str(place), "event": store.log.seq})
