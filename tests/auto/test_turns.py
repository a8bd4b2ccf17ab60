"""Auto is asked by other threads while one learns: every answer is of one moment, and none is an error."""

from __future__ import annotations

import copy
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from changing_streams import changing
from numpy.testing import assert_array_equal

import nystream
from nystream import Auto
from nystream.auto import refit
from nystream.auto.recipe import Recipe
from nystream.runtime.lock import ReadWriteLock

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)
SPREAD = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, spread=False, **SIZES)
ROWS, STOP = 800, 60.0


def asked(ask, learn):
    """Answers of a thread that asks as long as another learns; what fails in it is raised."""
    found, failures, ended = [], [], threading.Event()

    def go():
        while not ended.is_set():
            try:
                found.append(ask())
            except BaseException as failure:
                failures.append(failure)
                return

    thread = threading.Thread(target=go)
    thread.start()
    try:
        learn()
    finally:
        ended.set()
        thread.join(STOP)
    assert not thread.is_alive()
    for failure in failures:
        raise failure
    return found


def of_all_moments(model, X, y, ask):
    """Answers after every turn: when a row was learnt, and when what falls on it was done."""
    found = [ask(model)]

    class Noted(ReadWriteLock):
        @contextmanager
        def writing(self):
            with super().writing():
                yield
            found.append(ask(model))

    model._turns = Noted()
    if model.d_:
        model.pipeline_.use_locks(model._turns, model._whole)
    for i in range(len(y)):
        model.step(X[i], y[i])
        assert found[-1] == ask(model)
    return found


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("recipe", [SMALL, SPREAD], ids=["spread", "at once"])
@pytest.mark.parametrize("single", [False, True])
def test_a_prediction_is_that_of_the_model_after_some_row(task, recipe, single, monkeypatch):
    monkeypatch.setattr(refit, "SLICE", 3e6)
    X, y = changing(ROWS, task=task)
    model = Auto(task=task, recipe=recipe)
    model.run(X[:3], np.arange(3.0) if task == "classification" else y[:3])
    twin = copy.deepcopy(model)
    probe = X[500:504]

    def learn():
        if single:
            for i in range(3, ROWS):
                model.step(X[i], y[i])
        else:
            model.run(X[3:], y[3:])

    found = asked(lambda: model.predict(probe).tobytes(), learn)
    moments = of_all_moments(twin, X[3:], y[3:], lambda m: m.predict(probe).tobytes())
    assert model.alarms()
    places = [moments.index(answer) for answer in found]  # ValueError: of no moment at all
    assert len(set(places)) > 3
    assert places == sorted(places)
    assert_array_equal(model.predict(X), twin.predict(X))


def test_everything_that_can_be_asked_is_answered(monkeypatch):
    monkeypatch.setattr(refit, "SLICE", 3e6)
    X, y = changing(ROWS)
    model = Auto(recipe=SMALL)
    model.run(X[:3], y[:3])

    def ask():
        low, high = model.predict_interval(X[:5])
        assert (low <= high).all()
        shares = model.weights()
        assert abs(sum(shares.values()) - 1) < 1e-9
        assert "rows" in model.explain()
        return model.alarms(), model.titles(), model.size, model.nbytes, model.importance(), model.explain_row(X[0])

    assert asked(ask, lambda: model.run(X[3:], y[3:]))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_what_is_saved_by_another_thread_is_the_model_of_one_moment_and_goes_on(task, monkeypatch):
    monkeypatch.setattr(refit, "SLICE", 3e6)
    X, y = changing(ROWS, task=task)
    model = Auto(task=task, recipe=SMALL)
    model.run(X[:10], y[:10])
    twin = copy.deepcopy(model)
    saved = asked(lambda: nystream.to_bytes(model), lambda: model.run(X[10:], y[10:]))
    assert saved
    P = twin.run(X[10:], y[10:])
    for file in {*saved[:3], *saved[-3:]}:
        again = nystream.from_bytes(file)
        n = again.n_seen
        assert 10 <= n <= ROWS
        if n < ROWS:
            assert_array_equal(again.run(X[n:], y[n:]), P[n - 10 :])


def test_classes_and_columns_that_come_meanwhile_are_no_error():
    X, y = changing(400, at=4000, task="classification")
    y[:200] = np.minimum(y[:200], 1)
    model = Auto(task="classification", recipe=SMALL)
    model.run(X[:3], [0.0, 1.0, 1.0])
    found = asked(lambda: model.probabilities(X[:4]), lambda: model.run(X[3:], y[3:]))
    assert {P.shape for P in found} <= {(4, 2), (4, 3)}
    assert all(np.allclose(P.sum(axis=1), 1) for P in found)
