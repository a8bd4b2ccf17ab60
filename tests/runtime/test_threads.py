"""Threads: how many there are, and that they change nothing but the time."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import PKRR, Aggregate, Fourier, Gaussian, KernelRidge
from nystream.auto.learner import Auto
from nystream.auto.recipe import Recipe
from nystream.runtime import blas
from nystream.runtime.threads import VARIABLE, WORKERS, at_most, run_parallel, threads

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)


@pytest.fixture
def outside(monkeypatch):
    """As in a process that is nobody's worker."""
    for name in (VARIABLE, *WORKERS):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_there_are_as_many_as_asked_for_and_one_in_a_worker(outside):
    assert threads() >= 1
    outside.setenv("LOKY_WORKER_NUMBER", "3")
    assert threads() == 1
    outside.setenv(VARIABLE, "4")
    assert threads() == 4
    for bad in ("0", "many", "-1", ""):
        outside.setenv(VARIABLE, bad)
        with pytest.raises(ValueError, match="NYSTREAM_THREADS must be a whole number of at least 1"):
            threads()


def test_a_limit_holds_for_what_is_done_within_it_and_in_this_thread(outside):
    outside.setenv(VARIABLE, "4")
    elsewhere = []
    with at_most(2):
        assert threads() == 2
        with at_most(None):
            assert threads() == 2
        with pytest.raises(ZeroDivisionError), at_most(1):
            1 // (threads() - 1)
        assert threads() == 2
        other = threading.Thread(target=lambda: elsewhere.append(threads()))
        other.start()
        other.join()
    assert threads() == elsewhere[0] == 4


def test_auto_has_as_many_as_its_parameter_says_with_the_same_bits(outside):
    class Watched(Auto):
        def _run(self, X, Y, weights):
            found.append(threads())
            return super()._run(X, Y, weights)

    outside.setenv(VARIABLE, "3")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y, P = np.sin(X[:, 0]), []
    for count in (1, 2, 4, None):
        found: list[int] = []
        P.append(Watched(recipe=SMALL, threads=count).run(X, y))
        assert set(found) == {count or 3}
        assert_array_equal(P[-1], P[0])
    with pytest.raises(ValueError, match="threads must be"):
        Auto(threads=0)


def test_results_come_in_the_order_of_the_jobs_and_the_first_stays_here(outside):
    outside.setenv(VARIABLE, "3")
    found = run_parallel([lambda i=i: (i, threading.current_thread().name) for i in range(5)])
    assert [i for i, _ in found] == list(range(5))
    assert found[0][1] == threading.current_thread().name
    assert all(name.startswith("nystream") for _, name in found[1:3])


def test_as_many_work_at_once_as_were_asked_for(outside):
    outside.setenv(VARIABLE, "2")
    together = threading.Barrier(4)
    assert run_parallel([lambda: together.wait(300) >= 0] * 4, most=4) == [True] * 4
    busy, most = [], []

    def job():
        busy.append(True)
        most.append(len(busy))
        threading.Event().wait(0.002)
        busy.pop()

    run_parallel([job] * 12, most=3)
    assert max(most) <= 3


def test_jobs_have_the_settings_of_who_asks(outside):
    outside.setenv(VARIABLE, "2")
    before = np.geterr(), np.geterrcall()
    told = []
    with np.errstate(divide="raise", over="call", call=lambda kind, flag: told.append(kind)):
        together = threading.Barrier(2)  # so that one of them is in another thread

        def job():
            together.wait(300)
            np.float64(1e308) * np.float64(1e308)
            return np.geterr()["divide"]

        assert run_parallel([job] * 4) == ["raise"] * 4
    assert told == ["overflow"] * 4
    assert run_parallel([lambda: (np.geterr(), np.geterrcall())] * 4) == [before] * 4


@pytest.mark.parametrize("count", ["1", "3"])
def test_the_linear_algebra_beneath_has_one_thread_meanwhile(outside, count):
    outside.setenv(VARIABLE, count)
    settings = blas._settings()
    before = [get() for get, _ in settings]
    try:
        for _, put in settings:
            put(4)
        seen = run_parallel([lambda: [get() for get, _ in settings]] * 4)
        assert seen == [[1] * len(settings)] * 4
        assert [get() for get, _ in settings] == [4] * len(settings)
        with blas.single_threaded(), blas.single_threaded():
            pass
        assert [get() for get, _ in settings] == [4] * len(settings)
    finally:
        for (_, put), number in zip(settings, before, strict=True):
            put(number)


def test_the_bits_do_not_depend_on_threads_where_the_linear_algebra_has_several(outside):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 60))
    y = np.sin(X[:, 0])
    features = [Fourier(Gaussian(8.0), 500, seed=i) for i in range(2)]
    settings = blas._settings()
    before = [get() for get, _ in settings]
    try:
        for _, put in settings:
            put(4)
        found = []
        for count in ("1", "2", "4"):
            outside.setenv(VARIABLE, count)
            members = [PKRR(f, lam=lam) for f in features for lam in (0.1, 1.0)]
            model = Aggregate([*members, KernelRidge(Gaussian(8.0), lam=0.1)], bound=2.0)
            found.append((model.run(X, y), model.to_bytes()))
    finally:
        for (_, put), number in zip(settings, before, strict=True):
            put(number)
    for predictions, state in found[1:]:
        assert_array_equal(predictions, found[0][0])
        assert state == found[0][1]


def test_jobs_of_jobs_do_not_wait_for_each_other(outside):
    outside.setenv(VARIABLE, "2")
    inner = [lambda: 1, lambda: 2, lambda: 3]
    assert run_parallel([lambda: run_parallel(inner)] * 4) == [[1, 2, 3]] * 4


def test_what_fails_is_raised_when_all_have_ended(outside):
    outside.setenv(VARIABLE, "2")
    ended = []

    def slow():
        threading.Event().wait(0.05)
        ended.append(True)

    with pytest.raises(ZeroDivisionError):
        run_parallel([lambda: 1 // 0, slow])
    assert ended == [True]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_auto_gives_the_same_bits_with_any_number_of_threads(outside, task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.cumsum(X[:, 0]) if task == "regression" else np.digitize(X[:, 0], [-0.5, 0.5]).astype(float)
    found = []
    for count in ("1", "2", "4"):
        outside.setenv(VARIABLE, count)
        found.append(Auto(recipe=SMALL, task=task).run(X, y))
    assert_array_equal(found[1], found[0])
    assert_array_equal(found[2], found[0])


def _in_a_child(results):
    X = np.random.default_rng(0).normal(size=(200, 2))
    results.put((threads(), float(Auto(recipe=SMALL).run(X, X[:, 0])[-1])))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_a_child_that_was_forked_does_not_wait_for_threads_of_its_parent(outside):
    outside.setenv(VARIABLE, "2")
    run_parallel([lambda: 1, lambda: 2])
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_in_a_child, args=(results,))
    child.start()
    try:
        count, last = results.get(timeout=300)
    finally:
        child.kill()
        child.join()
    assert count == 2
    assert np.isfinite(last)
