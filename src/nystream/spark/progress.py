"""Stages of a job on Spark: a line for each, a name in Spark's own pages, and cancellation of what still runs."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

__all__ = ["LOG", "Progress", "Stages"]

LOG = logging.getLogger("nystream.spark")
"""Where stages and refused rows are reported, at level INFO and WARNING."""
Progress: TypeAlias = Callable[[str], object] | None
"""What is called with the line of a stage, `print` for example; None: the log alone."""


class Stages:
    """The stages of one call, numbered. An interrupt (Ctrl-C) cancels the Spark jobs of the stage that runs."""

    def __init__(self, session: Any, what: str, count: int, progress: Progress) -> None:
        self.session, self.what, self.count, self.progress = session, what, count, progress
        self.number, self.tag = 0, f"nystream-{what}-{uuid.uuid4().hex[:8]}"

    @contextmanager
    def stage(self, title: str) -> Iterator[list[str]]:
        """Run one stage; what is appended to the list that this yields is shown after its title."""
        self.number += 1
        began, notes = time.monotonic(), [title]
        self.session.addTag(self.tag)
        try:
            yield notes
        except KeyboardInterrupt:
            self.session.interruptTag(self.tag)
            raise
        finally:
            self.session.removeTag(self.tag)
        seconds = time.monotonic() - began
        line = f"{self.what}, stage {self.number} of {self.count}: {', '.join(notes)} ({seconds:.1f} s)"
        LOG.info(line)
        if self.progress is not None:
            self.progress(line)
