"""DoublySGD: directions that are functions of (seed, t), the recursion against its definition, the cap."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.features import SLACK, cosine_sums, cosines
from nystream.kernels import Gaussian, Laplacian, Matern, Polynomial
from nystream.learners.doubly_sgd import DoublySGD
from nystream.losses import MulticlassHinge, Softmax, as_loss
from oracles import gaussian
from oracles.features import doubly_sgd

NAMED = {"softmax": Softmax(classes=3), "multiclass_hinge": MulticlassHinge(classes=3)}


def stream(n=300, d=3, seed=0, loss="hinge"):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    if loss in NAMED:
        return X, np.digitize(f, [-0.4, 0.4]).astype(float)
    return X, np.where(f >= 0, 1.0, -1.0) if loss in ("hinge", "logistic") else f


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared", "absolute", "softmax", "multiclass_hinge"])
def test_a_run_is_that_of_the_definition(loss):
    X, y = stream(loss=loss)
    outputs = 3 if loss in NAMED else 1
    model = DoublySGD(Gaussian(0.6), loss=NAMED.get(loss, loss), lam=0.05, step=3.0, t0=2, block=5, seed=7)
    expected = doubly_sgd(model, X, y, loss, 0.05, 3.0, 2, outputs)
    assert_allclose(model.run(X, y).reshape(300, -1), expected, rtol=0, atol=1e-10)
    assert np.abs(expected).max() > 0.5


def test_rows_blocks_and_predictions_agree():
    X, y = stream()
    make = DoublySGD(Gaussian(0.6), lam=0.1, step=5.0, block=4, seed=0).clone
    block, rows, pieces = make(), make(), make()
    P = block.run(X, y)
    for t in range(0, 300, 20):
        pieces.run(X[t : t + 20], y[t : t + 20])
    for t, (x, label) in enumerate(zip(X[:80], y[:80], strict=True)):
        before = rows.predict(x[None])[0]
        assert_allclose([rows.step(x, label), before], P[t], rtol=0, atol=1e-12)
    assert_allclose(pieces.predict(X), block.predict(X), rtol=0, atol=1e-12)


def test_features_of_many_rounds_average_to_the_kernel():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for kernel in (Gaussian(0.9), Laplacian(1.5), 2.0 * Matern(1.5, 1.0)):
        model = DoublySGD(kernel, block=50, seed=3)
        model.run(X[:1], [1.0])
        Phi = model._features(X, range(1, 401))
        assert Phi.shape == (30, 20000)
        K = kernel(X, X)
        # phi_i(x) phi_i(x') = k-like cosines in [-2c, 2c]: five standard deviations of a mean of 20000
        assert_allclose(Phi @ Phi.T / 20000, K, rtol=0, atol=5 * 2 * K[0, 0] / np.sqrt(20000))


def test_directions_depend_on_seed_and_round_alone():
    X, y = stream(40)
    one, two = (DoublySGD(Gaussian(), block=3, seed=s, loss=loss) for s, loss in ((5, "hinge"), (5, "squared")))
    one.run(X, y)
    two.run(X[:2], y[:2])
    assert_array_equal(one._features(X, [17, 3]), two._features(X, [17, 3]))
    assert_array_equal(one._features(X, [17, 3])[:, 3:], one._features(X, [3]))
    other = DoublySGD(Gaussian(), block=3, seed=6)
    other.run(X[:2], y[:2])
    assert np.abs(other._features(X, [3]) - one._features(X, [3])).min() > 0


def test_more_features_a_round_come_closer_to_functional_gradient_descent():
    X, y = stream(120, loss="logistic")
    K, alpha, exact = gaussian(X, X, 0.6), np.zeros(120), []
    for t in range(120):
        exact.append(K[t] @ alpha)
        rate = 3.0 / (2 + t)
        alpha *= 1 - rate * 0.1
        alpha[t] = -rate * float(as_loss("logistic").grad(y[t], exact[-1]))
    error = {}
    for block in (4, 256):
        runs = [
            DoublySGD(Gaussian(0.6), loss="logistic", lam=0.1, step=3.0, block=block, seed=s).run(X, y)
            for s in range(4)
        ]
        error[block] = np.sqrt(np.mean((np.array(runs) - exact) ** 2))
    assert error[256] < error[4] / 4  # the rate B^(-1/2) would give 8


def test_a_full_model_predicts_on_and_learns_no_more():
    X, y = stream(loss="logistic")
    free, capped = (
        DoublySGD(Gaussian(0.6), loss="logistic", block=4, max_features=limit, seed=1) for limit in (None, 403)
    )
    P, Q = free.run(X, y), capped.run(X, y)
    assert_array_equal(Q[:101], P[:101])  # 100 rounds of 4, the last of which still learnt
    assert capped.size == 400
    assert capped.frozen
    assert not free.frozen
    early = DoublySGD(Gaussian(0.6), loss="logistic", block=4, seed=1)
    early.run(X[:100], y[:100])
    assert_allclose(Q[100:], early.predict(X[100:]), rtol=0, atol=1e-13)
    before = capped.predict(X)
    capped.step(X[0], y[0])
    assert_array_equal(capped.predict(X), before)


def test_rounds_without_a_gradient_store_nothing():
    X, y = stream()
    model = DoublySGD(Gaussian(0.6), step=20.0, t0=20, block=4, seed=0)
    P = model.run(X, y)
    assert model.size == 4 * np.count_nonzero(P * y < 1) < 4 * 300
    weightless = DoublySGD(Gaussian(0.6), seed=0)
    weightless.run(X, y, weights=np.zeros(300))
    assert weightless.size == 0


def test_weights_multiply_the_loss():
    X, y = stream(100, loss="squared")
    weights = np.random.default_rng(0).uniform(0, 2, 100)
    model = DoublySGD(Gaussian(0.6), loss="squared", step=0.5, block=3, seed=2)
    expected = doubly_sgd(model, X, y, "squared", 1e-4, 0.5, 1, weights=weights)
    assert_allclose(model.run(X, y, weights=weights), expected[:, 0], rtol=0, atol=1e-11)


def test_a_strong_ridge_underflows_nothing():
    """1 - s_t lam is tiny in every early round: the lazy scale is folded in before it vanishes."""
    X, y = stream(200, loss="squared")
    model = DoublySGD(Gaussian(0.6), loss="squared", lam=1.0, step=900.0, t0=900, block=2, seed=0)
    expected = doubly_sgd(model, X[:60], y[:60], "squared", 1.0, 900.0, 900)
    assert_allclose(model.run(X[:60], y[:60]), expected[:, 0], rtol=1e-9, atol=1e-9)
    assert np.isfinite(model.run(X, y)).all()
    assert 1e-100 <= model.scale_ <= 1


@pytest.mark.parametrize("settings", [{"lam": 1.0, "step": 900.0, "t0": 900}, {"lam": 0.0}])
def test_rows_one_by_one_settle_the_scale_where_blocks_do(settings, monkeypatch):
    """It becomes too small in the one case, its sum too long in the other."""
    monkeypatch.setattr("nystream.learners.doubly_sgd.LONG", 30.0)
    X, y = stream(200, loss="squared")
    model = DoublySGD(Gaussian(0.6), loss="squared", block=2, max_features=380, seed=0, **settings)
    rows, blocks = copy.deepcopy(model), copy.deepcopy(model)
    P = np.array([rows.step(x, label) for x, label in zip(X, y.tolist(), strict=True)])
    assert_allclose(P, np.concatenate([blocks.run(X[i : i + 7], y[i : i + 7]) for i in range(0, 200, 7)]), rtol=1e-12)
    assert_allclose(rows.rounds_.view, blocks.rounds_.view, rtol=1e-12)
    assert (rows.scale_, rows.cum_, rows.t_) == pytest.approx((blocks.scale_, blocks.cum_, blocks.t_), rel=1e-12)
    assert rows.frozen
    assert rows.rounds_.view[:, 2].any()


def test_late_classes_and_late_columns_leave_what_was_learnt():
    X, y = stream(100, loss="softmax")
    model = DoublySGD(Gaussian(0.8), block=4, loss="softmax", step=5.0, seed=0)
    model.run(X[:60], np.minimum(y[:60], 1))
    before = model.predict(X)
    grown, wide = copy.deepcopy(model), copy.deepcopy(model)
    grown.reserve(3, 3)
    assert_allclose(grown.predict(X), np.column_stack([before, np.zeros(100)]), rtol=0, atol=1e-14)
    wide.widen(5)
    assert_allclose(wide.predict(np.hstack([X, np.zeros((100, 2))])), before, rtol=0, atol=1e-13)
    assert wide.run(np.hstack([X, X[:, :2]])[60:], y[60:]).shape == (40, 3)
    fixed = DoublySGD(Gaussian() + Laplacian(), seed=0)
    fixed.run(X, np.where(y > 0, 1.0, -1.0))
    with pytest.raises(TypeError, match="cannot take more columns; name them all at the start"):
        fixed.widen(5)


def test_parameters_named_like_methods_survive():
    model = DoublySGD(Gaussian(0.5), step=2.5, seed=0)
    assert model.get_params()["step"] == 2.5
    assert repr(model) == "DoublySGD(Gaussian(sigma=0.5), step=2.5, seed=0)"
    assert callable(model.step)
    assert model.clone().set_params(step=4.0).get_params()["step"] == 4.0
    seeds = {DoublySGD(Gaussian()).run(np.ones((2, 1)), [1.0, 1.0])[1] for _ in range(3)}
    assert len(seeds) == 3  # None draws a seed
    rng = np.random.default_rng(3)
    one, two = (DoublySGD(Gaussian(), seed=rng).run(np.ones((2, 1)), [1.0, 1.0]) for _ in range(2))
    assert_array_equal(one, two)


def test_bad_arguments_are_refused_with_the_way_out():
    with pytest.raises(TypeError, match="needs a shift-invariant kernel"):
        DoublySGD(Polynomial(2))
    for name, value, message in [
        ("step", 0.0, "step must be a number greater than 0"),
        ("t0", -1.0, "t0 must be a number at least 0"),
        ("block", 0, "block must be a whole number of at least 1"),
        ("max_features", 8, "max_features must be a whole number of at least 16, got 8"),
        ("lam", 2.5, "step \\* lam must be less than t0 \\+ 1"),
        ("seed", 1.5, "seed must be a whole number"),
    ]:
        with pytest.raises(ValueError, match=message):
            DoublySGD(Gaussian(), **{name: value})


@pytest.mark.parametrize("room", [0, 30_000])
def test_directions_at_hand_change_no_bit_and_stay_within_their_room(monkeypatch, room):
    X, y = stream(n=400)
    make = DoublySGD(Gaussian(0.6), lam=0.1, step=5.0, block=4, seed=0).clone
    free, bound = make(), make()
    expected = [free.step(x, label) for x, label in zip(X, y.tolist(), strict=True)]
    monkeypatch.setattr("nystream.learners.doubly_sgd.KEPT", room)
    assert_array_equal([bound.step(x, label) for x, label in zip(X, y.tolist(), strict=True)], expected)
    assert bound.to_bytes() == free.to_bytes()
    assert_array_equal(bound.predict(X[:9]), free.predict(X[:9]))
    stored = bound.rounds_.nbytes + bound.coef_.nbytes
    assert stored + room >= bound.nbytes
    assert free.nbytes > stored + room


def test_cosines_are_those_of_the_c_library_up_to_rounding():
    def vector(angles):
        memory = np.concatenate([angles, np.zeros(SLACK)])[None]
        return cosines(np.ones((1, 1)), memory[:, : len(angles)], len(angles), 1.0, np.empty((1, len(angles))))[0]

    near = np.concatenate([np.linspace(-20, 20, 4001), np.arange(-50, 50) * np.pi / 2])
    assert_allclose(vector(near), np.cos(near), rtol=0, atol=4e-16)
    for large in (1e3, -7e4, 9.9e5):
        assert_allclose(vector(np.array([large])), np.cos(large), rtol=0, atol=4e-16)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
def test_compiled_sums_of_cosines_are_those_of_numpy(outputs, far):
    rng = np.random.default_rng(0)
    d, B, together, rounds, n = 5, 3, 4, 10, 70
    memory = np.zeros(3 * d * together * B + SLACK)
    chunks = memory[:-SLACK].reshape(3, d, together * B)
    chunks[:] = rng.normal(size=chunks.shape)
    X, coef, factors = rng.normal(size=(n, d)), rng.normal(size=(rounds, B * outputs)), rng.normal(size=rounds)
    X[7] *= 1e8 if far else 1.0
    W = np.hstack(list(chunks))[:, : rounds * B]
    F = rng.normal(size=(n, outputs))
    expected = F + 1.5 * np.cos(X @ W) @ (factors[:, None] * coef).reshape(-1, outputs)
    got = cosine_sums(X, chunks, B, coef, factors, 1.5, F.copy())
    rest = np.arange(n) != 7  # at 1e8 the angle itself has an error of 1e-8
    assert_allclose(got[rest], expected[rest], rtol=0, atol=1e-12)
    assert_allclose(got[7], expected[7], rtol=0, atol=1e-6 if far else 1e-12)
    for t in (0, 7, 69):
        assert_array_equal(cosine_sums(X[t : t + 1], chunks, B, coef, factors, 1.5, F[t : t + 1].copy())[0], got[t])
    values = cosines(X[:5], chunks[0], 7, 2.0, np.empty((5, 7)))
    assert_allclose(values, 2 * np.cos(X[:5] @ chunks[0][:, :7]), rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="do not hold 13 rounds"):
        cosine_sums(X, chunks, B, rng.normal(size=(13, B * outputs)), np.ones(13), 1.0, F)
    with pytest.raises(ValueError, match="there are 12 directions, not 13"):
        cosines(X, chunks[0], 13, 1.0, np.empty((n, 13)))


def test_copies_take_their_directions_along_and_go_on_alone():
    X, y = stream(loss="squared")
    make = DoublySGD(Gaussian(0.6), loss="squared", block=5, step=0.5, seed=1).clone
    model, other = make(), make()
    model.run(X[:100], y[:100])
    twin = copy.deepcopy(model)
    assert twin._kept[1] == model._kept[1] == 100
    model.run(X[100:200], y[100:200])
    twin.run(X[200:], y[200:])
    other.run(X[:100], y[:100])
    other.run(X[200:], y[200:])
    assert_array_equal(twin.predict(X), other.predict(X))
    assert math.isfinite(float(model.predict(X[:1])[0]))
    assert model.nbytes >= 8 * 200 * 5 * 4
