"""GAF: golden values for two classes, its constant, its bound against adversaries, classes that come late."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from nystream import GAF, KORS, Classifier, Fourier, Gaussian, Nystrom, from_bytes
from nystream.solvers.gaf import class_curvature, implicit_scores

G = Gaussian(0.7)


@pytest.mark.parametrize(
    ("lam", "c", "p2", "p3", "p10", "p50", "loss", "log_det"),
    [
        (0.1, 0.25, 0.5844630259, -0.0365035753, -1.5316920114, -1.1872169191, 10.8872576680, 1.9841415045),
        (1.0, 0.5, 0.1724162857, -0.0281967017, -0.5367589817, -0.5685176618, 18.3332124862, 1.4213084657),
    ],
)
def test_golden_values_of_the_form_for_two_classes(lam, c, p2, p3, p10, p50, loss, log_det):
    """One row of weights with the ridge lam is two rows of opposite sign with 2 lam."""
    t = np.arange(1, 51)
    X = np.column_stack([np.sin(t), np.cos(1.7 * t)])
    y = np.where(0.9 * np.sin(3 * np.sin(t)) + 0.1 * np.cos(7 * t) >= 0, 1, 0)
    model = GAF(lam=2 * lam, curvature=c)
    P = model.run(X, y)
    assert_allclose((P[:, 1] - P[:, 0])[[0, 1, 2, 9, 49]], [0, p2, p3, p10, p50], atol=1e-9)
    assert_allclose(-P[np.arange(50), y].sum(), loss, atol=1e-8)
    assert_allclose(model.log_det(), log_det, atol=1e-9)
    assert model.regret_bound(1.0) == math.inf  # c is too large for the clip


@pytest.mark.parametrize("K", [2, 3, 10])
def test_the_surrogate_is_below_the_loss(K):
    """KL(p, q) >= c/2 Var_p(log p/q) for q within the clip and any p; it is nearly met, so c is not far too small."""
    rng, least = np.random.default_rng(K), np.inf
    for clip in (0.3, 2.0, 10.0):
        c = class_curvature(clip, K)
        for size in (0.1, 1.0, 5.0, 30.0):
            a = rng.uniform(-clip, clip, (300, K))
            a[100:200] = clip * rng.choice([-1.0, 1.0], (100, K))
            b = np.clip(size * rng.normal(size=(300, K)), -60, 60)
            b[200:] = a[200:] + size * rng.normal(size=(100, K))
            p = special.softmax(b, axis=1)
            h = special.log_softmax(b, axis=1) - special.log_softmax(a, axis=1)
            gap, mean = (p * h).sum(axis=1), (p * h).sum(axis=1, keepdims=True)
            variance = (p * (h - mean) ** 2).sum(axis=1)
            assert (gap - c / 2 * variance >= -1e-12 * (1 + np.abs(b).max(axis=1))).all()
            real = variance > 1e-9
            least = min(least, float((gap[real] / (c / 2 * variance[real])).min()))
    assert 1 <= least < 2


def test_scores_solve_their_equation_at_all_scales():
    rng = np.random.default_rng(0)
    for size in 10.0 ** np.arange(-6, 9):
        for far in (0.0, 1.0, 1e3):
            B = rng.normal(size=(4, 4))
            V, m = size * B @ B.T, far * rng.normal(size=4)
            z, g = implicit_scores(m, V, 2)
            assert_allclose(z, m + V @ g, rtol=1e-9, atol=1e-9 * (1 + far + size))
            assert_allclose(g, np.eye(4)[2] - special.softmax(z), atol=1e-12)
            assert abs(g.sum()) < 1e-12


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
        "surprise": lambda t, p: 0 if t < n - 1 else 1,
    }
    return X, choices[kind]


@pytest.mark.parametrize("kind", ["softmax", "least likely", "second", "turned", "surprise"])
@pytest.mark.parametrize(("K", "lam", "clip"), [(2, 0.01, 10.0), (3, 0.1, 4.0), (6, 1e-6, 20.0)])
def test_no_regret_exceeds_the_bound(kind, K, lam, clip):
    """Against the minimisers of the loss with several ridges, scaled into the clip, and 0."""
    rng, n = np.random.default_rng(K), 150
    X, choose = stream_of_classes(kind, n, K, rng)
    model = GAF(clip=clip, lam=lam, samples=20)  # the bound holds for any number of points
    model.reserve(3, K)
    labels, total = [], 0.0
    for t, x in enumerate(X):
        p = model.probabilities(x[None], ahead=1)[0]
        assert_allclose(p.sum(), 1, atol=1e-12)
        labels.append(int(choose(t, p)))
        log_p = model.step(x, labels[-1])
        assert_allclose(np.exp(log_p), p, atol=1e-12)
        total -= log_p[labels[-1]]
    codes = np.eye(K)[labels]
    for ridge in (None, 1e-3, 0.1, 10.0):
        W = np.zeros((3, K)) if ridge is None else best(X, codes, ridge)
        W *= min(1.0, clip / max(float(np.abs(X @ W).max()), 1e-300))
        loss = -(codes * special.log_softmax(X @ W, axis=1)).sum()
        assert total - loss <= model.regret_bound(float((W * W).sum())) + 1e-9 * total


def best(X, codes, ridge):
    """The minimum of the log loss + ridge |W|^2, by gradient steps."""
    W = np.zeros((X.shape[1], codes.shape[1]))
    for _ in range(2000):
        W -= (X.T @ (special.softmax(X @ W, axis=1) - codes) + 2 * ridge * W) / (0.5 * len(X) + 2 * ridge)
    return W


@pytest.mark.parametrize("features", [KORS(G, 0.3, seed=0), Nystrom(G, 8)])
def test_on_a_dictionary_that_grows_it_is_the_linear_model_of_the_coordinates(features):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    y = np.digitize(np.sin(4 * X[:, 0]) + X[:, 1], [-0.5, 0.5])
    model, linear, sizes, P = GAF(features, lam=0.05, samples=20), GAF(lam=0.05, samples=20), [], []
    model.reserve(2, 3)
    for x, label in zip(X, y, strict=True):
        P.append(model.step(x, label))
        sizes.append(model.size)
    Z = model.features_.transform(X)
    Z[np.arange(Z.shape[1]) >= np.array(sizes)[:, None]] = 0.0
    linear.reserve(Z.shape[1], 3)
    assert_allclose(P, linear.run(Z, y), atol=1e-9)
    assert_allclose(model.log_det(), linear.log_det(), atol=1e-9)
    assert model.regret_bound(1.0, against="kernel") > model.regret_bound(1.0)


def test_a_class_that_appears_late_is_learnt():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(400, 2)), np.ones(400)])
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    y[:100] = np.minimum(y[:100], 1)
    model = GAF(lam=0.01)
    P = model.run(X, y)
    assert P.shape == (400, 3)
    assert np.mean(P.argmax(axis=1)[200:] == y[200:]) > 0.9
    assert math.isfinite(model.regret_bound(1.0))


def test_it_is_saved_and_goes_on_bit_for_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = GAF(Fourier(G, 10, seed=0), lam=0.1)
    model.run(X, y)
    twin = from_bytes(model.to_bytes())
    np.testing.assert_array_equal(twin.run(X, y), model.run(X, y))
    np.testing.assert_array_equal(twin.probabilities(X), model.probabilities(X))
    wrapped = Classifier(GAF(Fourier(G, 10, seed=0), lam=0.1))
    wrapped.run(X, y)
    assert_allclose(wrapped.probabilities(X).sum(axis=1), 1)


def test_a_tiny_ridge_leaves_the_numbers_finite():
    x, y = np.full((600, 1), 50.0), np.zeros(600)
    y[500:] = 2.0
    model = GAF(lam=1e-12, clip=600.0)
    model.reserve(1, 3)
    P = model.run(x, y)
    assert np.isfinite(P).all()
    assert -P[np.arange(600), y.astype(int)].sum() - 600 * math.log(3) <= model.regret_bound(0.0)


def test_bad_parameters_are_refused_by_name():
    for parameters, message in (
        ({"clip": 0}, "clip must be a number greater than 0"),
        ({"lam": -1}, "lam must be"),
        ({"curvature": 0}, "curvature must be"),
        ({"samples": 1}, "samples must be"),
        ({"features": 3}, "features must be a feature map"),
    ):
        with pytest.raises(ValueError, match=message):
            GAF(**parameters)
