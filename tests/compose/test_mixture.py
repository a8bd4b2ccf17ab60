"""Mixture against its recursion, its tracking bound, and Aggregate where the best learner changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream import FOGD, PKAWV, PKRR, Fourier, Gaussian, Taylor
from nystream.compose.aggregate import Aggregate
from nystream.compose.mixture import Mixture
from oracles.drift import fixed_share

G = Gaussian(0.7)
LAMS = (0.01, 1.0, 100.0)


def stream(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.tanh(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))


def panel():
    return [PKAWV(Taylor(G, degree=3), lam=lam) for lam in LAMS]


@pytest.mark.parametrize("eta", [None, 0.5])
@pytest.mark.parametrize("size", [1, 7, 300])
def test_predictions_equal_the_recursion_on_the_learners_predictions(eta, size):
    X, y = stream()
    Q = np.clip([learner.run(X, y) for learner in panel()], -1, 1)
    expected, v = fixed_share(Q, y, eta or 1 / 8, 0.01)
    model = Mixture(panel(), bound=1.0, share=0.01, eta=eta)
    got = np.concatenate([model.run(X[i : i + size], y[i : i + size]) for i in range(0, 300, size)])
    assert_allclose(got, expected, atol=1e-12)
    assert_allclose(model.shares(), v, atol=1e-12)
    assert_allclose(model.losses(), ((Q - y) ** 2).sum(axis=1), atol=1e-10)


def test_several_outputs_have_weights_of_their_own():
    X, y = stream()
    Y = np.column_stack([y, np.roll(y, 1)])
    model = Mixture(panel(), bound=1.0, eta=0.5)
    P = model.run(X, Y)
    for k in range(2):
        single = Mixture(panel(), bound=1.0, eta=0.5)
        assert_allclose(P[:, k], single.run(X, Y[:, k]), atol=1e-9)
        assert_allclose(model.shares()[:, k], single.shares(), atol=1e-9)


def test_the_tracking_bound_holds_where_the_best_learner_changes_and_aggregate_lags():
    """Labels are what one learner says, then what another does; both are frozen by a huge ridge."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2))
    f = np.sign(X[:, 0])
    y = np.where(np.arange(4000) < 2000, f, -f)
    learners = [PKRR(Fourier(G, 20, seed=0), lam=lam) for lam in (0.1, 1e9)]
    model, still = Mixture(learners, bound=1.0, share=1 / 4000), Aggregate(learners, bound=1.0, rule="ewa")
    loss, lag = ((model.run(X, y) - y) ** 2).sum(), ((still.run(X, y) - y) ** 2).sum()
    Q = np.clip([learner.run(X, y) for learner in learners], -1, 1)
    losses = np.cumsum((Q - y) ** 2, axis=1)
    best = min(losses[a, c] + losses[b, -1] - losses[b, c] for a in (0, 1) for b in (0, 1) for c in range(4000))
    assert loss <= best + model.regret_bound(changes=1)
    assert loss < lag
    assert math.isfinite(model.regret_bound(changes=1))
    with pytest.raises(ValueError, match="changes must be a whole number of at least 0"):
        model.regret_bound(changes=-1)


def test_a_larger_eta_and_a_label_out_of_bounds_void_the_bound():
    X, y = stream(50)
    assert math.isinf(Mixture(panel(), bound=1.0, eta=0.5).regret_bound())
    model = Mixture(panel(), bound=0.1)
    with pytest.warns(UserWarning, match="outside"):
        model.run(X, y)
    assert math.isinf(model.regret_bound())


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_share_is_between_0_and_1(share):
    with pytest.raises(ValueError, match="share must be a number greater than 0"):
        Mixture(panel(), bound=1.0, share=share)


@pytest.mark.parametrize("learners", [[], 3, [3], [FOGD(G)]])
def test_what_is_not_a_list_of_regression_learners_is_refused(learners):
    with pytest.raises(ValueError, match="learners"):
        Mixture(learners, bound=1.0)
