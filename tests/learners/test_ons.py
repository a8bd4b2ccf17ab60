"""The ONS learner: the solver of that name on features, with the learner's checks around it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.features import FeatureMap, Nystrom
from nystream.kernels import Gaussian
from nystream.learners.ons import ONS
from nystream.losses import Softmax
from nystream.solvers import ONS as Solver


class Quadratic(FeatureMap):
    """All products of the columns and 1: the feature space of k(x, x') = (1 + x.x')^2."""

    @property
    def dim(self):
        return (self.d_ + 1) * (self.d_ + 2) // 2

    def _map(self, X, out):
        i, j = np.triu_indices(self.d_ + 1)
        X1 = np.hstack([np.ones((len(X), 1)), X])
        out[:] = X1[:, i] * X1[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def stream(n=1100, d=4, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, d))
    return X, np.tanh(X[:, 0] - 2 * X[:, 1] * X[:, 2])


def test_the_learner_is_the_solver_on_features():
    X, y = stream()
    features = Quadratic()
    features.start(4)
    Z = features.transform(X)
    solver = Solver("squared", clip=1.0, lam=0.3)
    solver.start(15, 1)
    expected = solver.run(Z, y[:, None])[:, 0]
    learner = ONS(Quadratic(), lam=0.3)
    assert_allclose(learner.run(X, y), expected, rtol=0, atol=1e-11)
    assert learner.size == 15
    assert_allclose(learner.regret_bound(2.0), solver.regret_bound(2.0), rtol=1e-10)
    assert_allclose(learner.log_det(), solver.log_det(), rtol=1e-10)


def test_without_features_the_model_is_linear():
    X, y = stream(n=200)
    linear = ONS()
    linear.run(X, y)
    P = linear.predict(X[:20] * 1e-3)
    assert_allclose(linear.predict(X[:20] * 2e-3), 2 * P, rtol=1e-12)
    assert linear.size == 4


def test_alternating_labels_on_one_point_cost_what_the_recursion_says():
    y = np.resize([-1.0, 1.0], 400)
    for rounds, regret in [(200, 16.0726070072), (400, 18.69)]:
        p = ONS().run(np.ones((rounds, 1)), y[:rounds])
        assert_allclose(((p - y[:rounds]) ** 2).sum() - rounds, regret, atol=1e-9 if rounds == 200 else 5e-3)


def test_the_bound_of_a_learner_that_saw_nothing_is_the_ridge_term():
    learner = ONS(lam=4.0)
    assert learner.regret_bound(0.5) == 1.0
    assert learner.log_det() == 0.0
    assert_array_equal(learner.predict(np.ones((3, 2))), np.zeros(3))


def test_predictions_never_leave_the_clip():
    X, y = stream()
    learner = ONS(Quadratic(), clip=0.5, loss="absolute")
    assert np.abs(learner.run(X, y)).max() == 0.5
    assert np.abs(learner.predict(100 * X)).max() == 0.5


def test_a_saved_learner_goes_on_bit_for_bit(tmp_path):
    X, y = stream()
    learner = ONS(loss="squared", clip=1.2)
    learner.run(X[:600], y[:600])
    learner.save(tmp_path / "ons.nys")
    resumed = persist.load(tmp_path / "ons.nys")
    assert_array_equal(resumed.run(X[600:], y[600:]), learner.run(X[600:], y[600:]))
    assert resumed.regret_bound(1.0) == learner.regret_bound(1.0)


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(TypeError, match="one-vs-rest"):
        ONS(loss=Softmax(3))
    with pytest.raises(ValueError, match="clip must be"):
        ONS(clip=-1.0)
    with pytest.raises(ValueError, match="unknown loss 'square'"):
        ONS(loss="square")
    with pytest.raises(ValueError, match="does not take weights"):
        ONS().run(np.ones((2, 1)), [0.0, 1.0], weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="has one output"):
        ONS().run(np.ones((2, 1)), np.ones((2, 2)))
    for features in ("fourier", Gaussian(1.0), FeatureMap):
        with pytest.raises(ValueError, match="features must be a feature map"):
            ONS(features)


def test_a_fitted_map_is_used_as_it_stands():
    X, y = stream(200)
    fitted = Nystrom(Gaussian(2.0), 10).fit(X[100:])
    learner, given = ONS(fitted), ONS(Nystrom(Gaussian(2.0), X[100:110]))
    assert_array_equal(learner.run(X, y), given.run(X, y))
    assert_array_equal(learner.clone().run(X, y), given.clone().run(X, y))
    with pytest.raises(ValueError, match="X has 2 columns, but the features were fitted on 4"):
        ONS(fitted).run(X[:, :2], y)
