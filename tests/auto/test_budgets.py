"""Auto within its budgets of memory and time, and with thousands of classes."""

from __future__ import annotations

import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

import nystream
from nystream import Auto
from nystream.auto import budget
from nystream.auto.budget import bytes_of, in_time, seconds_a_row, seconds_of, slowness
from nystream.auto.recipe import EXPERTS, Recipe


@pytest.mark.parametrize(("memory", "d"), [("4MB", 8), ("4MB", 200), ("16MB", 200), ("64MB", 900)])
def test_memory_is_never_exceeded_not_even_for_a_moment(memory, d):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2100, d)), rng.normal(size=2100)
    tracemalloc.start()
    model = Auto(memory=memory)
    for i in range(0, 2100, 100):  # over the end of the warm-up and, for the small ones, refreshes
        model.run(X[i : i + 100], y[i : i + 100])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.nbytes < most < bytes_of(memory)


def test_thousands_of_classes_stay_within_memory_and_are_learnt():
    """2,000 classes around centres of their own, some frequent, most rare; the last ones appear late."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1.0, 2001)
    c = rng.choice(2000, size=1200, p=frequency / frequency.sum()).astype(float)
    c[600] = 1999.0
    X = rng.normal(size=(2000, 8))[c.astype(int)] + 0.3 * rng.normal(size=(1200, 8))
    model, said = Auto(task="classification", memory="32MB"), []
    tracemalloc.start()
    for i in range(0, 1200, 100):
        said += model.run(X[i : i + 100], c[i : i + 100]).argmax(axis=1).tolist()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.outputs_ == 2000
    assert model.nbytes < most < 32e6
    assert (np.array(said) != c)[600:].mean() < 0.7 * (c != 0)[600:].mean()
    with pytest.raises(ValueError, match=r"2000 classes: at least memory='\d+MB' is needed"):
        Auto(task="classification", memory="4MB").run(X[:1], [1999.0])


def test_classes_that_outgrow_memory_shrink_the_experts_whenever_they_come():
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(700, 4)), rng.integers(0, 3, 700).astype(float)
    c[400:] = rng.integers(0, 600, 300)
    recipe = Recipe((1, 2, 20, 300), landmarks=60, big=200, small=20, ring=200, window=100, metric=100)
    model = Auto(task="classification", memory="10MB", recipe=recipe)
    model.run(X[:400], c[:400])
    assert model.expert_set_.recipe.landmarks == 60
    P = model.run(X[400:], c[400:])
    assert model.expert_set_.recipe.landmarks < 60
    assert np.isfinite(P[:, :3]).all()
    resumed = nystream.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(resumed.run(X[:50], c[:50]), model.run(X[:50], c[:50]))


def test_a_shorter_deadline_never_has_more_experts_or_larger_ones():
    full = Recipe()
    sizes = []
    for deadline in (1.0, 1e-3, 4e-4, 3e-4, 2e-4, 1.2e-4):
        r = in_time(full, slowness() * deadline, 22, 1)
        assert seconds_a_row(r, 22, 1) <= deadline
        sizes.append((len(r.experts), r.big, r.landmarks))
    assert sizes[0] == (len(EXPERTS), full.big, full.landmarks)
    for larger, smaller in pairwise(sizes):
        assert all(b <= a for a, b in zip(larger, smaller, strict=True))
    with pytest.raises(ValueError, match="deadline is too short for rows of 22 columns on this machine"):
        Auto(deadline="1us").run(np.zeros((1, 22)), [0.0])


@pytest.mark.parametrize("experts", [("ag",), ("ag", "lin.95"), ("ag", "glob", "lin.95", "win1000")])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_any_experts_may_be_left_out(task, experts):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    labels = y if task == "regression" else np.digitize(y, [-0.5, 0.5]).astype(float)
    recipe = Recipe((1, 2, 5, 20, 60), landmarks=40, big=30, ring=100, refresh=50, metric=50, experts=experts)
    model, stepped = Auto(task=task, recipe=recipe), Auto(task=task, recipe=recipe)
    if task == "classification":
        for one in (model, stepped):
            one.reserve(3, 3)
    P = model.run(X, labels)
    Q = np.array([stepped.step(x, label) for x, label in zip(X, labels, strict=True)])
    np.testing.assert_allclose(Q[3:], P[3:], atol=1e-8)
    assert model.expert_set_.names == list(experts)
    if task == "regression":
        assert np.mean((P - y)[100:] ** 2) < 0.3 * y.var()
    else:
        assert (P.argmax(axis=1) != labels)[100:].mean() < 0.35


def test_what_a_deadline_decided_is_part_of_the_model(monkeypatch):
    """Loaded on a machine a hundred times slower, the model goes on as it was."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    monkeypatch.setattr(budget, "slowness", lambda: 1.0)
    model = Auto(deadline="12ms")
    model.run(X[:30], y[:30])
    monkeypatch.setattr(budget, "slowness", lambda: 100.0)
    resumed = nystream.from_bytes(model.to_bytes())
    assert resumed.expert_set_.recipe.experts == model.expert_set_.recipe.experts
    np.testing.assert_array_equal(resumed.run(X[30:], y[30:]), model.run(X[30:], y[30:]))
    fewer = Auto(deadline="12ms")
    fewer.run(X[:1], y[:1])
    assert len(fewer.expert_set_.recipe.experts) < len(model.expert_set_.recipe.experts)


def test_the_shortest_deadline_that_a_refusal_names_is_accepted(monkeypatch):
    monkeypatch.setattr(budget, "slowness", lambda: 1.0)
    for changes in (True, False):
        with pytest.raises(ValueError, match="it can be") as caught:
            Auto(deadline="1us", changes=changes).run(np.zeros((1, 22)), [0.0])
        named = str(caught.value).split("'")[1]
        Auto(deadline=named, changes=changes).run(np.zeros((1, 22)), [0.0])


def test_the_deadline_holds_against_the_processor_clock(monkeypatch):
    """At 2 ms, several times what all experts take: load moves times, but not by that much."""
    monkeypatch.setattr(budget, "slowness", lambda: 1.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = X[:, 0] * X[:, 1]
    model = Auto(deadline="2ms")
    model.run(X[:210], y[:210])
    start = time.process_time()
    for x, label in zip(X[210:390], y[210:390], strict=True):
        model.step(x, label)
    assert (time.process_time() - start) / 180 < 2e-3


def test_nonsense_is_named():
    assert (bytes_of("64MB"), bytes_of(1000), seconds_of("1ms"), seconds_of(None)) == (64e6, 1000, 1e-3, None)
    for bad in ({"memory": "much"}, {"memory": -1}, {"deadline": "soon"}, {"task": "both"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Auto(**bad)
    with pytest.raises(ValueError, match="memory is too small"):
        Auto(memory="1KB").run(np.zeros((1, 50)), [0.0])
    with pytest.raises(ValueError, match="experts must be some of ag, glob"):
        Recipe(experts=("ag", "oracle"))
