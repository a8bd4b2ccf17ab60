"""What parts of the automatic learner tell beforehand that they will take, against what they take."""

import tracemalloc

import numpy as np
import pytest

from nystream import Auto
from nystream.auto.budget import SLACK, Need, in_memory, largest_bytes, warmup_bytes
from nystream.auto.experts import ForgettingLinear, ForgettingRidge, LargeRidge, Ridge, WindowSmoother
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack
from nystream.auto.views import View
from nystream.scaling import StandardScale
from nystream.scaling.ring import Ring

D, K = 30, 3


def fitted(expert, outputs=K):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, D)), rng.normal(size=(400, outputs))
    view = View(StandardScale())
    view.fit(X)
    expert.fit(view, X, Y, None, rng)
    return expert


@pytest.mark.parametrize(
    ("expert", "told"),
    [
        (Ridge(200), Ridge.nbytes_for(200, D, K)),
        (LargeRidge(300), LargeRidge.nbytes_for(300, D, K)),
        (ForgettingRidge(150), ForgettingRidge.nbytes_for(150, K)),
        (ForgettingLinear(), ForgettingLinear.nbytes_for(D + 1, K)),
        (ForgettingLinear(1.0), ForgettingLinear.nbytes_for(D + 1, K, forgets=False)),
        (WindowSmoother(250), WindowSmoother.nbytes_for(250, D, K)),
    ],
    ids=lambda value: value.title if hasattr(value, "title") else "",
)
def test_an_expert_takes_about_what_it_told(expert, told):
    taken = fitted(expert).nbytes
    few = 8 * 8 * 8 * (D + 100)  # what is padded to whole lines of the cache counts where there is little else
    assert 0.5 * told < taken < SLACK * told + few


def test_a_full_ring_takes_what_it_told():
    ring = Ring(100, 7)
    ring.extend(np.zeros((300, 7)))
    assert ring.nbytes == Ring.nbytes_for(100, 7)


@pytest.mark.parametrize(("classes", "outputs"), [(False, 1), (False, 20), (True, 2), (True, 30)])
def test_a_stack_takes_no_more_than_it_told(classes, outputs):
    stack = Stack(classes, True)
    stack.start(8, outputs)
    assert stack.nbytes < Stack.nbytes_for(8, outputs, codes=classes) + 8 * 2000


@pytest.mark.parametrize("codes", [False, True])
@pytest.mark.parametrize("d", [5, 400])
def test_a_model_never_holds_more_than_its_parts_told_together(d, codes):
    recipe = Recipe((1, 2, 20, 100), landmarks=40, big=120, small=20, ring=80, refresh=40, window=60, metric=60)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, d)), rng.integers(0, 4, 200).astype(float)
    model, most = Auto(task="classification" if codes else "regression", recipe=recipe), 0
    for i in range(0, 200, 20):
        model.run(X[i : i + 20], y[i : i + 20])
        most = max(most, model.nbytes)
    assert most < largest_bytes(recipe, d, 4 if codes else 1, codes=codes)


@pytest.mark.parametrize("experts", [("ag",), ("glob", "big"), ("lin.95", "win1000"), ("ag.99", "change")])
def test_memory_holds_for_any_experts(experts):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 60)), rng.normal(size=1500)
    tracemalloc.start()
    model = Auto(memory="6MB", recipe=Recipe(experts=experts))
    for i in range(0, 1500, 100):
        model.run(X[i : i + 100], y[i : i + 100])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.pipeline_.incumbent_.warm
    assert model.nbytes < most < 6e6


def test_experts_that_do_not_live_take_nothing():
    whole, some = Recipe(), Recipe(experts=("ag", "win1000"))
    assert warmup_bytes(some, 20, 1, codes=False) < 0.5 * warmup_bytes(whole, 20, 1, codes=False)
    need = Need(12e6, 20, 1)
    assert in_memory(some, need).landmarks >= in_memory(whole, need).landmarks


def test_a_larger_budget_never_buys_less():
    sizes = [in_memory(Recipe(), Need(budget, 22, 1)) for budget in (3e6, 6e6, 12e6, 24e6, 48e6, 96e6)]
    assert [r.landmarks for r in sizes] == sorted(r.landmarks for r in sizes)
    assert all(largest_bytes(r, 22, 1) <= b for r, b in zip(sizes, (3e6, 6e6, 12e6, 24e6, 48e6, 96e6), strict=True))
