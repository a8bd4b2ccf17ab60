"""PKAWV and PKRR: the golden values, the kernel definitions on any features, merging, unlearning, refusals."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
import oracles
from nystream import PKAWV, PKRR, Fourier, Gaussian, KernelAWV, KernelRidge, Nystrom, Polynomial, Taylor
from nystream.features import Identity


def stream(n=150, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2 :: 7] = X[1]  # repeats
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


def fourier(seed=0):
    return Fourier(Gaussian(1.5), 40, seed=seed)


def test_golden_values():
    X, y, _ = oracles.golden_stream()
    model = PKAWV(Taylor(Gaussian(0.8), degree=6), lam=0.5)
    p = model.run(X, y)
    assert model.size == 28
    assert_allclose([((p - y) ** 2).sum(), p[-1]], [7.9069326126, -0.2403596754], atol=5e-11)


@pytest.mark.parametrize("lam", [1.0, 1e-3])
def test_on_features_that_are_the_whole_kernel_they_are_the_exact_kernel_learners(lam):
    X, y = stream()
    kernel = Polynomial(2)
    landmarks = np.random.default_rng(1).normal(size=(10, 3))  # as many as the kernel has dimensions
    for ours, exact in [(PKAWV, KernelAWV), (PKRR, KernelRidge)]:
        model, whole = ours(Nystrom(kernel, landmarks), lam=lam, clip=2.0), exact(kernel, lam=lam, clip=2.0)
        assert_allclose(model.run(X, y), whole.run(X, y), rtol=1e-7, atol=1e-9)
        assert_allclose(model.predict(X), whole.predict(X), rtol=1e-7, atol=1e-9)
        for name in ("regret", "regret_bound", "log_det", "effective_dimension", "online_dimension"):
            assert_allclose(getattr(model, name)(), getattr(whole, name)(), rtol=1e-7, err_msg=name)
        assert_allclose(model.leverage(X), whole.leverage(X), rtol=1e-6)
        assert_allclose(model.std(X), whole.std(X), rtol=1e-7)


def test_predictions_equal_a_fresh_solve_every_round_with_weights():
    X, y = stream()
    w = np.random.default_rng(1).integers(0, 4, 150).astype(float)
    features = fourier()
    Z = features.fit_transform(X)
    ridge, awv, _ = oracles.least_squares(Z @ Z.T, y, 0.5, w)
    for cls, expected in [(PKRR, ridge), (PKAWV, awv)]:
        assert_allclose(cls(fourier(), lam=0.5).run(X, y, w), expected[:, 0], atol=1e-9)


def test_rows_blocks_and_the_short_way_of_one_row_give_the_same_bits():
    X, y = stream()
    whole, rows, slow = (PKAWV(Taylor(Gaussian(1.0), degree=3), lam=0.1) for _ in range(3))
    P = whole.run(X, y)
    assert_array_equal([rows.step(x, label) for x, label in zip(X, y.tolist(), strict=True)], P)
    assert_array_equal([slow.step(list(x), np.array(label)) for x, label in zip(X, y, strict=True)], P)
    assert whole.to_bytes() == rows.to_bytes() == slow.to_bytes()
    assert whole.n_seen == rows.n_seen == 150
    assert_array_equal([rows.step(x, label) for x, label in zip(X, y.tolist(), strict=True)], whole.run(X, y))


def test_the_short_way_refuses_what_the_long_way_refuses():
    X, y = stream()
    model = PKRR(fourier())
    model.run(X, y)
    before = model.to_bytes()
    for x, label, message in [
        (np.array([0.0, np.nan, 0.0]), 1.0, "x has nan at row 0, column 1"),
        (X[0], math.inf, "labels must be finite"),
        (X[0, :2].copy(), 1.0, "2 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.step(x, label)
    assert model.to_bytes() == before


def test_several_outputs_share_one_factor():
    X, y = stream()
    Y = np.column_stack([y, X[:, 1], np.ones(len(X))])
    together = PKAWV(fourier())
    P = together.run(X, Y)
    assert_array_equal(P, np.column_stack([PKAWV(fourier()).run(X, np.ascontiguousarray(c)) for c in Y.T]))
    assert together.std(X).shape == (150, 3)
    expected = together.predict(X[:1])[0]
    assert_array_equal(together.step(X[0], Y[0]), expected)


def test_the_map_that_was_given_is_never_touched():
    X, y = stream()
    features = Taylor(Gaussian(1.0), degree=2)
    model = PKAWV(features)
    model.run(X, y)
    assert features.d_ == 0
    assert model.features is features
    assert model.clone().features is not features


def test_a_fitted_map_is_used_as_it_stands():
    X, y = stream()
    features = Nystrom(Gaussian(1.0), 25).fit(X[:60])
    before = features.transform(X)
    model = PKRR(features, lam=0.1)
    P = model.run(X, y)
    assert model.size == 25
    assert_array_equal(features.transform(X), before)
    plain = PKRR(Identity(), lam=0.1)
    assert_allclose(plain.run(before, y), P, rtol=1e-10, atol=1e-11)
    with pytest.raises(ValueError, match="fitted on 3"):
        PKRR(features).run(X[:, :2], y)


def test_a_map_that_still_moves_is_refused():
    X, y = stream()
    for features in (Nystrom(Gaussian(1.0), 25), Nystrom(Gaussian(1.0), 25).fit(X[:10])):
        with pytest.raises(ValueError, match="needs a map that does not move"):
            PKAWV(features).run(X, y)
    with pytest.raises(ValueError, match="features must be a feature map"):
        PKAWV(Gaussian(1.0))
    with pytest.raises(ValueError, match="lam must be a number greater than 0"):
        PKRR(fourier(), lam=0)


def test_merge_in_any_tree_equals_one_pass():
    X, y = stream(200)
    whole = PKAWV(fourier(), lam=0.1)
    whole.run(X, y)
    shards = []
    for part in np.array_split(np.random.default_rng(3).permutation(200), 4):
        shards.append(PKAWV(fourier(), lam=0.1))
        shards[-1].run(X[part], y[part])
    lost = sum(s.regret() + s._meter.best.sum() for s in shards)
    merged = shards[3].merge(shards[1]).merge(shards[0].merge(shards[2]))
    assert_allclose(merged.predict(X), whole.predict(X), rtol=1e-10, atol=1e-11)
    assert_allclose([merged.log_det(), merged.effective_dimension()], [whole.log_det(), whole.effective_dimension()])
    assert merged.n_seen == 200
    assert_allclose(merged.regret(), lost - whole._meter.best.sum(), rtol=1e-9)
    assert merged.regret() <= merged.regret_bound()


def test_merging_with_a_learner_that_saw_nothing_changes_nothing():
    X, y = stream()
    model = PKRR(fourier())
    model.run(X, y)
    before = model.to_bytes()
    assert model.merge(PKRR(fourier())).to_bytes() == before
    fresh = PKRR(fourier()).merge(model)
    assert_array_equal(fresh.predict(X), model.predict(X))
    fresh.run(X, y)
    assert model.to_bytes() == before


def test_merge_refuses_other_features_and_says_so():
    X, y = stream()
    model = PKAWV(Fourier(Gaussian(1.5), 40, seed=None))
    model.run(X, y)
    other = PKAWV(Fourier(Gaussian(1.5), 40, seed=None))
    other.run(X, y)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="drawn or fitted differently"):
        model.merge(other)
    for stranger, message in [
        (PKAWV(Fourier(Gaussian(2.0), 40, seed=None)), "equal features"),
        (PKAWV(Taylor(Gaussian(1.5), degree=2)), "equal features"),
        (PKAWV(Fourier(Gaussian(1.5), 40, seed=None), lam=2.0), "equal parameters"),
        (PKRR(Fourier(Gaussian(1.5), 40, seed=None)), "equal parameters"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.merge(stranger)
    wide = PKAWV(Nystrom(Gaussian(1.0), X[:20]))
    wide.run(X, np.column_stack([y, y]))
    narrow = PKAWV(Nystrom(Gaussian(1.0), X[:20].copy()))
    narrow.run(X, y)
    with pytest.raises(ValueError, match="equal outputs"):
        narrow.merge(wide)
    with pytest.raises(ValueError, match="equal features"):
        narrow.merge(PKAWV(Nystrom(Gaussian(1.0), X[1:21])))
    assert model.to_bytes() == before


def test_unlearning_gives_the_model_that_never_saw_the_examples():
    X, y = stream(1300)  # more rows than one block of features
    w = np.random.default_rng(2).uniform(0.5, 2, 1300)
    model, fresh = PKAWV(fourier(), lam=0.3), PKAWV(fourier(), lam=0.3)
    model.run(X, y, w)
    gone = np.random.default_rng(3).permutation(1300)[:700]
    kept = np.setdiff1d(np.arange(1300), gone)
    assert model.unlearn(X[gone], y[gone], w[gone]) is model
    fresh.run(X[kept], y[kept], w[kept])
    assert_allclose(model.predict(X), fresh.predict(X), rtol=1e-9, atol=1e-10)
    assert_allclose(model.std(X), fresh.std(X), rtol=1e-9)
    assert model.n_seen == 600
    with pytest.raises(ValueError, match="not known after `unlearn`"):
        model.regret()
    again = nystream.from_bytes(model.to_bytes())
    with pytest.raises(ValueError, match="not known after `unlearn`"):
        again.regret()


def test_unlearning_what_was_not_learnt_is_refused_and_changes_nothing():
    X, y = stream(700)
    model = PKRR(fourier(), lam=1e-3)
    with pytest.raises(ValueError, match="learnt no row"):
        model.unlearn(X, y)
    model.run(X[:600], y[:600])
    before = model.to_bytes()
    for rows, labels, message in [
        (np.vstack([X[:560], X[650:651] + 40]), np.r_[y[:560], 1.0], "Nothing was changed"),
        (X[:601], y[:601], "only 600 were learnt"),
        (X[:5], y[:4], "one label for each"),
        (X[:5], np.column_stack([y[:5], y[:5]]), "2 columns"),
        (X[:5, :2], y[:5], "2 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.unlearn(rows, labels)
    assert model.to_bytes() == before


def test_before_the_first_example_sums_are_zero_and_the_rest_is_refused():
    model = PKAWV(fourier())
    names = ("regret", "regret_bound", "log_det", "effective_dimension", "online_dimension")
    assert [getattr(model, name)() for name in names] == [0.0] * 5
    for question in (model.leverage, model.std):
        with pytest.raises(ValueError, match="learnt no row"):
            question(np.zeros((2, 3)))
    X, y = stream(5)
    model.run(X, y, np.zeros(5))
    with pytest.raises(ValueError, match="learnt no row"):
        model.std(X)


def test_std_covers_the_share_of_labels_that_it_should():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(3000, 2))
    y = np.sin(X[:, 0]) + 0.5 * rng.normal(size=3000)
    model = PKRR(Taylor(Gaussian(1.5), degree=5), lam=0.1)
    model.run(X[:2000], y[:2000])
    inside = np.abs(model.predict(X[2000:]) - y[2000:]) <= 1.96 * model.std(X[2000:])
    assert 0.93 < inside.mean() < 0.97  # 0.95 expected, standard error 0.007
    assert_allclose(model.std(X[2000:]).mean(), 0.5, rtol=0.05)


def test_a_late_output_is_what_it_would_be_had_it_been_there():
    X, y = stream()
    late, known = PKRR(fourier()), PKRR(fourier())
    ones = np.ones(100)
    late.run(X[:100], np.column_stack([ones, y[:100]]))
    late.add_outputs(np.array([[-1.0], [0.0]]))
    known.run(X[:100], np.column_stack([ones, y[:100], -ones]))
    more = np.column_stack([np.ones(50), y[100:], X[100:, 0]])
    assert_allclose(late.run(X[100:], more), known.run(X[100:], more), rtol=1e-12, atol=1e-13)
    assert_allclose(late.regret(), known.regret(), rtol=1e-11)


def test_a_copy_in_the_middle_goes_on_with_the_same_bits():
    X, y = stream()
    model = PKAWV(Taylor(Gaussian(1.0), degree=4), clip=1.0)
    model.run(X[:90], y[:90])
    twins = [copy.deepcopy(model), nystream.from_bytes(model.to_bytes())]
    expected = model.run(X[90:], y[90:])
    for twin in twins:
        assert_array_equal(twin.run(X[90:], y[90:]), expected)
        assert (twin.regret(), twin.regret_bound()) == (model.regret(), model.regret_bound())


def test_what_taylor_features_miss_is_counted_over_merges_and_without_what_was_unlearnt():
    X, y = stream(60)
    whole, left, right = (PKAWV(Taylor(Gaussian(0.7), degree=2)) for _ in range(3))
    whole.run(X, y)
    left.run(X[:40], y[:40])
    right.run(X[40:], y[40:])
    alone = left.features_.tail_
    left.merge(right)
    assert_allclose(left.features_.tail_, whole.features_.tail_, rtol=1e-12)
    left.unlearn(X[40:], y[40:])
    assert_allclose(left.features_.tail_, alone, rtol=1e-12)


def test_more_features_than_memory_are_refused_with_their_size():
    learner = PKAWV(Taylor(Gaussian(1.0), degree=6, max_features=10**8))
    with pytest.raises(ValueError, match=r"of 1947792 features takes 15,\d+\.\d GB of memory, this machine has"):
        learner.run(np.zeros((2, 30)), np.zeros(2))
    assert learner.size == 0
    assert learner.run(np.zeros((2, 3)), np.zeros(2)).shape == (2,)  # nothing was started
