"""Stages of a call: their lines, their metrics in MLflow, and what an interrupt does."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")
from nystream.spark.progress import Run, Stages


class Session:
    """Notes what is called in place of a session of Spark."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self.interrupted: list[str] = []

    def addTag(self, tag: str) -> None:
        self.tags.append(tag)

    def removeTag(self, tag: str) -> None:
        self.tags.remove(tag)

    def interruptTag(self, tag: str) -> None:
        self.interrupted.append(tag)


class Client:
    """Notes metrics in place of a client of MLflow, and fails where `broken` is set."""

    found: list[tuple[str, str, float, int]]
    broken = False

    def log_metric(self, run: str, name: str, value: float, step: int) -> None:
        if self.broken:
            raise OSError("the server is away")
        self.found.append((run, name, value, step))


@pytest.fixture
def mlflow(monkeypatch):
    Client.found, Client.broken = [], False
    run = SimpleNamespace(info=SimpleNamespace(run_id="r1"))
    fake = SimpleNamespace(active_run=lambda: run, MlflowClient=Client)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    return fake


def test_stages_have_lines_and_an_interrupt_cancels_the_jobs_of_one(caplog):
    caplog.set_level(logging.INFO, "nystream.spark")
    session, lines = Session(), []
    stages = Stages(session, "fit", 2, lines.append)
    with stages.stage("learn") as notes:
        assert len(session.tags) == 1
        notes.append("7 rows")
    assert lines[0].startswith("fit, stage 1 of 2: learn, 7 rows (")
    assert caplog.messages == lines
    with pytest.raises(KeyboardInterrupt), stages.stage("merge"):
        raise KeyboardInterrupt
    assert session.interrupted == [stages.tag]
    assert not session.tags


def test_stages_are_metrics_of_the_active_run(mlflow):
    stages = Stages(Session(), "fit_auto", 1, None)
    with stages.stage("first pass"):
        stages.log({"rows": 7})
    assert Client.found[0] == ("r1", "nystream.fit_auto.rows", 7.0, 0)
    assert Client.found[1][:2] == ("r1", "nystream.fit_auto.seconds of first pass")


def test_without_a_run_or_without_mlflow_nothing_is_logged(mlflow, monkeypatch):
    mlflow.active_run = lambda: None
    Run.active().log({"rows": 1.0})
    monkeypatch.delitem(sys.modules, "mlflow")
    assert Run.active() == Run(None)
    assert not Client.found


def test_a_run_that_cannot_be_written_is_a_warning(mlflow, caplog):
    Client.broken = True
    Run.active().log({"rows": 1.0})
    assert "the MLflow run r1 got no metrics: the server is away" in caplog.text
