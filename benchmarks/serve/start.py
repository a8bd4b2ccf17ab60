"""A server for the benchmarks: python start.py FOLDER PORT [settings as JSON, of Settings, limits and retention].

`acknowledge_early` (without workers) and `synchronous` make it wrong on purpose: the negative controls.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from nystream.serve import Limits, Retention, Settings, run
from nystream.serve.writer import Command, Writer

commit = Writer._group


def answer_first(self: Writer, batch: list[Command]) -> None:
    """Answer before the commit."""
    self._answer([(command.future, b'{"event": 0}') for command in batch], [])
    commit(self, batch)


if __name__ == "__main__":
    options = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    limits, retention = Limits(**options.pop("limits", {})), Retention(**options.pop("retention", {}))
    if "tokens" in options:
        options["tokens"] = Path(options["tokens"])
    if options.pop("acknowledge_early", False):
        Writer._group = answer_first
    run(Settings(Path(sys.argv[1]), port=int(sys.argv[2]), limits=limits, retention=retention, **options))
