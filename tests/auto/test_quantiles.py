"""Quantiles of labels: as defined, in any blocks, saved, weighted, monotone, homogeneous, and right after changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto, Unable
from nystream.auto.quantiles import ResidualQuantiles
from nystream.auto.recipe import Recipe
from oracles.noise import law

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)
LEVELS = np.array([0.001, 0.05, 0.25, 0.5, 0.9, 0.995])


def rows(n=400, d=3, K=1, seed=0):
    """Inputs with holes and a wild value, predictions, residuals whose size depends on a column, spread."""
    rng = np.random.default_rng(seed)
    X, P = rng.normal(size=(n, d)), rng.normal(3.0, 2.0, size=(n, K))
    R = (0.1 + np.abs(X[:, :1])) * rng.standard_t(4, size=(n, K))
    R[n // 2 :] *= 5
    spread = 0.3 + 0.2 * np.abs(R) * rng.random((n, K))
    X[rng.random((n, d)) < 0.05] = np.nan
    X[n // 3, 0] = 1e200
    return X, P, R, spread


def learnt(*given, window=1000, cuts=None):
    X, P, R, spread, *w = given
    model = ResidualQuantiles(window)
    model.start(X.shape[1], P.shape[1])
    ends = [*(cuts or []), len(X)]
    for i, j in zip([0, *ends[:-1]], ends, strict=True):
        model.learn(X[i:j], P[i:j], R[i:j], spread[i:j], w[0][i:j] if w else None)
    return model


def same(a, b):
    assert set(a._state()) == set(b._state())
    for name, value in a._state().items():
        assert_array_equal(value, b._state()[name], err_msg=name)


# -- the law itself --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("d", "window", "weighted"), [(3, 1000, False), (1, 60, False), (20, 50, True)])
def test_quantiles_are_those_of_the_definition(d, window, weighted):
    X, P, R, spread = rows(240, d)
    w = np.random.default_rng(1).uniform(0.1, 4.0, 240) if weighted else None
    slow = law(X, P[:, 0], R[:, 0], spread[:, 0], LEVELS, window=window, weights=w)
    model = ResidualQuantiles(window)
    model.start(d, 1)
    for t in range(240):
        part = slice(t, t + 1)
        if t:
            found = model.quantiles(X[part], P[part], spread[part], LEVELS)[0, 0] - P[t]
            assert_allclose(found, slow[t], rtol=1e-6, atol=1e-9)
        model.learn(X[part], P[part], R[part], spread[part], None if w is None else w[part])
    assert np.isfinite(slow[230:, 1:5]).all()


def test_blocks_change_no_bit_and_asking_changes_nothing():
    data = rows(300, K=2)
    whole, parts = learnt(*data, window=70), learnt(*data, window=70, cuts=[1, 2, 50, 57, 200])
    same(whole, parts)
    before = {name: value.copy() for name, value in whole._state().items()}
    whole.quantiles(*data[:2], data[3], LEVELS)
    for name, value in before.items():
        assert_array_equal(value, whole._state()[name])


def test_targets_are_by_themselves_and_weights_alike_are_no_weights():
    X, P, R, spread = rows(200, K=3)
    both = learnt(X, P, R, spread).quantiles(X, P, spread, LEVELS)
    for k in range(3):
        part = slice(k, k + 1)
        one = learnt(X, P[:, part], R[:, part], spread[:, part], np.full(200, 1.0))
        assert_array_equal(one.quantiles(X, P[:, part], spread[:, part], LEVELS), both[:, part])


def test_labels_of_other_units_have_the_same_quantiles_in_them():
    X, P, R, spread = rows(300)
    for c in (2.0**-60, 2.0**60):
        a, b = (learnt(X, c * P, c * R, c * spread) for c in (1.0, c))
        Q = a.quantiles(X, P, spread, LEVELS)
        assert_allclose(b.quantiles(X, c * P, c * spread, LEVELS), c * Q, rtol=1e-9)


def test_quantiles_rise_with_their_level():
    X, P, R, spread = rows(300)
    levels = np.linspace(0.0005, 0.9995, 4001)
    for n in (2, 30, 75, 300):
        model = learnt(X[:n], P[:n], R[:n], spread[:n], window=60)
        Q = model.quantiles(X[:3], P[:3], spread[:3], levels)[:, 0]
        finite = np.isfinite(Q)
        assert (np.diff(np.where(finite, Q, np.sign(Q) * 1e9), axis=1) >= 0).all()


def test_exact_predictions_and_huge_residuals_leave_numbers():
    X, P, _, spread = rows(120)
    R = np.zeros((120, 1))
    R[60:63] = [[1e75], [-2e75], [1e-75]]
    model = learnt(X, P, R, np.zeros((120, 1)))
    for value in model._state().values():
        assert np.isfinite(value).all() or value is model.power_
    assert np.isfinite(model.quantiles(X, P, spread, np.array([0.1, 0.9]))).all()


def test_new_columns_leave_what_is_said_of_rows_without_them():
    X, P, R, spread = rows(200, d=2)
    model = learnt(X, P, R, spread)
    before = model.quantiles(X, P, spread, LEVELS)
    model.widen(20)
    wide = np.pad(X, ((0, 0), (0, 18)), constant_values=np.nan)
    assert_array_equal(model.quantiles(wide, P, spread, LEVELS), before)
    model.learn(np.nan_to_num(wide), P, R, spread, None)
    assert model.columns_.shape == (3, 20)


def test_arrays_that_do_not_fit_are_refused():
    X, P, R, spread = rows(5)
    for given in [(X[:, :2], P, R, spread), (X, P, R[:4], spread), (X, np.hstack([P, P]), R, spread)]:
        model = ResidualQuantiles()
        model.start(3, 1)
        with pytest.raises(ValueError, match="is needed"):
            model.learn(*given, None)
    with pytest.raises(ValueError, match="is needed"):
        model.learn(X, P, R, spread, np.ones(3))


def test_the_window_fits_its_bytes():
    assert ResidualQuantiles.window_for(1e9, 1) == 1000
    assert ResidualQuantiles.window_for(0, 1) == 100
    window = ResidualQuantiles.window_for(3e5, 50)
    model = ResidualQuantiles(window)
    model.start(1, 50)
    assert model.kept_.nbytes + model.order_.nbytes + model.recent_.nbytes <= 3e5


# -- coverage --------------------------------------------------------------------------------------------------------
def covered(X, y):
    """Whether labels lie between two quantiles, and their widths, row by row; what is known at a row."""
    model, ends = Auto(recipe=SMALL), []
    for i in range(0, len(X), 10):
        part = slice(i, i + 10)
        if i:
            ends.append(model.predict_quantile(X[part], [0.05, 0.95], ahead=1))
        model.run(X[part], y[part])
    low, high = np.concatenate(ends).T
    return (low <= y[10:]) & (y[10:] <= high), high - low


def test_coverage_holds_where_noise_jumps_up_and_down():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 2))
    y = X[:, 0] + np.repeat([0.1, 1.0, 0.1], 800) * rng.normal(size=2400)
    inside, widths = covered(X, y)
    for i in range(0, 2300, 400):
        assert 0.82 < inside[i : i + 400].mean() < 0.97, i
    assert widths[1000:1500].mean() > 4 * widths[400:700].mean()


def test_widths_follow_the_row_and_sides_the_skewness():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2500, 3))
    y = X[:, 0] + (0.05 + np.abs(X[:, 1])) * (rng.exponential(size=2500) - 1)
    inside, widths = covered(X, y)
    assert abs(inside[500:].mean() - 0.9) < 0.03
    size = np.abs(X[10:, 1])
    assert widths[1000:][size[1000:] > 1.0].mean() > 2.5 * widths[1000:][size[1000:] < 0.3].mean()
    model, zeros = ResidualQuantiles(), np.zeros((2500, 1))  # told residuals that are nothing but the noise
    model.start(3, 1)
    model.learn(X, zeros, (y - X[:, 0])[:, None], zeros + 0.1, None)
    low, high = model.quantiles(X, zeros, zeros + 0.1, np.array([0.05, 0.95]))[:, 0].T
    assert 1.7 < np.mean(high) / np.mean(-low) < 2.6  # of an exponential law 2.1


# -- asked of Auto ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("targets", [1, 2])
def test_shapes_order_and_the_ends_of_intervals(targets):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 3))
    Y = np.column_stack([X[:, 0], X[:, 1]])[:, :targets] + 0.1 * rng.normal(size=(120, targets))
    Y = Y if targets > 1 else Y[:, 0]
    model = Auto(recipe=SMALL)
    model.run(X, Y)
    one, several = model.predict_quantile(X[:7], 0.3), model.predict_quantile(X[:7], [0.9, 0.3, 0.05])
    own = (7,) if targets == 1 else (7, targets)
    assert one.shape == own
    assert several.shape == (*own, 3)
    assert_array_equal(several[..., 1], one)
    assert (several[..., 0] > several[..., 1]).all()
    ends = np.moveaxis(model.predict_quantile(X[:7], [0.1, 0.9]), -1, 0)
    assert_allclose(model.predict_interval(X[:7], 0.8), ends, atol=1e-12)
    assert np.isinf(model.predict_quantile(X[:7], 0.001)).all()


def test_what_is_no_level_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = Auto(recipe=SMALL)
    with pytest.raises(ValueError, match="needs a row"):
        model.predict_quantile(X, 0.5)
    model.run(X, X[:, 0])
    for q in (0.0, 1.0, -0.1, [0.1, 1.5], [], [[0.1]], "half", np.nan):
        with pytest.raises(ValueError, match="q must be a number greater than 0 and less than 1"):
            model.predict_quantile(X, q)
    with pytest.raises(Unable, match="Auto has no quantiles: they are of numbers"):
        Auto(task="classification").predict_quantile(X, 0.5)


@pytest.mark.parametrize("cut", [1, 33, 150])
def test_saved_models_go_on_with_the_same_bits_and_weights_of_0_leave_no_trace(cut):
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(260, 2)), rng.uniform(0.5, 2.0, 260)
    y = X[:, 0] + 0.3 * rng.normal(size=260)
    w[::7] = 0.0
    stayed, some = Auto(recipe=SMALL), w > 0
    stayed.run(X[:cut], y[:cut], w[:cut])
    resumed = nystream.from_bytes(stayed.to_bytes())
    for model in (stayed, resumed):
        model.run(X[cut:], y[cut:], w[cut:])
    bare = Auto(recipe=SMALL)
    for x, target, weight in zip(X[some], y[some], w[some], strict=True):
        bare.step(x, target, weight)
    Q = stayed.predict_quantile(X, LEVELS)
    assert_array_equal(resumed.predict_quantile(X, LEVELS), Q)
    assert_array_equal(bare.predict_quantile(X, LEVELS), Q)
