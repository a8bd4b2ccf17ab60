"""AIOLI: golden values, the minimum in d dimensions, its equation and curvature, its bounds, dictionaries that grow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream import AIOLI, KORS, ONS, Classifier, Fourier, Gaussian, Nystrom, Taylor, from_bytes
from nystream.compose.classes import class_learner
from nystream.evaluate import Hindsight
from nystream.features import Identity
from nystream.solvers.aioli import curvature, predicted_log_odds
from oracles.aioli import improper

G = Gaussian(0.7)


def sigmoid(p):
    return 0.5 * (1 + np.tanh(p / 2))


def golden_stream():
    t = np.arange(1, 51)
    X = np.column_stack([np.sin(t), np.cos(1.7 * t)])
    return X, np.where(0.9 * np.sin(3 * np.sin(t)) + 0.1 * np.cos(7 * t) >= 0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("lam", "clip", "p2", "p3", "p10", "p50", "loss", "log_det", "excess"),
    [
        (0.1, 3, 0.3735615019, -0.0970774637, -1.9880401444, -1.1397127694, 10.2578741050, 2.7955329221, 7.0176606424),
        (1, 1, 0.1490386055, -0.0314949338, -0.5490595603, -0.5518323553, 18.5567373476, 1.5237573784, 2.1504005589),
        (1e-3, 10, 0.1218765085, 0.2539496255, -7.3596413390, -2.0557559872, 6.9106663204, 8.5470341616, 26.4401506925),
    ],
)
def test_golden_values(lam, clip, p2, p3, p10, p50, loss, log_det, excess):
    X, y = golden_stream()
    model = AIOLI(lam=lam, clip=clip)
    p = model.run(X, y)
    assert_allclose(p[[0, 1, 2, 9, 49]], [0, p2, p3, p10, p50], atol=1e-9)
    assert_allclose(np.logaddexp(0, -y * p).sum(), loss, atol=1e-8)
    assert_allclose([model.log_det(), model.bound_terms(0.0).dimension], [log_det, excess], atol=1e-8)
    assert_allclose(model.published_bound(2.0), [2 * lam, (1 + clip) * log_det, 0], rtol=1e-9)


def test_golden_state_equation_and_alternating_labels():
    X, y = golden_stream()
    model = AIOLI(lam=0.1, clip=3)
    p = model.run(X, y)
    assert_allclose(model.solver_.weights[:, 0], [7.0079933826, 0.1392966402], atol=1e-8)
    assert_allclose(model.solver_.matrix[[0, 0, 1], [0, 1, 1]], [0.6692663756, -0.0131908120, 0.9787254592], atol=1e-9)
    assert np.sum(p * y <= 0) == 4
    m, v = np.array([1, -3, 10, 0.3]), np.array([1, 0.5, 200, 4])
    roots = [0.6748316143, -2.5710265412, 0.0990900987, 0.1000555926]
    assert_allclose(np.vectorize(predicted_log_odds)(m, v), roots, atol=1e-10)
    labels = np.resize([-1.0, 1.0], 200)
    one = AIOLI(lam=0.01, clip=5)
    q = one.run(np.ones((200, 1)), labels)
    regret = np.logaddexp(0, -labels * q).sum() - 200 * math.log(2)
    assert_allclose([regret, one.regret_bound(0.0), one.log_det()], [9.7912177334, 10.1977508772, 6.0299339656])


@pytest.mark.parametrize(("lam", "clip", "kind"), [(1e-5, 20, "published"), (0.3, 2, "sharp"), (10, 0.5, "published")])
def test_predictions_are_the_minima_of_the_definition(lam, clip, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[40:50] = X[:10]
    y = np.where(X @ [1.0, -2.0, 0.5] + rng.logistic(size=80) > 0, 1.0, -1.0)
    p = AIOLI(lam=lam, clip=clip, curvature=kind).run(X, y)
    assert_allclose(p, improper(X, y, lam, curvature(clip, kind)), rtol=1e-7, atol=1e-9)


def test_the_equation_is_solved_at_all_scales():
    m, v = (a.ravel() for a in np.meshgrid(10.0 ** np.arange(-8, 9), 10.0 ** np.arange(-8, 9)))
    for sign in (1, -1):
        p = np.vectorize(predicted_log_odds)(sign * m, v)
        assert_allclose(p + v * np.tanh(p / 2), sign * m, rtol=1e-13)
    assert predicted_log_odds(0.0, 1.0) == 0


@pytest.mark.parametrize("kind", ["published", "sharp"])
def test_the_surrogate_is_below_the_loss(kind):
    """Of a within the clip and every b, with c of either kind; twice the sharp one is too much."""
    b = np.concatenate([-(10.0 ** np.linspace(-2, 2, 60)), 10.0 ** np.linspace(-2, 2, 60)])[:, None]
    for clip in (1e-6, 0.1, 1.0, 5.0, 20.0, 50.0):
        a, c = np.linspace(-clip, clip, 201), curvature(clip, kind)
        gap = np.logaddexp(0, -a) - np.logaddexp(0, -b) + sigmoid(-b) * (a - b)
        square = sigmoid(b) * sigmoid(-b) * (a - b) ** 2 / 2
        assert (gap - c * square >= -1e-12 * (1 + np.abs(b))).all()
    assert_allclose([curvature(c, "sharp") for c in (1, 5, 50)], [0.73576, 0.32054, 0.03920], atol=1e-5)
    assert curvature(1e-5, "sharp") == pytest.approx(curvature(1.1e-4, "sharp"), abs=1e-4)


@pytest.mark.parametrize("features", [KORS(G, 0.3, seed=0), Nystrom(G, 12)])
def test_on_a_dictionary_that_grows_it_is_the_linear_model_of_the_coordinates(features):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (90, 2))
    y = np.where(np.sin(4 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)
    model, sizes, p = AIOLI(features, lam=0.05), [], []
    for x, label in zip(X, y, strict=True):
        p.append(model.step(x, label))
        sizes.append(model.size)
    Z = model.features_.transform(X)
    Z[np.arange(Z.shape[1]) >= np.array(sizes)[:, None]] = 0.0
    assert_allclose(p, AIOLI(lam=0.05).run(Z, y), atol=1e-9)
    assert model.regret_bound(1.0, against="kernel") > model.regret_bound(1.0)


def test_the_whole_dictionary_gives_the_golden_values_of_the_kernel():
    X, y = golden_stream()
    model = AIOLI(Nystrom(Gaussian(0.7), X), lam=0.1, clip=3)
    p = model.run(X, y)
    assert_allclose(p[[1, 2, 9, 49]], [0.2768982607, 0.2795692109, -0.7066152158, -0.9441506252], atol=1e-6)
    assert_allclose(np.logaddexp(0, -y * p).sum(), 15.5294793566, atol=1e-5)
    assert_allclose(model.log_det(), 6.0565457015, atol=1e-5)


def test_it_survives_certainty_that_was_wrong():
    """Thousands of rounds of one label, then the other, with a tiny ridge: numbers stay finite and the bound holds."""
    x, y = np.full((4000, 1), 50.0), np.ones(4000)
    y[3000:] = -1.0
    model = AIOLI(lam=1e-12, clip=600.0)
    p = model.run(x, y)
    assert np.isfinite(p).all()
    assert math.isfinite(model.regret_bound(1.0))
    regret = np.logaddexp(0, -y * p).sum() - 4000 * math.log(2)
    assert regret <= model.regret_bound(0.0)


def test_probabilities_classes_and_files():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + 0.5 * rng.logistic(size=300) > 0, 1.0, -1.0)
    model = AIOLI(Fourier(G, 40, seed=0), lam=0.01)
    model.run(X, y)
    P = model.probabilities(X)
    assert_allclose(P[:, 1], sigmoid(model.predict(X)))
    assert_allclose(P.sum(axis=1), 1)
    twin = from_bytes(model.to_bytes())
    assert twin.run(X, y).tolist() == model.run(X, y).tolist()
    labels = np.digitize(X[:, 0], [-0.5, 0.5]).astype(float)
    many = Classifier(AIOLI(Taylor(Gaussian(2.0), degree=4), lam=0.01))
    many.run(X, labels)
    assert np.mean(many.probabilities(X).argmax(axis=1) == labels) > 0.85


def test_against_a_greedy_adversary_it_loses_far_less_than_the_proper_step():
    lost = {}
    for model in (AIOLI(clip=20.0, lam=0.01), ONS(loss="logistic", clip=20.0, lam=0.02)):
        total, x = 0.0, np.array([2.0])
        for _ in range(600):
            y = -1.0 if model.predict(x[None])[0] > 0 else 1.0
            total += np.logaddexp(0, -y * model.step(x, y))
        lost[type(model).__name__] = total - 600 * math.log(2)
    assert lost["AIOLI"] < 60 < 5000 < lost["ONS"]


def test_bad_parameters_are_refused_by_name():
    for parameters, message in (
        ({"clip": 0}, "clip must be a number greater than 0"),
        ({"lam": -1}, "lam must be"),
        ({"curvature": "best"}, "curvature must be one of 'published', 'sharp'"),
        ({"features": 3}, "features must be a feature map"),
    ):
        with pytest.raises(ValueError, match=message):
            AIOLI(**parameters)


def stream_of_classes(kind, n, K, rng):
    """Inputs (n, 3), and a rule that names the next class from the probabilities that were predicted."""
    W = rng.normal(size=(K, 3))
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    truth = (X @ W.T * 4 + rng.gumbel(size=(n, K))).argmax(axis=1)
    choices = {
        "softmax": lambda t, p: truth[t],
        "least likely": lambda t, p: int(p.argmin()),
        "second": lambda t, p: int(p.argsort()[-2]),
        "turned": lambda t, p: truth[t] if t < n // 2 else (truth[t] + 1) % K,
    }
    return X, choices[kind]


@pytest.mark.parametrize("kind", ["softmax", "least likely", "second", "turned"])
@pytest.mark.parametrize("K", [3, 6])
def test_one_against_the_rest_its_log_loss_is_within_the_sum_of_the_bounds(kind, K):
    """The inequality of the page: log loss of K classes <= sum over classes of (loss of w_k, against the rest) + bound.

    Against every W with |w_k'x| <= clip; tried with the minimisers of several ridges, scaled into the clip, and with 0.
    """
    rng, n, clip, lam = np.random.default_rng(K), 250, 4.0, 0.1
    X, choose = stream_of_classes(kind, n, K, rng)
    model = class_learner(AIOLI(clip=clip, lam=lam))
    model.declare(K)
    labels, total = [], 0.0
    for t, x in enumerate(X):
        scores = model.scores(x[None], ahead=1)[0]
        p = sigmoid(scores) / sigmoid(scores).sum()
        assert_allclose(model.probabilities(x[None], ahead=1)[0], p, atol=1e-12)
        labels.append(int(choose(t, p)))
        total -= np.log(p[labels[-1]])
        model.step(x, labels[-1])
    signs = np.where(np.arange(K) == np.array(labels)[:, None], 1.0, -1.0)
    for ridge in (None, 0.1, 1.0, 10.0):
        loss = bound = 0.0
        for k, learner in enumerate(model.learners):
            f, norm2 = np.zeros(n), 0.0
            if ridge is not None:
                best = Hindsight(Identity(), X).best(signs[:, k], lam=ridge, loss="logistic", clip=clip)
                f, norm2 = best.values, best.norm2
            loss += np.logaddexp(0, -signs[:, k] * f).sum()
            bound += learner.regret_bound(norm2)
        assert total <= loss + bound
