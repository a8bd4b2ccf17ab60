"""FOGD: gradient descent on random features, against its parts and against the kernel it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.features import Chain, WithConstant
from nystream.features.fastfood import Fastfood
from nystream.features.fourier import Fourier
from nystream.kernels import Gaussian, Polynomial
from nystream.learners.abilities import Unable
from nystream.learners.fogd import FOGD
from nystream.learners.pkawv import PKAWV
from nystream.solvers import OGD
from oracles.landmarks import functional

MAPS = {
    "fourier": lambda: Fourier(Gaussian(0.7), 60, seed=3),
    "orthogonal": lambda: Fourier(Gaussian(0.7), 60, orthogonal=True, seed=3),
    "fastfood": lambda: Fastfood(Gaussian(0.7), 60, seed=3),
}


def stream(n=600, d=3, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    return X, np.where(X[:, 0] * X[:, 1] >= 0, 1.0, -1.0)


@pytest.mark.parametrize("kind", MAPS)
def test_the_learner_is_gradient_descent_on_the_features(kind):
    X, y = stream()
    features = MAPS[kind]()
    features.start(3)
    solver = OGD("logistic", eta=0.5, schedule="sqrt", lam=0.01)
    solver.start(features.dim, 1)
    learner = FOGD(Gaussian(0.7), dim=60, loss="logistic", eta=0.5, schedule="sqrt", lam=0.01, features=kind, seed=3)
    expected = solver.run(features.transform(X), y[:, None])[:, 0]
    assert_allclose(learner.run(X, y), expected, rtol=1e-10, atol=1e-12)
    assert learner.size == features.dim
    rows = learner.clone()
    assert_allclose([rows.step(x, label) for x, label in zip(X, y, strict=True)], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["fourier", "orthogonal"])
def test_single_precision_halves_the_memory_and_hardly_moves_a_prediction(kind):
    X, y = stream()
    double, single = (
        FOGD(Gaussian(0.7), dim=60, loss="logistic", features=kind, seed=3, dtype=dtype)
        for dtype in ("float64", "float32")
    )
    p, q = double.run(X, y), single.run(X, y)
    assert q.dtype == np.float64
    assert_allclose(q, p, atol=1e-5)
    assert np.any(q != p)
    assert 2 * single.nbytes == double.nbytes
    assert single.predict(X).dtype == np.float64
    assert_allclose(single.predict(X), double.predict(X), atol=1e-5)


@pytest.mark.parametrize("method", ["sgd", "adagrad", "adam", "implicit"])
def test_single_precision_saves_and_goes_on_bit_for_bit(method):
    X, y = stream()
    model = FOGD(Gaussian(0.7), dim=60, method=method, average=True, seed=3, dtype="float32")
    model.run(X[:300], y[:300])
    twin = nystream.from_bytes(model.to_bytes())
    assert twin.solver_.W_.dtype == np.float32
    assert twin.features_.W_.dtype == np.float32
    assert_array_equal(
        twin.run(X[300:], y[300:]), [model.step(x, label) for x, label in zip(X[300:], y[300:], strict=True)]
    )
    assert_array_equal(twin.averaged(X), model.averaged(X))


def test_single_precision_knows_angles_of_any_size():
    X = np.random.default_rng(0).normal(size=(40, 3)) * 10.0 ** np.arange(-2, 38)[:, None]
    X[-1] = 1e300
    for kind in (Fourier, Fastfood):
        Z = kind(Gaussian(0.7), 60, seed=3, dtype="float32").fit_transform(X)
        assert Z.dtype == np.float32
        assert_allclose((Z.astype(float) ** 2).sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("d", [1, 5, 22])
def test_fastfood_in_single_precision_is_that_in_double_precision_rounded(d):
    X = np.random.default_rng(0).normal(size=(50, d))
    double, single = (Fastfood(Gaussian(2.0), 70, seed=3, dtype=dtype).fit(X) for dtype in ("float64", "float32"))
    Z = single.transform(X)
    assert_allclose(Z, double.transform(X), atol=1e-6)
    assert_array_equal(np.array([single.row(x) for x in X]), Z)
    assert Z.dtype == np.float32


def test_single_precision_is_refused_where_it_is_not():
    with pytest.raises(ValueError, match="dtype"):
        FOGD(Gaussian(), dtype="float16")
    with pytest.raises(ValueError, match="dtype"):
        FOGD(Gaussian(), features="fastfood", dtype="float16")
    short = Fourier(Gaussian(), 20, dtype="float32")
    with pytest.raises(ValueError, match="float64"):
        PKAWV(short).step(np.zeros(3), 1.0)
    for wrapped in (lambda: WithConstant(short), lambda: Chain(short, Fourier(Gaussian(), 20))):
        with pytest.raises(ValueError, match="float64"):
            wrapped()


@pytest.mark.parametrize("kind", MAPS)
def test_more_features_come_closer_to_functional_gradient_descent(kind):
    X, y = stream(n=120)
    exact = functional(X, y[:, None], 0.7, 1, "hinge", eta=0.1, lam=0.1)[0][:, 0]
    error = {}
    for dim in (200, 12800):
        runs = [FOGD(Gaussian(0.7), dim=dim, eta=0.1, lam=0.1, features=kind, seed=s).run(X, y) for s in range(5)]
        error[dim] = np.sqrt(np.mean((np.array(runs) - exact) ** 2))
    assert error[12800] < error[200] / 4  # the rate dim^(-1/2) would give 8
    assert error[12800] < 0.02


def test_the_same_seed_gives_the_same_bits_and_another_seed_another_model():
    X, y = stream()
    one, two, other = (FOGD(Gaussian(0.7), seed=s).run(X, y) for s in (1, 1, 2))
    assert_array_equal(one, two)
    assert np.abs(one - other).max() > 0.01


@pytest.mark.parametrize("loss", ["softmax", "multiclass_hinge"])
def test_classes_are_native_and_may_appear_late(loss):
    X, _ = stream()
    labels = np.digitize(X[:, 0], [-0.3, 0.3]).astype(float)
    order = np.argsort(labels == 2, kind="stable")  # class 2 only at the end
    X, labels = X[order], labels[order]
    block, rows = (FOGD(Gaussian(0.7), dim=100, loss=loss, seed=0) for _ in range(2))
    P = block.run(X, labels)
    assert P.shape == (600, 3)
    for x, label in zip(X, labels, strict=True):
        rows.step(x, label)
    assert_allclose(block.predict(X), rows.predict(X), rtol=1e-9, atol=1e-11)
    assert np.mean(block.predict(X[-50:]).argmax(axis=1) == 2) > 0.9  # the late class was learnt


def test_several_targets_are_several_learners():
    X, _ = stream()
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]])
    together = FOGD(Gaussian(0.7), loss="squared", seed=5).run(X, Y)
    for k in range(2):
        assert_allclose(
            FOGD(Gaussian(0.7), loss="squared", seed=5).run(X, Y[:, k]), together[:, k], rtol=1e-12, atol=1e-14
        )


def test_a_weight_repeats_the_loss_not_the_row():
    X, y = stream()
    weighted = FOGD(Gaussian(0.7), eta=0.1, seed=0).run(X, y, weights=np.full(600, 3.0))
    assert_allclose(weighted, FOGD(Gaussian(0.7), eta=0.3, seed=0).run(X, y), rtol=1e-9, atol=1e-12)


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(TypeError, match="shift-invariant"):
        FOGD(Polynomial(2))
    for name, value in [("dim", 0), ("eta", -1.0), ("features", "nystrom"), ("method", "newton"), ("schedule", "log")]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            FOGD(Gaussian(), **{name: value})
    with pytest.raises(ValueError, match="eta \\* lam"):
        FOGD(Gaussian(), eta=10.0, lam=0.2)


def test_the_averaged_hypothesis_is_the_mean_of_those_that_predicted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], 50)
    model = FOGD(Gaussian(1.0), dim=30, average=True, seed=0)
    assert_allclose(model.averaged(X), np.zeros(50))
    said = []
    for x, label in zip(X, y, strict=True):
        said.append(model.predict(X))
        model.step(x, label)
    assert_allclose(model.averaged(X), np.mean(said, axis=0), atol=1e-12)
    model.set_params(average=False).run(X, y)
    with pytest.raises(Unable, match="average=True"):
        model.averaged(X)
