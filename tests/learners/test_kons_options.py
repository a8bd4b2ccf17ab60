"""Step sizes of KONS beyond sigma, and the weighted sketch: against the definition in explicit features."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from nystream import KONS, ONS, Gaussian, SketchedKONS
from nystream.losses import as_loss
from nystream.losses.steps import newton_steps
from oracles.newton import feature_rows

SIGMA, LAM, CLIP = 0.6, 0.3, 1.3


def stream(loss, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    X[60:70] = X[:10]
    f = np.sin(4 * X[:, 0]) + X[:, 1]
    return X, np.tanh(f) if as_loss(loss).labels == "real" else np.where(f > 0, 1.0, -1.0)


def definition(X, y, loss, etas, *, coins=None, gamma=0.0, eps=0.5, beta=1.0):
    """The listing with dense matrices; with coins (n,) the metric counts eta g g'/odds where a coin falls."""
    loss, Phi = as_loss(loss), feature_rows(oracles.gaussian(X, X, SIGMA))
    d = Phi.shape[1]
    A, D, u, P, sketch = LAM * np.eye(d), LAM * np.eye(d), np.zeros(d), [], 0
    for t, (phi, label) in enumerate(zip(Phi, y, strict=True)):
        ybar = u @ phi
        p = np.clip(ybar, -CLIP, CLIP)
        P.append(p)
        v = np.linalg.solve(A, phi)
        w, dl, weight = u - (ybar - p) / (phi @ v) * v, float(loss.grad(label, p)), 1.0
        g = dl * phi
        if coins is not None and dl:
            psi = math.sqrt(etas[t]) * g
            s = psi @ np.linalg.solve(D, psi)
            odds = min(beta * (1 + eps) * s / (1 + s), 1.0)
            if coins[t] < odds:
                D = D + np.outer(psi, psi) / odds
            weight = 1 / max(odds, gamma) if coins[t] < max(odds, gamma) else 0.0
        sketch += dl != 0 and weight > 0
        A = A + weight * etas[t] * np.outer(g, g)
        u = w - np.linalg.solve(A, g)
    return np.array(P), sketch


@pytest.mark.parametrize("loss", ["squared", "hinge", "absolute"])
def test_a_function_of_the_round_is_the_step_size(loss):
    X, y = stream(loss)
    etas = 0.7 / np.arange(1, 121) ** 0.4
    model = KONS(Gaussian(SIGMA), loss=loss, clip=CLIP, lam=LAM, eta=lambda t: 0.7 / t**0.4)
    p = model.run(X, y)
    assert_allclose(p, definition(X, y, loss, etas)[0], atol=1e-8)
    steps = model.clone()
    assert_allclose([steps.step(x, label) for x, label in zip(X, y, strict=True)], p, atol=1e-12)
    assert model.regret_against(np.zeros(120), y) <= model.regret_bound(0.0)
    with pytest.raises(ValueError, match="cannot save eta"):
        model.to_bytes()


def test_the_square_root_step_knows_the_effective_dimension():
    X, y = stream("hinge")
    etas = math.sqrt(5.0) / (CLIP * np.sqrt(np.arange(1, 121)))
    for eta in ("auto", "sqrt"):
        model = KONS(Gaussian(SIGMA), loss="hinge", clip=CLIP, lam=LAM, eta=eta, d_eff=5.0)
        assert_allclose(model.run(X, y), definition(X, y, "hinge", etas)[0], atol=1e-8)
    curved = newton_steps(as_loss("squared"), 1.0, "sqrt", 4.0)
    assert_allclose(curved.at([1, 4]), [2 / 4, 1 / 4])  # L = 4 on [-1, 1]
    assert newton_steps(as_loss("squared"), 1.0, "auto", 4.0).constant == 1 / 8


def test_bad_steps_are_refused():
    X, y = stream("squared")
    with pytest.raises(ValueError, match=r"eta\(1\) must be a number greater than 0"):
        KONS(Gaussian(), eta=lambda t: -1.0).run(X, y)
    with pytest.raises(ValueError, match="eta \\(a number, 'auto' or 'sqrt'\\)"):
        ONS(eta=lambda t: 1.0)
    with pytest.raises(ValueError, match="a function of the round"):
        KONS(Gaussian(), eta="fast")
    with pytest.raises(ValueError, match="sketch_weights must be one of 'inverse'"):
        SketchedKONS(Gaussian(), sketch_weights="squared")


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_weighted_sketch_counts_a_round_by_its_odds(loss, gamma):
    X, y = stream(loss)
    settings = {"loss": loss, "clip": CLIP, "lam": LAM, "gamma": gamma, "seed": 3}
    model = SketchedKONS(Gaussian(SIGMA), sketch_weights="inverse", **settings)
    p = model.run(X, y)
    coins = np.random.default_rng(3).random(120)
    etas = np.full(120, as_loss(loss).curvature(CLIP))
    expected, size = definition(X, y, loss, etas, coins=coins, gamma=gamma)
    assert_allclose(p, expected, atol=1e-7)
    assert model.sketch_size == size
    steps = model.clone()
    assert_allclose([steps.step(x, label) for x, label in zip(X, y, strict=True)], p, atol=1e-10)
    assert model.regret_against(np.zeros(120), y) <= model.regret_bound(0.0)
    if gamma == 1.0:
        assert_allclose(p, KONS(Gaussian(SIGMA), loss=loss, clip=CLIP, lam=LAM).run(X, y), atol=1e-8)
    with pytest.raises(ValueError, match="sketches without weights"):
        model.published_bound(1.0)
