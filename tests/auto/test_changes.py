"""Auto after changes: a candidate beside the old one, in any blocks, saved in the middle, in every setting."""

from __future__ import annotations

import numpy as np
import pytest
from changing_streams import AT, N, changing, in_cuts
from numpy.testing import assert_allclose, assert_array_equal
from table_streams import columns, sparse

import nystream
from nystream import Auto, Unable
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)


def auto(task="regression", **options):
    return Auto(**{"task": task, "recipe": SMALL, **options})


def unsuspicious(model, X, y, task):
    """Rows that nothing but the incumbent predicts; of classes those before the first suspicion, which leaves a
    trace in the calibration."""
    quiet = []
    for x, label in zip(X, y, strict=True):
        quiet.append(not model.d_ or model.pipeline_.drift_.succession_.phase_ is None)
        model.step(x, label)
    return np.array(quiet) if task == "regression" else np.logical_and.accumulate(quiet)


# -- what happens ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_after_a_change_it_is_soon_as_good_as_a_fresh_copy_and_the_fresh_one_stays(task):
    X, y = changing(4000, task=task)
    watched, plain, fresh = auto(task), auto(task, changes=False), auto(task, changes=False)

    def loss(P, y):
        return (P - y) ** 2 if task == "regression" else -P[np.arange(len(y)), y.astype(int)]

    P, Q, F = watched.run(X, y), plain.run(X, y), fresh.run(X[AT:], y[AT:])
    alarm = watched.alarms()[0]
    assert AT < alarm.row < AT + 40
    assert abs(alarm.change - AT) <= 5
    assert alarm.cause in ("higher loss", "higher loss of steady experts")
    assert alarm.outcome == "promoted"
    assert alarm.row < alarm.until
    assert alarm.after > alarm.before
    quiet = unsuspicious(auto(task), X[: alarm.row], y[: alarm.row], task)
    assert_array_equal(P[: alarm.row][quiet], Q[: alarm.row][quiet])
    assert quiet[: AT - 100].all()
    after = slice(AT + 50, AT + 1000)
    assert loss(P[after], y[after]).sum() < 1.4 * loss(F[50:1000], y[after]).sum()
    assert loss(P[after], y[after]).sum() < 0.9 * loss(Q[after], y[after]).sum()
    assert watched.pipeline_.candidate is None
    assert watched.pipeline_.incumbent_.count_ == len(y) - alarm.change


def test_without_a_suspicion_nothing_is_different_to_the_last_bit():
    X, y = changing(at=N)
    watched, plain = auto(), auto(changes=False)
    assert_array_equal(watched.run(X[:240], y[:240]), plain.run(X[:240], y[:240]))
    assert_array_equal(watched.predict_interval(X[:50]), plain.predict_interval(X[:50]))
    assert watched.weights() == plain.weights()
    P, calm = np.empty(N - 240), np.empty(N - 240, dtype=bool)
    for i in range(240, N):
        calm[i - 240] = watched.pipeline_.drift_.succession_.phase_ is None
        P[i - 240] = watched.step(X[i], y[i])
    assert calm.mean() > 0.9
    assert_array_equal(P[calm], plain.run(X[240:], y[240:])[calm])
    assert watched.weights() == plain.weights()
    assert watched.alarms() == []


def test_while_losses_are_suspicious_what_learns_from_few_rows_is_mixed_in_until_the_alarm_or_until_it_was_nothing():
    X, y = changing(at=N)
    y[AT : AT + 2] += 3.0
    model, plain = auto(), auto(changes=False)
    for i in range(AT + 2):
        model.step(X[i], y[i])
    mixture = model.pipeline_.drift_.succession_.phase_.mixture_
    assert mixture is not None
    assert mixture.few_row_.count_ >= 2
    plain.run(X[: AT + 2], y[: AT + 2])
    assert np.abs(model.predict(X[:30], ahead=1) - plain.predict(X[:30], ahead=1)).max() > 1e-3
    low, high = model.predict_interval(X[:30], ahead=1)
    assert (low < high).all()
    before = model.to_bytes()
    assert_array_equal(nystream.from_bytes(before).predict(X[:30], ahead=1), model.predict(X[:30], ahead=1))
    assert model.to_bytes() == before
    model.run(X[AT + 2 :], y[AT + 2 :])
    plain.run(X[AT + 2 :], y[AT + 2 :])
    assert model.pipeline_.drift_.succession_.phase_ is None
    assert model.alarms() == []
    assert_array_equal(model.predict(X[:30], ahead=1), plain.predict(X[:30], ahead=1))


def test_after_a_sign_flip_a_line_of_what_was_known_is_far_ahead_of_a_fresh_copy():
    X, y = changing(1200, at=1200, noise=0.02)
    y[AT:] *= -1
    model, fresh = auto(), auto(changes=False)
    P, F = model.run(X, y), fresh.run(X[AT:], y[AT:])
    after = slice(AT, AT + 200)
    assert ((P - y)[after] ** 2).sum() < 0.7 * ((F - y[AT:])[:200] ** 2).sum()


def test_noise_that_grows_is_noticed_and_costs_nothing():
    rng = np.random.default_rng(0)
    X, y = changing(2500, at=2500)
    y[AT:] += rng.normal(size=2500 - AT)
    model, plain = auto(), auto(changes=False)
    P, Q = model.run(X, y), plain.run(X, y)
    assert AT < model.alarms()[0].row < AT + 100
    assert ((P - y)[AT:] ** 2).sum() < 1.02 * ((Q - y)[AT:] ** 2).sum()


def test_the_columns_that_moved_are_named():
    X, y = changing(1200, at=1200)
    X[AT:, 1] += 3
    model = auto()
    model.run({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}, y)
    assert model.alarms()[0].columns == ("b",)
    assert "Inputs that shifted: `b`." in str(model.alarms()[0])
    assert "b" in model.explain().split("drift alarms: 1")[1]


def test_too_many_alarms_use_up_the_credit_and_are_only_reported():
    rng = np.random.default_rng(0)
    X, _ = changing(6000)
    y = np.sin(2 * X[:, 0] + 2 * (np.arange(6000) // 400)) * (1 + (np.arange(6000) // 400) % 5) + 0.05 * rng.normal(
        size=6000
    )
    model = auto()
    model.run(X, y)
    outcomes = [alarm.outcome for alarm in model.alarms()]
    assert "over budget" in outcomes
    assert model.pipeline_.drift_.succession_.used_ < 1500 + 0.15 * 6000 + 3200


# -- blocks, steps, files ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("sizes", [(1,), (37, 1, 64, 5), (500,)])
def test_blocks_do_not_matter_to_the_last_bit_not_even_while_two_generations_live(task, sizes):
    X, y = changing(task=task)
    whole, parts = auto(task), auto(task)
    assert_array_equal(in_cuts(parts, X, y, sizes), whole.run(X, y))
    assert parts.alarms() == whole.alarms() != []
    assert_array_equal(parts.predict(X[:40]), whole.predict(X[:40]))
    if task == "regression":
        assert_array_equal(parts.predict_interval(X[:40]), whole.predict_interval(X[:40]))


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("cut", [AT - 1, AT + 3, AT + 30, AT + 200, AT + 333, AT + 600])
def test_saved_in_the_middle_of_a_change_it_goes_on_bit_for_bit(task, cut):
    X, y = changing(task=task)
    stayed = auto(task)
    stayed.run(X[:cut], y[:cut])
    resumed = nystream.from_bytes(stayed.to_bytes())
    assert_array_equal(resumed.run(X[cut:], y[cut:]), stayed.run(X[cut:], y[cut:]))
    assert resumed.to_bytes() == stayed.to_bytes()
    assert resumed.alarms() == stayed.alarms()


def test_some_of_those_cuts_fall_where_two_generations_live():
    X, y = changing()
    model = auto()
    model.run(X[: AT + 200], y[: AT + 200])
    assert model.pipeline_.candidate is not None
    text = model.explain()
    assert "A candidate model learns beside the incumbent." in text
    before = model.to_bytes()
    shares = model.weights()
    assert_allclose(sum(shares.values()), 1.0)
    assert min(shares.values()) >= 0
    assert set(shares) == {*model.titles(), "the last labels"}
    low, high = model.predict_interval(X[:30])
    assert (low < model.predict(X[:30])).all()
    assert (model.predict(X[:30]) < high).all()
    assert model.to_bytes() == before


# -- every setting -----------------------------------------------------------------------------------------------------
def test_rows_of_weight_0_leave_no_trace():
    X, y = changing()
    w = np.where(np.arange(N) % 3 == 1, 0.0, 1.5)
    weighted, plain = auto(), auto()
    P = weighted.run(X, y, w)
    assert_allclose(P[w > 0], plain.run(X[w > 0], y[w > 0], w[w > 0]), atol=1e-9)
    assert weighted.alarms() == plain.alarms() != []


def test_weights_in_any_blocks():
    X, y = changing()
    w = np.random.default_rng(3).uniform(0.2, 3.0, N)
    whole, parts = auto(), auto()
    assert_array_equal(in_cuts(parts, X, y, (50, 3), w), whole.run(X, y, w))
    assert whole.alarms()[0].outcome in ("promoted", "running")


def test_targets_change_by_themselves():
    """The second target changes, the first stays: the mixture of each follows its own."""
    X, y = changing()
    _, same = changing(at=N)
    Y = np.column_stack([same, 100 + 50 * y])
    model, parts, fresh = auto(), auto(), auto(changes=False)
    P = model.run(X, Y)
    assert AT < model.alarms()[0].row < AT + 60
    after = slice(AT, AT + 500)
    F = fresh.run(X[AT:], Y[AT:])
    assert ((P - Y)[after, 1] ** 2).sum() < 1.2 * ((F - Y[AT:])[:500, 1] ** 2).sum()
    assert ((P - Y)[after, 0] ** 2).sum() < 0.9 * ((F - Y[AT:])[:500, 0] ** 2).sum()
    assert_array_equal(in_cuts(parts, X, Y, (29, 200)), P)


def test_a_class_that_comes_while_two_generations_live_reaches_both():
    X, y = changing(task="classification")
    y = np.minimum(y, 1.0)
    y[AT + 150 :: 7] = 2.0
    model, parts = auto("classification"), auto("classification")
    model.run(X[: AT + 140], y[: AT + 140])
    assert model.pipeline_.candidate is not None
    model.run(X[AT + 140 :], y[AT + 140 :])
    assert model.outputs_ == 3
    assert all(ensemble.outputs_ == 3 for ensemble in model.pipeline_.ensembles)
    in_cuts(parts, X, y, (41, 7))
    assert_array_equal(model.predict(X[:30]), parts.predict(X[:30]))
    assert_allclose(np.exp(model.predict(X)).sum(axis=1), 1.0)


def test_columns_that_come_while_two_generations_live_reach_both():
    X, y = changing()
    model = auto()
    model.run(X[: AT + 150], y[: AT + 150])
    assert model.pipeline_.candidate is not None
    before = model.predict(X[:40], ahead=1)
    model.widen(5)
    wide = np.pad(X, ((0, 0), (0, 2)))
    assert_allclose(model.predict(wide[:40], ahead=1), before, atol=1e-9)
    model.run(wide[AT + 150 :], y[AT + 150 :])
    assert np.isfinite(model.predict(wide)).all()


@pytest.mark.parametrize("kind", ["table", "sparse"])
def test_tables_and_sparse_rows_have_one_translator_for_both(kind):
    make = columns if kind == "table" else sparse
    rows, f = make(N)
    y = np.where(np.arange(N) < AT, f, 20 - 3 * f)
    model, parts = auto(), auto()
    P = model.run(rows, y)
    assert model.alarms()[0].row > AT
    Q = np.concatenate([parts.run(rows[i : i + 83], y[i : i + 83]) for i in range(0, N, 83)])
    assert_array_equal(P, Q)
    assert parts.alarms() == model.alarms()
    resumed = nystream.from_bytes(model.to_bytes())
    assert_array_equal(resumed.predict(rows[:20]), model.predict(rows[:20]))


def test_alarms_are_an_ability_that_can_be_switched_off():
    assert auto().alarms() == []
    assert not auto(changes=False).can("alarms")
    with pytest.raises(Unable, match="changes=True"):
        auto(changes=False).alarms()
    with pytest.raises(ValueError, match="changes"):
        auto(changes="often")


def test_without_memory_for_two_alarms_are_only_reported():
    X, y = changing()
    wide = np.hstack([X, np.random.default_rng(5).normal(size=(N, 60))])
    recipe = SMALL.resized(landmarks=150, big=300, small=60, ring=600)
    need = next(m for m in (1.2e6, 1.5e6, 2e6, 2.5e6, 3e6, 4e6) if _fits(m, recipe))
    model = auto(memory=need, recipe=recipe)
    model.run(wide, y)
    assert {alarm.outcome for alarm in model.alarms()} <= {"no memory", "running", "promoted", "discarded"}
    assert model.nbytes < need


def _fits(memory, recipe):
    try:
        Auto(memory=memory, recipe=recipe).run(np.zeros((1, 63)), [0.0])
    except ValueError:
        return False
    return True
