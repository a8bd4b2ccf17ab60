import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as sk

from nystream.evaluate.metrics import MAE, MSE, R2, RMSE


def rows(n=300, k=None, seed=0):
    rng = np.random.default_rng(seed)
    shape = n if k is None else (n, k)
    y = 5.0 + 2.0 * rng.normal(size=shape)
    return y, y + rng.normal(size=shape), rng.random(n) * (rng.random(n) < 0.8)


def fed(metric, Y, P, w=None, cuts=(7, 8, 100)):
    for part in np.split(np.arange(len(Y)), cuts):
        metric.update(Y[part], P[part], None if w is None else w[part])
    return metric.value


ORACLES = {
    MSE: sk.mean_squared_error,
    RMSE: lambda y, p, sample_weight=None: np.sqrt(sk.mean_squared_error(y, p, sample_weight=sample_weight)),
    MAE: sk.mean_absolute_error,
    R2: sk.r2_score,
}


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_value_over_blocks_is_that_of_scikit_learn_over_all_rows(kind, k, weighted):
    y, p, w = rows(k=k)
    w = w if weighted else None
    assert_allclose(fed(kind(), y, p, w), ORACLES[kind](y, p, sample_weight=w), rtol=1e-12)
    assert_allclose(kind().over(y, p, w), ORACLES[kind](y, p, sample_weight=w), rtol=1e-12)


@pytest.mark.parametrize("kind", ORACLES)
def test_cutting_into_other_blocks_changes_no_bit(kind):
    y, p, w = rows(n=1000)
    whole = fed(kind(), y, p, w, cuts=())
    assert whole == fed(kind(), y, p, w, cuts=range(1, 1000)) == fed(kind(), y, p, w, cuts=(500,))


@pytest.mark.parametrize("kind", ORACLES)
def test_no_rows_is_nan_and_reset_forgets(kind):
    y, p, _ = rows()
    metric = kind()
    assert np.isnan(metric.value)
    assert np.isnan(metric.update([], []).value)
    first = metric.update(y, p).value
    metric.reset()
    assert np.isnan(metric.value)
    assert metric.update(y, p).value == first


def test_r2_is_accurate_when_the_first_label_is_far_from_all_others():
    y, p, _ = rows(n=2000)
    y[0] = 1e8
    assert_allclose(fed(R2(), y, p), sk.r2_score(y, p), rtol=0, atol=1e-11)
    far = y[1:] + 1e9  # the mean is large against the spread
    assert_allclose(fed(R2(), far, p[1:] + 1e9), sk.r2_score(far, p[1:] + 1e9), rtol=1e-9)


def test_r2_is_nan_until_two_labels_differ():
    metric = R2().update([3.0, 3.0], [1.0, 3.0])
    assert np.isnan(metric.value)
    assert np.isfinite(metric.update([4.0], [4.0]).value)


def test_a_learner_that_diverged_gives_inf_or_nan_without_a_warning():
    assert MSE().update([0.0, 0.0], [1e200, 1.0]).value == np.inf
    assert np.isnan(MAE().update([0.0], [np.nan]).value)
    assert np.isnan(R2().update([0.0, 1.0], [np.inf, np.nan]).value)


def test_shapes_that_differ_are_refused_before_anything_is_counted():
    metric = MSE().update([1.0], [2.0])
    with pytest.raises(ValueError, match=r"mse compares numbers.*\(2,\) and \(2, 3\)"):
        metric.update([1.0, 2.0], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="needs labels"):
        metric.update(None, [2.0])
    with pytest.raises(ValueError, match="weights must be finite"):
        metric.update([1.0], [2.0], [-1.0])
    assert metric.value == 1.0
