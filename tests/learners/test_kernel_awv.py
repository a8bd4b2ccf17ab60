"""Exact Kernel-AWV and kernel ridge against fresh solves, golden values and the identities behind the meter."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from nystream import Gaussian, Kernel, KernelAAR, KernelAWV, KernelRidge, Polynomial


def random_stream(n=150, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2 :: 7] = X[1]  # repeats
    return X, rng.normal(size=n)


@pytest.mark.parametrize("lam", [1.0, 1e-3])
@pytest.mark.parametrize("size", [1, 7, 64, 150])
def test_predictions_equal_a_fresh_solve_every_round(lam, size):
    X, y = random_stream()
    K = oracles.gaussian(X, X, 1.5)
    ridge, awv, _ = oracles.least_squares(K, y, lam)
    for learner, expected in [(KernelRidge(Gaussian(1.5), lam=lam), ridge), (KernelAWV(Gaussian(1.5), lam=lam), awv)]:
        got = np.concatenate([learner.run(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)])
        assert_allclose(got, expected[:, 0], rtol=1e-8, atol=1e-10 / lam)


def test_predict_is_what_step_would_say():
    X, y = random_stream()
    for learner in (KernelRidge(Gaussian(1.0)), KernelAWV(Gaussian(1.0), clip=0.4)):
        learner.run(X[:100], y[:100])
        expected = learner.predict(X[100:101])[0]
        assert_allclose(learner.step(X[100], y[100]), expected, rtol=1e-12)


def test_golden_values():
    X, y, _ = oracles.golden_stream()
    awv = KernelAWV(Gaussian(0.3), lam=0.5)
    p = awv.run(X, y)
    assert_allclose([((p - y) ** 2).sum(), p[-1]], [10.0866366680, -0.2793119983], atol=5e-11)
    ridge = KernelRidge(Gaussian(0.3), lam=0.5)
    r = ridge.run(X, y)
    assert_allclose([((r - y) ** 2).sum(), r[-1]], [6.4258174035, -0.4993635077], atol=5e-11)
    loss = ((p - y) ** 2).sum()
    assert_allclose(loss - awv.regret(), 2.4966743571, atol=5e-11)
    assert_allclose(awv.log_det(), 37.4513398014, atol=5e-11)
    assert_allclose(awv.effective_dimension(), 19.9947412412, atol=5e-11)
    assert_allclose(awv.online_dimension(), 25.6463865937, atol=5e-11)


def test_the_meter_equals_its_dense_definitions():
    X, y = random_stream()
    K = oracles.gaussian(X, X, 1.0)
    for learner in (KernelRidge(Gaussian(1.0), lam=0.3), KernelAWV(Gaussian(1.0), lam=0.3)):
        p = learner.run(X, y)
        best = oracles.best_in_hindsight(K, y, 0.3)
        assert_allclose(learner.regret(), ((p - y) ** 2).sum() - best, rtol=1e-9)
        assert learner.regret() <= learner.regret_bound()
        assert_allclose(learner.log_det(), oracles.log_det(K, 0.3), rtol=1e-9)
        assert_allclose(learner.effective_dimension(), oracles.effective_dimension(K, 0.3), rtol=1e-9)
        assert_allclose(learner.online_dimension(), oracles.online_dimension(K, 0.3), rtol=1e-9)
        d_eff = learner.effective_dimension()
        top = np.linalg.eigvalsh(K)[-1]
        assert learner.online_dimension() <= learner.log_det() <= d_eff * (1 + np.log1p(top / 0.3))


def test_alternating_labels_cost_what_theory_says():
    y = np.resize([-1.0, 1.0], 200)
    awv = KernelAWV(Gaussian(1.0), lam=1.0)
    p = awv.run(np.zeros((200, 1)), y)
    assert_allclose(((p - y) ** 2).sum() - 200, 4.8098599502, atol=5e-11)


def test_several_outputs_share_one_factor():
    X, y = random_stream()
    Y = np.column_stack([y, np.sin(X[:, 0]), np.ones(len(X))])
    together = KernelAWV(Gaussian(1.0)).run(X, Y)
    apart = np.column_stack([KernelAWV(Gaussian(1.0)).run(X, column) for column in Y.T])
    assert_allclose(together, apart, atol=1e-12)


def test_weights_count_as_repetitions_and_zero_as_absence():
    X, y = random_stream(60)
    w = np.random.default_rng(1).integers(0, 4, 60).astype(float)
    K = oracles.gaussian(X, X, 1.0)
    ridge, awv, _ = oracles.least_squares(K, y, 0.5, w)
    for cls, expected in [(KernelRidge, ridge), (KernelAWV, awv)]:
        weighted, repeated = cls(Gaussian(1.0), lam=0.5), cls(Gaussian(1.0), lam=0.5)
        assert_allclose(weighted.run(X, y, w), expected[:, 0], atol=1e-10)
        repeated.run(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
        assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-10)
        assert_allclose(weighted.log_det(), repeated.log_det(), rtol=1e-10)


def test_scaling_kernel_and_ridge_together_changes_nothing():
    X, y = random_stream()
    for cls in (KernelRidge, KernelAWV):
        assert_allclose(cls(7.0 * Gaussian(1.0), lam=3.5).run(X, y), cls(Gaussian(1.0), lam=0.5).run(X, y), atol=1e-10)


def test_a_new_output_is_a_combination_of_the_old_ones():
    X, y = random_stream()
    Y = np.column_stack([y, np.ones(len(X))])
    late, known = KernelRidge(Gaussian(1.0)), KernelRidge(Gaussian(1.0))
    late.run(X[:100], Y[:100])
    late.add_outputs(np.array([[0.0], [-1.0]]))
    known.run(X[:100], np.column_stack([Y[:100], -np.ones(100)]))
    last = np.column_stack([Y[100:], X[100:, 0]])
    assert_allclose(late.run(X[100:], last), known.run(X[100:], last), atol=1e-10)


def test_merge_in_any_tree_equals_one_pass():
    X, y = random_stream()
    whole = KernelRidge(Gaussian(1.0), lam=0.1)
    whole.run(X, y)
    shards = []
    for part in np.array_split(np.arange(len(X)), 3):
        shards.append(KernelRidge(Gaussian(1.0), lam=0.1))
        shards[-1].run(X[part], y[part])
    losses = sum(shard.regret() + shard.meter_.best.sum() for shard in shards)
    merged = KernelRidge(Gaussian(1.0), lam=0.1).merge(shards[2]).merge(shards[0].merge(shards[1]))
    assert_allclose(merged.predict(X), whole.predict(X), atol=1e-9)
    assert merged.n_seen == len(X)
    best = oracles.best_in_hindsight(oracles.gaussian(X, X, 1.0), y, 0.1)
    assert_allclose(merged.regret(), losses - best, rtol=1e-8)
    assert merged.regret() <= merged.regret_bound()
    assert_allclose(merged.std(X[:3]), whole.std(X[:3]), rtol=1e-8)
    with pytest.raises(ValueError, match="equal parameters"):
        whole.merge(KernelRidge(Gaussian(2.0), lam=0.1))


def test_duplicates_large_inputs_and_small_ridges_stay_finite():
    same = KernelAWV(Gaussian(1.0), lam=1e-6)
    assert np.isfinite(same.run(np.zeros((500, 2)), np.resize([1.0, -1.0], 500))).all()
    far = KernelRidge(Polynomial(2), lam=100.0)
    assert np.isfinite(far.run(1e3 * np.random.default_rng(0).normal(size=(50, 2)), np.ones(50))).all()


def test_limits_are_refused_before_anything_changes():
    X, y = random_stream(20)
    learner = KernelRidge(Gaussian(1.0), max_points=15)
    learner.run(X[:10], y[:10])
    with pytest.raises(ValueError, match="more than max_points=15"):
        learner.run(X[10:], y[10:])
    assert learner.size == learner.n_seen == 10
    with pytest.raises(ValueError, match="rounding would decide"):
        KernelRidge(Gaussian(1.0), lam=1e-13).run(X, y)
    for bad in (0, -1.0, float("nan"), "1"):
        with pytest.raises(ValueError, match="lam must be a number greater than 0"):
            KernelAWV(Gaussian(1.0), lam=bad)


def test_kernel_aar_is_kernel_awv():
    assert KernelAAR is KernelAWV


class Spoilt(Kernel):
    """The Gaussian kernel, with another value wherever a coordinate is above 3."""

    def __init__(self, value, diagonal=1.0):
        self.value, self.diagonal = value, diagonal

    def __call__(self, X, Y):
        K = Gaussian(1.0)(X, Y)
        K[(X > 3).any(axis=1)] = self.value
        return K

    def diag(self, X):
        return np.where((X > 3).any(axis=1), self.diagonal, 1.0)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Spoilt(np.nan, np.nan), r"Spoilt\(nan, diagonal=nan\) gives k\(x, x\) = nan at row 130"),
        (Spoilt(-1.0, -1.0), r"gives k\(x, x\) = -1 at row 130; it must be at least 0"),
        (Spoilt(np.nan), "gives values that no positive definite kernel has"),
        (Spoilt(1e9), "gives values that no positive definite kernel has"),
    ],
)
def test_a_kernel_that_is_none_is_refused_and_nothing_is_learnt(kernel, message):
    X, y = random_stream(150)
    X = np.clip(X, -2, 2)
    learner = KernelAWV(kernel)
    learner.run(X[:20], y[:20])
    before = learner.to_bytes()
    X[130, 0] = 9.0  # two blocks of 64 rows come before it
    with pytest.raises(ValueError, match=message):
        learner.run(X, y)
    assert learner.to_bytes() == before


def test_a_kernel_of_another_shape_is_refused():
    class Wrong(Kernel):
        def __call__(self, X, Y):
            return X @ Y.T[:, :1]

    with pytest.raises(ValueError, match=r"Wrong\(\) gives values of shape \(5, 1\) for 5 and 5 rows"):
        KernelAWV(Wrong()).run(np.ones((5, 2)), np.ones(5))
    for bad in (3, Gaussian, None):
        with pytest.raises(ValueError, match=r"kernel must be a kernel such as Gaussian\(1\.0\)"):
            KernelRidge(bad)


def test_kernels_that_print_alike_do_not_merge():
    class Weighted(Kernel):
        def __init__(self, weights):
            self.weights = weights

        def __call__(self, X, Y):
            return (X * self.weights) @ Y.T

    left, right = (KernelRidge(Weighted(np.full(2000, w))) for w in (1.0, 2.0))
    assert repr(left) == repr(right)
    with pytest.raises(ValueError, match="equal parameters"):
        left.merge(right)
