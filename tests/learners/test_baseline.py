"""The default learner: the laws, its features from the definition, warm-up, weights, late outputs and columns."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.learners.baseline import Baseline
from oracles.drift import scaled_ridge


def stream(n=150, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 50.0, 0.01])[:d] + np.array([0.0, 1000.0, 3.0])[:d]
    y = np.sin(X[:, 0]) + (X[:, 1] - 1000) / 50 + 0.1 * rng.normal(size=n)
    return X, y


@pytest.mark.parametrize(("seen", "rows"), [(10, 10), (17, 10), (50, 50), (99, 50), (100, 100), (150, 100)])
def test_it_is_ridge_on_standardised_fourier_features_of_the_rows_up_to_the_last_rebuild(seen, rows):
    X, y = stream()
    learner = Baseline(dim=40, warmup=100)
    learner.run(X[:seen], y[:seen])
    assert_allclose(learner.predict(X), scaled_ridge(X[:seen], y[:seen], rows, 3)(X), rtol=1e-7, atol=1e-9)


def test_several_outputs_are_learnt_as_one_by_one():
    X, y = stream()
    Y = np.column_stack([y, y**2, -y])
    together = Baseline(dim=30)
    P = together.run(X, Y)
    for k in range(3):
        assert_allclose(P[:, k], Baseline(dim=30).run(X, Y[:, k]), rtol=1e-8, atol=1e-9)


def test_rows_of_weight_zero_are_predicted_and_leave_no_trace():
    X, y = stream()
    weights = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    keep = weights > 0
    for warmup in (60, 1000):
        with_them, without, by_steps = (Baseline(dim=30, warmup=warmup) for _ in range(3))
        p = with_them.run(X, y, weights)
        assert_allclose(p[keep], without.run(X[keep], y[keep], weights[keep]), rtol=1e-9, atol=1e-10)
        steps = [by_steps.step(x, t, w) for x, t, w in zip(X, y, weights, strict=True)]
        assert_allclose(steps, p, rtol=1e-9, atol=1e-10)
        assert with_them.n_seen == keep.sum()


def test_weights_count_as_repetitions_after_prepare():
    X, y = stream(60)
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    weighted, repeated = Baseline(dim=30), Baseline(dim=30)
    keep = np.random.default_rng(1).permutation(60)
    weighted.prepare(X[keep], weights[keep])
    weighted.run(X[keep], y[keep], weights[keep])
    repeated.prepare(X.repeat(weights, axis=0))
    repeated.run(X.repeat(weights, axis=0), y.repeat(weights))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-9)


def test_prepare_takes_scale_and_width_from_all_its_rows():
    X, y = stream(80)
    learner = Baseline(dim=40)
    learner.prepare(X)
    learner.run(X[:30], y[:30])
    mean, scale, width = learner.shape_
    assert_allclose(mean, X.mean(axis=0))
    assert_allclose(scale, X.std(axis=0))
    Z = np.clip((X - mean) / scale, -3, 3)
    distances = sorted(np.linalg.norm(Z[i] - Z[j]) for i in range(80) for j in range(i))
    assert width == pytest.approx(distances[len(distances) // 2 - 1])
    with pytest.raises(ValueError, match="call prepare before the first row"):
        learner.prepare(X)
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        Baseline().prepare(X, np.zeros(80))
    other = Baseline()
    other.prepare(X)
    with pytest.raises(ValueError, match="prepare saw 3"):
        other.run(X[:, :2], y)


@pytest.mark.parametrize("at", [7, 60, 130])
def test_outputs_added_late_equal_outputs_known_from_the_start(at):
    X, y = stream()
    Y = np.column_stack([y, np.ones(150)])
    combination = np.array([[0.0, 2.0], [-1.0, 0.5]])
    late, known = Baseline(dim=30, warmup=100), Baseline(dim=30, warmup=100)
    late.run(X[:at], Y[:at])
    late.add_outputs(combination)
    all_of_them = np.hstack([Y, Y @ combination])
    late.run(X[at:], all_of_them[at:])
    known.run(X, all_of_them)
    assert_allclose(late.predict(X), known.predict(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("at", [7, 60, 130])
def test_a_late_column_leaves_all_predictions_for_rows_without_it_as_they_were(at):
    X, y = stream()
    learner = Baseline(dim=30, warmup=100)
    learner.run(X[:at], y[:at])
    before = learner.predict(X)
    twin = copy.deepcopy(learner)
    learner.widen(5)
    wide = np.hstack([X, np.zeros((150, 2))])
    assert_allclose(learner.predict(wide), before, rtol=1e-12, atol=1e-14)
    if at > 100:  # the features are frozen: zeros in the new columns never make a difference
        twin.run(X[at:], y[at:])
        learner.run(wide[at:], y[at:])
        assert_allclose(learner.predict(wide), twin.predict(X), rtol=1e-8, atol=1e-10)
    wide[at:, 3] = np.arange(150 - at)
    learner.run(wide[at:], y[at:])
    assert not np.allclose(learner.predict(wide[at:]), learner.predict(np.hstack([X[at:], np.zeros((150 - at, 2))])))


def test_saving_in_the_warm_up_and_going_on_changes_no_bit_even_without_a_seed():
    X, y = stream()
    for at in (3, 49, 120):
        learner = Baseline(dim=30, warmup=100, seed=None)
        learner.run(X[:at], y[:at])
        resumed = nystream.from_bytes(learner.to_bytes())
        assert_array_equal(resumed.run(X[at:], y[at:]), learner.run(X[at:], y[at:]))
        assert resumed.to_bytes() == learner.to_bytes()


def test_memory_of_the_warm_up_is_released():
    X, y = stream(120)
    learner = Baseline(dim=30, warmup=100)
    learner.run(X[:99], y[:99])
    full = learner.nbytes
    learner.run(X[99:], y[99:])
    assert learner.kept_ == []
    assert learner.nbytes < full


def test_rows_that_are_all_alike_and_columns_that_are_constant_do_no_harm():
    X = np.full((120, 3), 1e9)
    learner = Baseline(dim=30, warmup=100)
    P = learner.run(X, np.full(120, 5.0))
    assert np.isfinite(P).all()
    assert P[-1] == pytest.approx(5.0, rel=1e-3)


@pytest.mark.parametrize("seen", [1, 30, 100, 150])
def test_regret_is_the_loss_of_the_predictions_made_minus_the_best_of_the_features_in_use(seen):
    X, y = stream()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=150)
    learner = Baseline(dim=40, warmup=100)
    p = learner.run(X[:seen], y[:seen], weights[:seen])
    Z, w = learner.features_.transform(X[:seen]), weights[:seen]
    A = 0.01 * np.eye(41) + (Z.T * w) @ Z
    best = w @ y[:seen] ** 2 - ((Z.T * w) @ y[:seen]) @ np.linalg.solve(A, (Z.T * w) @ y[:seen])
    assert learner.regret() == pytest.approx(w @ (p - y[:seen]) ** 2 - best, rel=1e-8)
    assert learner.regret() <= learner.regret_bound() * (1 + 1e-12)
    assert learner.log_det() == pytest.approx(np.linalg.slogdet(A / 0.01)[1])
    assert learner.effective_dimension() == pytest.approx(np.trace(np.linalg.solve(A, A - 0.01 * np.eye(41))))
    assert_allclose(learner.leverage(X[:seen]), np.einsum("ij,ij->i", Z, np.linalg.solve(A, Z.T).T), rtol=1e-8)
    assert learner.std(X[:seen]).shape == (seen,)


def test_columns_of_any_unit_are_put_on_one_scale():
    X, y = stream()
    plain, units = Baseline(dim=40, warmup=100), Baseline(dim=40, warmup=100)
    p = plain.run(X, y)
    assert_allclose(units.run(X * [1e-200, 1e200, 1e9], y)[10:], p[10:], rtol=1e-5, atol=1e-6)


def test_a_prepared_learner_is_saved_before_and_after_its_first_row():
    X, y = stream()
    learner = Baseline(dim=30)
    learner.prepare(X)
    for _ in range(2):
        resumed = nystream.from_bytes(learner.to_bytes())
        assert_array_equal(resumed.run(X[:20], y[:20]), learner.run(X[:20], y[:20]))
        assert resumed.to_bytes() == learner.to_bytes()


def test_bad_parameters_are_refused_at_once():
    for params, message in [
        ({"dim": 5}, "even"),
        ({"lam": 0}, "lam"),
        ({"warmup": 0}, "warmup"),
        ({"seed": -1}, "seed"),
    ]:
        with pytest.raises(ValueError, match=message):
            Baseline(**params)
