"""Processes that a test starts, and that do not outlive it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PATIENCE = 300.0
"""Seconds that a process may take to end: machines can be busy."""


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process; kill it where the test fails, and wait for its end."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
            process.wait(PATIENCE)
        except BaseException:
            process.kill()
            raise
