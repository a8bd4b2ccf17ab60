"""Stages of a job on Spark: a line for each, a name in Spark's own pages, metrics in MLflow, and cancellation."""

from __future__ import annotations

import importlib
import logging
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from nystream.spark.errors import one_line

__all__ = ["LOG", "Progress", "Run", "Stages"]

LOG = logging.getLogger("nystream.spark")
"""Where stages and refused rows are reported, at level INFO and WARNING."""
Progress: TypeAlias = Callable[[str], object] | None
"""What is called with the line of a stage, `print` for example; None: the log alone."""


@dataclass(frozen=True)
class Run:
    """A run of MLflow that gets metrics, or none."""

    number: str | None
    """The run's id; None: metrics go nowhere."""

    @staticmethod
    def active() -> Run:
        """Return the run that is active in this thread, none if the program has not imported MLflow."""
        mlflow = sys.modules.get("mlflow")
        run = None if mlflow is None else mlflow.active_run()
        return Run(None if run is None else run.info.run_id)

    def log(self, figures: Mapping[str, float], step: int = 0) -> None:
        """Log figures as the metrics `nystream.NAME`. A run that cannot be written is a warning, not an error."""
        if self.number is None:
            return
        try:
            client = importlib.import_module("mlflow").MlflowClient()
            for name, value in figures.items():
                client.log_metric(self.number, f"nystream.{name}", float(value), step=step)
        except Exception as error:  # of any kind: the run may be stored anywhere
            LOG.warning("the MLflow run %s got no metrics: %s", self.number, one_line(error))


class Stages:
    """The stages of one call, numbered. An interrupt (Ctrl-C) cancels the Spark jobs of the stage that runs."""

    def __init__(self, session: Any, what: str, count: int, progress: Progress) -> None:
        self.session, self.what, self.count, self.progress = session, what, count, progress
        self.run = Run.active()
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
        self.log({f"seconds of {title}": seconds})
        if self.progress is not None:
            self.progress(line)

    def log(self, figures: Mapping[str, float]) -> None:
        """Log figures of this call in the active run of MLflow."""
        self.run.log({f"{self.what}.{name}": value for name, value in figures.items()})
