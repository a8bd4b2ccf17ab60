"""The lock of readers and writers: who waits for whom, and that nobody waits for ever."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager

import pytest

from nystream.runtime.lock import ReadWriteLock

STOP = 60.0


def until(happened):
    deadline = time.monotonic() + STOP
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@contextmanager
def beside(*works):
    """Threads that have ended when this does."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    yield threads
    for thread in threads:
        thread.join(STOP)
    assert not any(thread.is_alive() for thread in threads)


def entering(hold, order, name):
    """Work that holds the gate for a moment, and notes it."""

    def work():
        with hold():
            order.append(name)

    return work


def test_who_reads_is_next_though_the_writer_goes_on_at_once():
    gate, order = ReadWriteLock(), []
    with beside() as threads:
        with gate.writing():
            threads += [threading.Thread(target=entering(gate.reading, order, "read")) for _ in range(3)]
            for thread in threads:
                thread.start()
            until(lambda: gate._blocked == 3)
        for _ in range(3):
            with gate.writing():
                order.append("written")
    assert order == ["read"] * 3 + ["written"] * 3


def test_who_writes_is_next_though_readers_go_on_coming():
    gate, order = ReadWriteLock(), []
    with beside() as threads, gate.reading():
        threads.append(threading.Thread(target=entering(gate.writing, order, "written")))
        threads[0].start()
        until(lambda: gate.busy)
        threads.append(threading.Thread(target=entering(gate.reading, order, "read")))
        threads[1].start()
        until(lambda: gate._blocked == 1)
        assert order == []
    assert order == ["written", "read"]
    assert not gate.busy


def test_of_two_writers_the_one_that_waits_is_next():
    gate, order = ReadWriteLock(), []
    with beside() as threads:
        with gate.writing():
            threads.append(threading.Thread(target=entering(gate.writing, order, "other")))
            threads[0].start()
            until(gate._next.locked)
        for _ in range(3):
            with gate.writing():
                order.append("same")
    assert order == ["other", "same", "same", "same"]
    assert gate.mine


def test_many_read_at_a_time_and_one_may_enter_within():
    gate, both = ReadWriteLock(), threading.Barrier(2, timeout=STOP)

    def read():
        with gate.reading(), gate.reading():
            both.wait()

    with beside(read, read):
        pass
    with gate.writing(), gate.writing(), gate.reading():
        assert gate.mine
    with gate.writing():
        pass


def test_a_reader_enters_again_though_a_writer_waits():
    gate, order = ReadWriteLock(), []
    with beside() as threads, gate.reading():
        threads.append(threading.Thread(target=entering(gate.writing, order, "written")))
        threads[0].start()
        until(lambda: gate.busy)
        with gate.reading():
            assert order == []


def test_it_tells_who_has_read_and_whether_another_has_written():
    gate = ReadWriteLock()
    assert not gate.asked
    assert gate.mine
    with gate.reading():
        pass
    assert [gate.asked, gate.asked] == [True, False]
    with gate.writing():
        pass
    assert gate.mine
    with beside(entering(gate.writing, [], "written")):
        pass
    assert not gate.mine


@pytest.mark.parametrize("way", ["reading", "writing"])
def test_who_is_interrupted_while_waiting_is_not_waited_for(way, monkeypatch):
    gate, order, waits = ReadWriteLock(), [], threading.Event()
    wait = gate._changed.wait

    def interrupted(timeout=None):
        if threading.current_thread() is not threads[0]:
            return wait(timeout)
        waits.set()
        wait(0.01)
        raise KeyboardInterrupt

    def ask():
        with pytest.raises(KeyboardInterrupt), getattr(gate, way)():
            order.append("in")

    monkeypatch.setattr(gate._changed, "wait", interrupted)
    threads = [threading.Thread(target=ask, daemon=True)]
    with gate.reading() if way == "writing" else gate.writing():
        threads[0].start()
        assert waits.wait(STOP)
        threads[0].join(STOP)
        assert not gate.busy or way == "reading"
    with beside(entering(gate.reading, order, "read")):
        pass
    with beside(entering(gate.writing, order, "written")):
        pass
    assert order == ["read", "written"]


def test_no_two_that_must_not_are_in_it_at_once():
    gate, inside, wrong = ReadWriteLock(), {"reading": 0, "writing": 0}, []
    guard, every = threading.Lock(), sys.getswitchinterval()

    def work(way):
        for _ in range(300):
            with getattr(gate, way)():
                with guard:
                    inside[way] += 1
                    if inside["writing"] > 1 or (inside["writing"] and inside["reading"]):
                        wrong.append(dict(inside))
                with guard:
                    inside[way] -= 1

    sys.setswitchinterval(1e-5)
    try:
        with beside(*(lambda way=way: work(way) for way in ("reading", "reading", "reading", "writing", "writing"))):
            pass
    finally:
        sys.setswitchinterval(every)
    assert not wrong
