"""DualSGD: points within the budget, random features beyond it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.features import Fourier
from nystream.kernels import Gaussian, Kernel, Polynomial
from nystream.learners import BSGD, DualSGD
from nystream.losses import Hinge, Logistic
from oracles import gaussian
from oracles.budget import classes, dual_sgd, stream


class Slow(Kernel):
    """A kernel of a user's own with the Fourier transform that random features need."""

    def __call__(self, X, Y):
        return gaussian(X, Y, 0.5)

    def spectral_sample(self, n, d, rng):
        return Gaussian(0.5).spectral_sample(n, d, rng)


@pytest.mark.parametrize("evict", [1, 5, 20])
@pytest.mark.parametrize("loss", [Hinge(), Logistic()])
def test_the_learner_is_its_recursion(loss, evict):
    X, y = stream()
    features = Fourier(Gaussian(0.5), 60, seed=5)
    features.start(3)
    Z = features.transform(X)
    P, w, mean = dual_sgd(gaussian(X, X, 0.5), Z, y, loss.grad, 1e-2, 20, evict)
    for kernel in (Gaussian(0.5), Slow()):
        model = DualSGD(kernel, budget=20, dim=60, loss=loss, lam=1e-2, evict=evict, seed=5)
        assert_allclose(model.run(X, y), P, rtol=1e-9, atol=1e-9)
        assert_allclose(model.expansion_.scale * model.W_[0], w, rtol=1e-9, atol=1e-9)
        assert_allclose(model.averaged(X), mean, rtol=1e-8, atol=1e-8)
        assert model.size <= 20


def test_while_nothing_leaves_it_is_bsgd():
    X, y = stream()
    dual, plain = DualSGD(Gaussian(0.5), budget=300, lam=1e-2, seed=0), BSGD(Gaussian(0.5), budget=300, lam=1e-2)
    assert_array_equal(dual.run(X, y), plain.run(X, y))
    assert_allclose(dual.averaged(X), plain.averaged(X), rtol=1e-12, atol=1e-14)
    assert not dual.W_.any()


def test_with_many_features_what_leaves_is_not_lost():
    X, y = stream()
    free = BSGD(Gaussian(0.5), loss="logistic", budget=300, lam=1e-2).run(X, y)
    error = {}
    for dim in (40, 4000):
        runs = [
            DualSGD(Gaussian(0.5), loss="logistic", budget=30, dim=dim, lam=1e-2, seed=s).run(X, y) for s in range(5)
        ]
        error[dim] = np.sqrt(np.mean((np.array(runs) - free) ** 2))
    assert error[4000] < error[40] / 5  # the rate dim^(-1/2) would give 10


def test_the_mean_hypothesis_survives_the_settling_of_its_lazy_sums():
    X, y = stream(3000)
    features = Fourier(Gaussian(0.5), 20, seed=0)
    features.start(3)
    mean = dual_sgd(Gaussian(0.5)(X, X), features.transform(X), y, Hinge().grad, 1e-2, 10, 3)[2]
    model = DualSGD(Gaussian(0.5), budget=10, dim=20, lam=1e-2, evict=3, seed=0)
    model.run(X, y)
    assert model.expansion_.terms.cum < 0.5 * np.sum(100 / np.arange(1, 3001))  # the sum of all scales: it was settled
    assert_allclose(model.averaged(X), mean, rtol=1e-7, atol=1e-8)


def test_a_class_may_appear_late():
    X, y = classes()
    order = np.argsort(y == 3, kind="stable")
    model = DualSGD(Gaussian(0.5), budget=20, dim=60, lam=1e-2, loss="multiclass_hinge", seed=0)
    P = model.run(X[order], y[order])
    assert P.shape == (300, 4)
    assert model.W_.shape == (4, 60)
    assert np.isfinite(model.predict(X)).all()


def test_new_columns_count_as_zero_so_far():
    X, y = stream()
    model = DualSGD(Gaussian(0.5), budget=20, dim=60, lam=1e-2, seed=0)
    model.run(X, y)
    before = model.predict(X)
    model.widen(4)
    assert_allclose(model.predict(np.hstack([X, np.zeros((300, 1))])), before, rtol=1e-12, atol=1e-14)


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(TypeError, match="shift-invariant"):
        DualSGD(Polynomial(2))
    with pytest.raises(ValueError, match="evict=30 points cannot leave a budget of 20"):
        DualSGD(Gaussian(), budget=20, evict=30)
    for name, value in [("dim", 3), ("lam", 0.0), ("evict", 0), ("seed", -1)]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            DualSGD(Gaussian(), **{name: value})
