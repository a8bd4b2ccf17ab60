"""Learners in processes of their own learn, and are measured, as in one."""

from __future__ import annotations

import multiprocessing
import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import FOGD, PKRR, Aggregate, Fourier, Gaussian, KernelRidge, compare, streams
from nystream.evaluate import sharing
from nystream.learners.base import Learner
from nystream.runtime.processes import FORK

pytestmark = pytest.mark.skipif(not FORK, reason="processes cannot be forked here")

METRICS = ["mse", "mse@100", "size", "rows_per_second"]


def field() -> dict[str, Learner]:
    features = Fourier(Gaussian(0.5), 30, seed=0)
    return {
        "fogd": FOGD(Gaussian(0.5), dim=30, loss="squared", seed=0),
        "pkrr": PKRR(features),
        "kernel": KernelRidge(Gaussian(0.5), lam=0.1),
        "both": Aggregate([PKRR(features), PKRR(features, lam=0.1)], bound=2.0),
    }


class Counted:
    """A stream that says how often it was read, and where its reader is."""

    def __init__(self, X: np.ndarray, y: np.ndarray, broken_at: int | None = None) -> None:
        self.X, self.y, self.passes, self.broken_at = X, y, 0, broken_at

    def blocks(self, size):
        self.passes += 1
        for i in range(0, len(self.X), size):
            if i == self.broken_at:
                raise ValueError(f"s.csv:{i}: not a number")
            yield self.X[i : i + size], self.y[i : i + size]


@pytest.mark.parametrize("jobs", [2, 7])
def test_everything_but_the_time_is_as_with_one_process(jobs, monkeypatch):
    monkeypatch.setattr(sharing, "AHEAD", 2)
    X, y = streams.sine(700, seed=0)
    alone, together, stream, heard = field(), field(), Counted(X, y), []
    expected = compare((X, y), alone, METRICS, every=150, block=64)
    found = compare(stream, together, METRICS, every=150, block=64, jobs=jobs, progress=heard.append)
    assert found.names == expected.names
    assert stream.passes == 1
    for name in found.names:
        for column in ("n", "mse", "mse@100", "size"):
            assert_array_equal(found[name].columns[column], expected[name].columns[column])
        assert found[name].meta["seconds"] > 0
        assert together[name].to_bytes() == alone[name].to_bytes()
        assert_array_equal(together[name].run(X[:9], y[:9]), alone[name].run(X[:9], y[:9]))  # and it goes on
        assert [s.n for s in heard if s.name == name] == [150, 300, 450, 600, 700]


def test_a_stream_that_fails_is_said_as_it_is():
    X, y = streams.sine(300, seed=0)
    with pytest.raises(ValueError, match=r"^s.csv:128: not a number$"):
        compare(Counted(X, y, broken_at=128), field(), METRICS, every=64, block=64, jobs=2)
    assert multiprocessing.active_children() == []


def test_a_learner_that_fails_is_named():
    X, y = streams.sine(300, seed=0)
    X[200, 0] = np.nan
    with pytest.raises(ValueError, match=r"X has nan at row .*block that starts at row"):
        compare((X, y), field(), METRICS, every=50, jobs=2)
    assert multiprocessing.active_children() == []


def test_an_interrupt_leaves_whole_results():
    X, y = streams.sine(4000, seed=0)
    learners = field()

    def interrupted(snapshot):
        if snapshot.n == 100:
            os.kill(os.getpid(), signal.SIGINT)
            interrupts.append(snapshot.name)

    interrupts: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    found = compare((X, y), learners, METRICS, every=50, jobs=2, progress=lambda s: interrupts or interrupted(s))
    assert len(interrupts) == 1
    assert signal.getsignal(signal.SIGINT) is before
    assert found.interrupted
    assert multiprocessing.active_children() == []
    for result in found:
        assert result.rows == learners[result.name].n_seen < 4000


def test_the_second_interrupt_ends_all_at_once():
    X, y = streams.sine(4000, seed=0)

    def interrupted(snapshot):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        compare((X, y), field(), METRICS, every=50, jobs=2, progress=interrupted)
    assert multiprocessing.active_children() == []


def test_jobs_are_at_least_one():
    with pytest.raises(ValueError, match="jobs must be a whole number of at least 1"):
        compare(streams.sine(50, seed=0), field(), METRICS, jobs=0)
