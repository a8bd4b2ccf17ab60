"""Reading ahead in another thread: same blocks, same order, errors in their place, no thread left behind."""

from __future__ import annotations

import threading
import time

import pytest

from nystream.streams.ahead import ahead


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "nystream-reader"]


def test_blocks_come_in_their_order_and_from_another_thread():
    seen = []

    def blocks():
        for i in range(1000):
            seen.append(threading.current_thread().name)
            yield i

    assert list(ahead(blocks())) == list(range(1000))
    assert set(seen) == {"nystream-reader"}
    assert not readers()


def test_no_more_blocks_are_fetched_than_may_wait():
    fetched = []

    def blocks():
        for i in range(100):
            fetched.append(i)
            yield i

    reading = ahead(blocks(), depth=3)
    assert next(reading) == 0
    deadline = time.monotonic() + 300
    while len(fetched) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)  # time to fetch more, if it did
    assert len(fetched) == 5  # the one that was taken, three that wait, one that has no place
    reading.close()
    assert len(fetched) == 5
    assert not readers()


def test_an_error_comes_after_the_blocks_before_it_as_it_was():
    def blocks():
        yield 1
        yield 2
        raise ValueError("a.csv:3: is damaged")

    reading = ahead(blocks())
    assert [next(reading), next(reading)] == [1, 2]
    with pytest.raises(ValueError, match=r"a\.csv:3: is damaged"):
        next(reading)
    assert next(reading, None) is None
    assert not readers()


def test_whoever_stops_early_closes_the_source():
    closed = []

    def blocks():
        try:
            yield from range(100)
        finally:
            closed.append(threading.current_thread().name)

    for block in ahead(blocks(), depth=2):
        if block == 3:
            break
    deadline = time.monotonic() + 300
    while not closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert closed == ["nystream-reader"]
    assert not readers()


def test_a_source_that_is_not_a_generator_will_do():
    assert list(ahead(iter([1, 2, 3]))) == [1, 2, 3]
