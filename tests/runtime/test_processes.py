"""Work in processes: what comes back, in which order things may happen, and that nobody is left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings

import pytest

from nystream.runtime import blas
from nystream.runtime.processes import FORK, Crew, in_processes, processes
from nystream.runtime.threads import VARIABLE, WORKERS, threads

pytestmark = pytest.mark.skipif(not FORK, reason="processes cannot be forked here")
LONG = 600
"""Seconds that a child would take that nobody ends."""


@pytest.fixture(autouse=True)
def nobody_is_left():
    yield
    assert multiprocessing.active_children() == []


def returned(value):
    return lambda line: value


def test_tasks_are_done_as_many_at_once_as_asked_for():
    busy, most = [], []

    def work(line):
        line.tell(+1)
        time.sleep(0.02)
        line.tell(-1)
        return os.getpid()

    def told(name, change):
        busy.append(name) if change > 0 else busy.remove(name)
        most.append(len(busy))

    found = dict(in_processes({str(i): work for i in range(5)}, 2, told))
    assert sorted(found) == list("01234")
    assert len(set(found.values()) | {os.getpid()}) == 6
    assert max(most) <= 2


def test_a_child_can_ask():
    with Crew() as crew:
        crew.start("a", lambda line: line.ask("how many") + 1)
        for name, kind, content in crew.messages():
            if kind == "told":
                assert content == "how many"
                crew.answer(name, 2)
            else:
                assert (kind, content) == ("done", 3)
        assert len(crew) == 0


def test_a_failure_is_raised_here_and_ends_the_others():
    def fails(line):
        raise ValueError("row 7 is odd")

    began = time.monotonic()
    with pytest.raises(ValueError, match="row 7 is odd") as caught:
        list(in_processes({"good": lambda line: time.sleep(LONG), "bad": fails}, 2))
    assert time.monotonic() - began < LONG / 2
    assert "in the process of bad" in str(caught.value.__cause__)


def test_an_error_that_does_not_travel_says_the_same():
    class Local(Exception):
        pass

    def fails(line):
        raise Local("so it is")

    with pytest.raises(RuntimeError, match="Local: so it is"):
        list(in_processes({"bad": fails}, 1))


def test_a_child_that_was_killed_is_told_in_one_line():
    with pytest.raises(
        ChildProcessError, match=r"^worn: its process was ended by SIGKILL \(memory may have run out\)$"
    ):
        list(in_processes({"worn": lambda line: os.kill(os.getpid(), signal.SIGKILL)}, 1))


def test_warnings_are_given_here():
    def warns(line):
        warnings.warn("a label is outside", stacklevel=1)

    with pytest.warns(UserWarning, match="a label is outside"):
        list(in_processes({"a": warns}, 1))


def test_a_child_has_one_thread_and_ignores_the_keyboard(monkeypatch):
    for name in (VARIABLE, *WORKERS):
        monkeypatch.delenv(name, raising=False)

    def work(line):
        os.kill(os.getpid(), signal.SIGINT)
        return threads(), [get() for get, _ in blas._settings()]

    ((_, (own, beneath)),) = in_processes({"a": work}, 1)
    assert own == 1
    assert set(beneath) <= {1}
    assert processes() == threads() >= 1


def test_children_end_though_they_do_not_heed_what_asks_them_to():
    """As one that has only begun, whose parent deals with SIGTERM in its own way."""

    def deaf(line):
        signal.signal(signal.SIGTERM, lambda *_: None)
        line.tell("ready")
        time.sleep(LONG)

    began = time.monotonic()
    with Crew() as crew:
        crew.start("deaf", deaf)
        next(crew.messages())
    assert time.monotonic() - began < LONG / 2


def test_whoever_stops_listening_ends_the_children():
    for name, _ in in_processes({"a": returned(1), "b": lambda line: time.sleep(LONG)}, 2):
        assert name == "a"
        break
