"""Landmarks that grow after the warm-up: at rows that the recipe tells, as far as memory and deadline allow."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from weakref import ref

import numpy as np
import pytest
from changing_streams import changing, in_cuts
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto
from nystream.auto import budget, refit
from nystream.auto.budget import Need, growing, in_memory, largest_bytes
from nystream.auto.drift.memory import Afforded
from nystream.auto.drift.succession import Succession
from nystream.auto.experts import WORK, LaplacianRidge, LargeRidge
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 40, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 150), grows=(300, 640), ring=200, refresh=100, block=64, **SIZES)
NEVER = 100_000


@pytest.fixture
def slow(monkeypatch):
    """Slices so small that a growth of these sizes is under way for several rows."""
    monkeypatch.setattr(refit, "SLICE", 2e6)


def auto(task="regression", **options):
    return Auto(**{"task": task, "recipe": SMALL, **options})


def sizes(model):
    r = model.expert_set_.recipe
    return r.landmarks, r.big, r.rough, r.change


def under_way(n):
    """After each of n single steps after which something was under way: the row at which it began, whether it grows."""
    X, y = changing(n, at=NEVER)
    model, found = auto(), []
    for i in range(n):
        model.step(X[i], y[i])
        if model.pipeline_.incumbent_.begun_:
            found.append((model.pipeline_.incumbent_.begun_, model.pipeline_.incumbent_.growing_))
    return found


# -- when, and to what ---------------------------------------------------------------------------------------------
def test_landmarks_grow_by_half_at_the_rows_of_the_recipe():
    X, y = changing(700, at=NEVER)
    model, before = auto(), (15, 30, 40, 20)
    model.run(X[:299], y[:299])
    assert sizes(model) == before
    assert model.pipeline_.buffer_.inputs_.capacity >= 300
    model.run(X[299:300], y[299:300])
    model.settle()
    assert sizes(model) == (21, 42, 56, 28)
    assert len(model.expert_set_.experts_["rough"].points_) == 56
    model.run(X[300:], y[300:])
    model.settle()
    assert sizes(model) == (29, 59, 79, 39)
    assert not model.expert_set_.recipe.grows
    assert model.pipeline_.buffer_.inputs_.capacity < 640  # nothing is going to look at as many rows


def test_a_growth_is_fitted_on_all_rows_so_far():
    X, y = changing(300, at=NEVER)
    options = {"changes": False, "lags": False}
    experts = ("glob", "big", "rough")
    model = auto(recipe=SMALL.resized(experts=experts, grows=(300,)), **options)
    other = auto(recipe=SMALL.resized(experts=experts, grows=()).resized(**sizes_after(SMALL)), **options)
    other.recipe = other.recipe.resized(rebuilds=[*SMALL.rebuilds, 300])
    model.run(X, y)
    other.run(X, y)
    for one in (model, other):
        one.settle()
    rough = [one.expert_set_.experts_["rough"].points_ for one in (model, other)]
    assert_array_equal(*rough)
    known = [0, 2]  # the big one may look through another view
    assert_allclose(*(one.expert_set_.predict(X[:50], 1)[:, known] for one in (model, other)), atol=1e-9)


def sizes_after(recipe):
    return {name: int(2**0.5 * getattr(recipe, name)) for name in ("landmarks", "big", "rough", "change")}


def test_refreshes_go_on_between_growths(slow):
    begun = {row: grows for row, grows in under_way(620) if row > 150}
    assert begun == {**dict.fromkeys((200, 400, 500, 600), False), 300: True}  # which renews what a refresh would


def test_more_landmarks_lower_the_loss_of_a_function_with_much_to_learn():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 2))
    y = np.sign(np.sin(6 * X[:, 0]) * np.sin(6 * X[:, 1]))
    losses = []
    for grows in ((), (300, 600)):
        model = auto(recipe=SMALL.resized(grows=grows), lags=False, changes=False)
        losses.append(float(((model.run(X, y) - y)[900:] ** 2).mean()))
    assert losses[1] < 0.95 * losses[0]


def test_all_is_fitted_once_more_without_more_landmarks():
    X, y = changing(500, at=NEVER)
    recipe = SMALL.resized(grows=(300,), growth=1.0)
    model, longer = auto(recipe=recipe), auto(recipe=SMALL.resized(rebuilds=[*SMALL.rebuilds, 300], grows=()))
    model.run(X[:300], y[:300])
    longer.run(X[:300], y[:300])
    for one in (model, longer):
        one.settle()
    assert sizes(model) == (15, 30, 40, 20)
    assert not model.expert_set_.recipe.grows
    assert_array_equal(*(one.expert_set_.experts_["rough"].points_ for one in (model, longer)))
    model.run(X[300:], y[300:])
    assert model.pipeline_.buffer_.inputs_.capacity < 300


def test_rows_of_a_recipe_are_checked():
    with pytest.raises(ValueError, match=r"growth must be a number of at least 1, got 0\.5"):
        SMALL.resized(growth=0.5)
    with pytest.raises(ValueError, match="grows must be increasing row counts after 150; got"):
        SMALL.resized(grows=(150,))
    with pytest.raises(ValueError, match="grows must be increasing"):
        SMALL.resized(grows=(400, 300))


# -- blocks, files, classes, columns -------------------------------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("cuts", [(1,), (37, 1, 64, 5)])
def test_blocks_do_not_matter_to_the_last_bit(slow, task, cuts):
    X, y = changing(900, at=NEVER, task=task)
    whole, parts = auto(task), auto(task)
    assert_array_equal(in_cuts(parts, X, y, cuts), whole.run(X, y))
    assert sizes(parts)[:3] == sizes(whole)[:3] == (29, 59, 79)
    assert_array_equal(parts.predict(X[:50]), whole.predict(X[:50]))


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("stop", [300, 303, 312, 500, 645])
def test_saved_while_it_grows_it_goes_on_bit_for_bit(slow, task, stop):
    X, y = changing(800, at=NEVER, task=task)
    model = auto(task)
    model.run(X[:stop], y[:stop])
    assert model.pipeline_.incumbent_.growing_ == (stop != 500)
    twin = nystream.from_bytes(nystream.to_bytes(model))
    P = model.run(X[stop:], y[stop:])
    assert_array_equal([twin.step(X[i], y[i]) for i in range(stop, 800)], P)
    assert sizes(twin)[:3] == sizes(model)[:3] == (29, 59, 79)


def test_it_is_taken_up_rows_later_and_never_too_late(slow):
    rows = Counter(row for row, grows in under_way(800) if grows)
    assert set(rows) == {300, 640}
    assert all(5 < rows[n] <= n // 10 for n in rows)


def test_a_class_and_columns_that_come_while_it_grows(slow):
    X, y = changing(500, at=NEVER, task="classification")
    y[:305] = np.minimum(y[:305], 1)
    y[305] = 2.0
    wide = np.pad(X, ((0, 0), (0, 2)), constant_values=1.0)
    models = auto("classification"), auto("classification")
    for model, cuts in zip(models, ((500,), (1,)), strict=True):
        in_cuts(model, X[:303], y[:303], cuts)
        assert model.pipeline_.incumbent_.growing_
        model.widen(5)
        assert not model.pipeline_.incumbent_.growing_
        in_cuts(model, wide[303:], y[303:], cuts)
        assert model.outputs_ == 3
        assert sizes(model)[0] == 21
    assert_array_equal(*(model.predict(wide[:50]) for model in models))


# -- changes of the stream -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_growth_waits_while_a_young_generation_lives(task):
    X, y = changing(1500, at=560, task=task)
    whole, parts, two = auto(task), auto(task), []
    for i in range(len(y)):
        parts.step(X[i], y[i])
        grows = parts.pipeline_.incumbent_.growing_ or parts.expert_set_.recipe.rough > 56
        two.append((parts.pipeline_.candidate is not None, grows))
    young, grew = np.array(two).T
    assert young[650]
    assert not grew[young & (np.arange(1500) < 700)].any()
    whole.run(X, y)
    assert_array_equal(whole.predict(X[:50]), parts.predict(X[:50]))
    assert sizes(whole) == sizes(parts)


def test_the_generation_that_takes_over_grows_too():
    X, y = changing(1500, at=560)
    model = auto()
    model.run(X, y)
    assert [alarm.outcome for alarm in model.alarms()] == ["promoted"]
    assert model.pipeline_.incumbent_.count_ == 940
    assert sizes(model) == (29, 59, 79, 39)


def test_a_generation_that_took_over_with_fewer_landmarks_regains_them_at_its_next_rebuild():
    X, y = changing(2300, at=560)
    model, found = auto(recipe=SMALL.resized(grows=(1500,), growth=1.0)), []
    fewer = model.recipe.resized(landmarks=14, big=28, rough=30, change=15)
    model.reserve(X.shape[1], 1)
    model.pipeline_._beside = lambda old: Afforded(fewer, True)
    for i in range(len(y)):
        model.step(X[i], y[i])
        found.append((model.pipeline_.incumbent_.count_ <= i, len(model.expert_set_.experts_["rough"].points_)))
    assert [alarm.outcome for alarm in model.alarms()] == ["promoted"]
    promoted = [points for young, points in found if young]
    assert (promoted[0], promoted[-1]) == (30, 40)
    assert sizes(model) == (15, 30, 40, 20)


def test_a_young_generation_that_is_replaced_gives_up_its_memory_before_the_next_begins(monkeypatch):
    alive, young = [], []

    def begun(self, *arguments):
        alive.append([one() is not None for one in young])
        return begin(self, *arguments)

    begin = Succession._warm_start_of
    monkeypatch.setattr(Succession, "_warm_start_of", begun)
    X, y = changing(1100, at=560)
    y[850:] = 3 - 2 * y[850:]
    model = auto(recipe=SMALL.resized(grows=()))
    for i in range(len(y)):
        model.step(X[i], y[i])
        if model.pipeline_.candidate is not None and ref(model.pipeline_.candidate) not in young:
            young.append(ref(model.pipeline_.candidate))
    assert [alarm.outcome for alarm in model.alarms()] == ["superseded", "running"]
    assert alive == [[], [False]]


def test_one_with_other_experts_stays_as_it_is():
    small = SMALL.resized(landmarks=9)
    assert small.as_large(SMALL).landmarks == 15
    assert SMALL.as_large(small) is SMALL
    assert small.resized(rough=0).as_large(SMALL).landmarks == 9


# -- budgets ---------------------------------------------------------------------------------------------------------
def test_memory_decides_how_often_landmarks_grow():
    def grows(memory, d=22, outputs=1, **options):
        model = Auto(memory=memory, **options)
        X = np.random.default_rng(0).normal(size=(3, d))
        model.run(X, np.arange(3.0))
        return tuple(model.pipeline_.sizes_.grows), round(model.pipeline_.sizes_.growth, 2)

    assert grows("4MB")[0] == grows("64MB", d=300)[0] == ()
    assert grows("64MB") == grows("100MB") == grows("64MB", task="classification") == ((6400,), 1.0)
    assert grows("192MB") == grows("192MB", task="classification") == ((6400,), 1.41)
    assert grows("288MB") == grows("4GB") == ((6400, 12800), 1.41)


@pytest.mark.parametrize(("d", "outputs", "codes"), [(8, 1, False), (54, 1, False), (22, 2, True), (10, 3, False)])
def test_where_more_landmarks_do_not_fit_all_is_fitted_once_more_with_as_many(d, outputs, codes):
    need = Need(64e6, d, outputs, codes, has_candidate=True)
    before = in_memory(Recipe(grows=(6400, 12800)).suited(d, forecasts=not codes), need)
    recipe = growing(before, need)
    assert (list(recipe.grows), recipe.growth) == ([6400], 1.0)
    assert need.fits(recipe)
    assert need.fits(recipe.grown())
    assert recipe.grown().warmup == 6400
    assert 0.9 * before.rough - 1 <= recipe.rough == recipe.grown().rough <= before.rough
    assert recipe.landmarks == recipe.grown().landmarks == before.landmarks


def test_a_budget_holds_what_it_grows_to():
    large = {"landmarks": 80, "big": 200, "rough": 400, "change": 200}
    recipe = Recipe((1, 2, 5, 50, 200, 400), grows=(800, 1600), metric=200, **large)
    model, (X, y) = Auto(memory="24MB", recipe=recipe), changing(2000, at=NEVER)
    model.run(X[:3], y[:3])  # what Python itself keeps is there
    assert len(model.pipeline_.sizes_.grows) == 2
    assert 10e6 < largest_bytes(model.pipeline_.sizes_.largest, 3, 1) <= 24e6
    tracemalloc.start()
    for i in range(3, 2000, 20):
        model.run(X[i : i + 20], y[i : i + 20])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.expert_set_.recipe.rough == 799
    assert most < 24e6


def test_a_deadline_decides_it_too(monkeypatch):
    monkeypatch.setattr(budget, "slowness", lambda: 1.0)
    whole = Recipe(grows=(6400, 12800))
    found = [len(budget.in_time(whole, seconds, 22, 1).grows) for seconds in (1e-3, 2e-3, 1.0)]
    assert found == [0, 1, 2]


def test_classes_that_come_late_and_need_the_memory_end_growth():
    model = Auto(task="classification", memory="2.5MB", recipe=SMALL.resized(rough=60, big=60))
    X, y = changing(400, at=NEVER, task="classification")
    model.run(X[:200], y[:200])
    assert len(model.expert_set_.recipe.grows) == 2
    y[200:237] = np.arange(3, 40)
    model.run(X[200:], y[200:])
    assert (model.outputs_, model.expert_set_.recipe.rough) == (40, 60)
    assert not model.expert_set_.recipe.grows
    assert not model.pipeline_.sizes_.grows
    assert model.nbytes < 2.5e6


# -- many landmarks --------------------------------------------------------------------------------------------------
def test_many_landmarks_learn_fewer_rows_at_a_time():
    assert [LaplacianRidge.group(m) for m in (10, 1700, 2404, 3399)] == [64, 64, 32, 16]
    assert [LargeRidge.group(m) for m in (1000, 1999, 4000)] == [32, 32, 8]
    assert LaplacianRidge.group(3399) * 3399**2 <= WORK
