"""The SketchedONS learner: the solver of that name on features, with the learner's checks around it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import ONS, Fourier, Gaussian, SketchedONS, Taylor
from nystream.features.base import FeatureMap
from nystream.losses import Softmax
from nystream.solvers import SketchedONS as Solver
from oracles.newton import quadratic_features


class Quadratic(FeatureMap):
    """The feature space of k(x, x') = (1 + x.x')^2."""

    @property
    def dim(self):
        return (self.d_ + 1) * (self.d_ + 2) // 2

    def _map(self, X, out):
        out[:] = quadratic_features(X)


def stream(n=700, d=3, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    return X, np.tanh(X[:, 0] - 2 * X[:, 1] * X[:, 2])


def test_golden_value():
    X, y, _ = oracles.golden_stream()
    p = SketchedONS(Quadratic(), sketch=4, eta=1 / 8).run(X, y)
    assert_allclose(((p - y) ** 2).sum(), 29.6119898893, atol=5e-11)


def test_the_learner_is_the_solver_on_features():
    X, y = stream()
    features = Taylor(Gaussian(0.8), degree=4)
    learner = SketchedONS(features, sketch=6, lam=0.3)
    features = features.clone()
    features.start(3)
    solver = Solver("squared", clip=1.0, lam=0.3, sketch=6)
    solver.start(features.dim, 1)
    expected = solver.run(features.transform(X), y[:, None])[:, 0]
    assert_allclose(learner.run(X, y), expected, rtol=0, atol=1e-11)
    assert learner.size == 35
    assert_allclose(learner.regret_bound(2.0), solver.regret_bound(2.0), rtol=1e-10)
    assert_allclose(learner.log_det(), solver.log_det(), rtol=1e-10)
    assert_allclose(learner.lost(), solver.lost(), rtol=1e-10)
    assert learner.lost() > 0


def test_a_large_sketch_is_ons():
    X, y = stream()
    assert_allclose(SketchedONS(Quadratic(), sketch=11).run(X, y), ONS(Quadratic()).run(X, y), rtol=0, atol=1e-10)


def test_memory_is_linear_in_the_features():
    X, y = stream(50)
    small, large = (SketchedONS(Fourier(Gaussian(0.5), dim, seed=0), sketch=5) for dim in (200, 800))
    for learner in (small, large):
        learner.run(X, y)
    assert large.nbytes < 4.1 * small.nbytes


def test_before_the_first_example_it_predicts_zero_and_promises_the_ridge_term():
    learner = SketchedONS(lam=4.0)
    assert (learner.regret_bound(0.5), learner.log_det(), learner.lost()) == (1.0, 0.0, 0.0)
    assert_array_equal(learner.predict(np.ones((3, 2))), np.zeros(3))


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(TypeError, match="one-vs-rest"):
        SketchedONS(loss=Softmax(3))
    with pytest.raises(ValueError, match="sketch must be"):
        SketchedONS(sketch=0)
    with pytest.raises(ValueError, match="clip must be"):
        SketchedONS(clip=-1.0)
