"""Laws of the nine scalar losses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from oracles.losses import SCALAR, label_values, ternary_step

CASES = [pytest.param(*case, id=name) for name, case in SCALAR.items()]
ARRAYS = np.geomspace(1e-8, 1e8, 9)


def extremes(loss):
    """y, p, s, c over s, c in 1e-8..1e8 and margins to 1e3, as arrays that broadcast to (labels, p, s, c)."""
    p = np.array([-1e3, -37.0, -1.0, -1e-3, 0.0, 0.5, 1.0, 1.1, 20.0, 1e3])
    y = np.array([-1.0, 1.0]) if loss.labels == "sign" else np.array([-2.5, 0.0, 1.0])
    return y[:, None, None, None], p[:, None, None], ARRAYS[:, None], ARRAYS


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_value_is_the_definition(loss, definition):
    rng = np.random.default_rng(0)
    y, p = label_values(loss, rng, 200), rng.normal(0, 3, 200)
    slow = [definition(a, b) for a, b in zip(y, p, strict=True)]
    assert_allclose(loss.value(y, p), slow, rtol=1e-13, atol=1e-15)
    assert_allclose([loss.value(float(a), float(b)) for a, b in zip(y, p, strict=True)], slow, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_derivatives_are_central_differences_away_from_kinks(loss, definition):
    rng = np.random.default_rng(1)
    y, p = label_values(loss, rng, 500), rng.normal(0, 3, 500)
    h = 1e-4
    ends = [np.array([definition(a, b) for a, b in zip(y, p + d, strict=True)]) for d in (-h, 0.0, h)]
    g = np.array([loss.grad(float(a), float(b)) for a, b in zip(y, p, strict=True)])
    jump = np.abs(loss.grad(y, p + h) - loss.grad(y, p - h)) > 0.01  # a kink of l within h
    bend = np.abs(loss.second(y, p + h) - loss.second(y, p - h)) > 0.01  # a kink of l'
    assert (jump | bend).mean() < 0.05
    assert_allclose(g[~jump], ((ends[2] - ends[0]) / (2 * h))[~jump], atol=1e-4)
    smooth = ~(jump | bend)
    assert_allclose(loss.second(y, p)[smooth], ((ends[2] - 2 * ends[1] + ends[0]) / h**2)[smooth], atol=1e-5)


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_implicit_step_is_the_minimiser_found_by_ternary_search(loss, definition):
    rng = np.random.default_rng(2)
    for y, p in zip(label_values(loss, rng, 30), rng.normal(0, 2, 30), strict=True):
        s, c = 10 ** rng.uniform(-1, 1, 2)
        slow = ternary_step(lambda z, y=y: definition(y, z), p, s, c)
        assert_allclose(loss.implicit(float(y), float(p), s, c), slow, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_minus_alpha_over_c_is_a_subgradient_at_the_new_point(loss, definition):
    rng = np.random.default_rng(3)
    y, p = label_values(loss, rng, 400), rng.normal(0, 2, 400)
    s, c = 10 ** rng.uniform(-2, 2, (2, 400))
    alpha = loss.implicit(y, p, s, c)
    z, g = p + s * alpha, -alpha / c
    for move in (-10.0, -1.0, -0.1, -0.01, 0.01, 0.1, 1.0, 10.0):
        gap = loss.value(y, z + move) - loss.value(y, z) - g * move
        assert gap.min() > -1e-12 * (1 + np.abs(z).max()) ** 2


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_implicit_step_is_finite_bounded_and_never_raises_the_loss_at_extremes(loss, definition):
    y, p, s, c = extremes(loss)
    alpha = loss.implicit(y, p, s, c)
    assert alpha.shape == np.broadcast_shapes(*(np.shape(v) for v in ((0.0 if loss.labels == "none" else y), p, s, c)))
    assert np.isfinite(alpha).all()
    before, after = loss.value(y, p), loss.value(y, p + s * alpha)
    assert (after <= before + 1e-12 * (1 + np.abs(p) + before)).all()
    name, a = loss.name, loss.compiled.constant
    if name in ("absolute", "epsilon_insensitive"):
        assert (np.abs(alpha) <= c).all()
    elif name in ("hinge", "logistic"):
        assert ((y * alpha >= 0) & (y * alpha <= c)).all()
    elif name == "novelty":
        assert ((alpha >= 0) & (alpha <= c)).all()
    elif name == "pinball":
        assert ((alpha >= -c * (1 - a)) & (alpha <= c * a)).all()
    elif name == "huber":
        assert (np.abs(alpha) <= c * a).all()
    else:
        assert name in ("squared", "squared_hinge")  # unbounded derivatives: no bound on alpha


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_no_feature_or_no_weight_means_no_step(loss, definition):
    for s, c in ((0.0, 1.0), (-1.0, 1.0), (1.0, 0.0)):
        assert loss.implicit(-1.0, 0.5, s, c) == 0.0
        assert (loss.implicit(-np.ones(2), np.array([0.5, -3.0]), s, c) == 0.0).all()


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_numbers_give_floats_and_arrays_broadcast(loss, definition):
    assert type(loss.value(1.0, 0.3)) is type(loss.grad(1, 0)) is float
    assert type(loss.second(np.float64(1), 0.3)) is type(loss.implicit(1.0, 0.3, 1.0, 1.0)) is float
    y, p = np.array([[-1.0], [1.0]]), np.array([0.1, 0.2, 3.0])
    for method in (loss.value, loss.grad, loss.second):
        shape = (3,) if loss.labels == "none" else (2, 3)
        assert method(y, p).shape == shape
        assert method(y, p).dtype == np.float64
    assert loss.grad(np.array(1.0), np.float32(0.3)) == pytest.approx(loss.grad(1.0, float(np.float32(0.3))), rel=1e-15)


@pytest.mark.parametrize(("loss", "definition"), CASES)
def test_lipschitz_is_the_largest_slope_and_is_attained(loss, definition):
    clip, bound = 1.7, 2.2
    p = np.linspace(-clip, clip, 2001)
    labels = np.array([[-bound], [0.3], [bound]]) if loss.labels == "real" else np.array([[-1.0], [1.0]])
    slopes = np.abs(loss.grad(labels, p))
    assert slopes.max() == pytest.approx(loss.lipschitz(clip, bound), rel=1e-12)


def grid_curvature(loss, clip, labels, n=1201):
    """Smallest 2 (l(a) - l(b) - l'(b)(a-b)) / (l'(b)(a-b))^2 over a grid of a, b."""
    a, b = np.linspace(-clip, clip, n)[:, None], np.linspace(-clip, clip, n)
    best = np.inf
    for y in labels:
        y = np.float64(y).reshape(1)
        line = loss.grad(y, b) * (a - b)
        use = (np.abs(a - b) > 2e-3 * clip) & (line != 0)
        gap = loss.value(y, a) - loss.value(y, b) - line
        best = min(best, (2 * gap[use] / np.broadcast_to(line, gap.shape)[use] ** 2).min())
    return best


@pytest.mark.parametrize("clip", [0.4, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("name", ["squared", "logistic", "squared_hinge", "squared_hinge_wide", "huber_wide"])
def test_curvature_is_the_grid_search_value(name, clip):
    loss = SCALAR[name][0]
    labels = (-0.8, 0.8) if loss.labels == "real" else (-1.0, 1.0)
    bound = 0.8 if loss.labels == "real" else None
    found, claimed = grid_curvature(loss, clip, labels), loss.curvature(clip, bound)
    if name == "huber_wide" and clip == 3.0:  # reaches the linear piece
        assert claimed == 0.0
        assert found < 1e-9
    else:
        assert claimed * (1 - 1e-9) < found < claimed * 1.01  # the coarseness of the grid: it never sees a -> b


@pytest.mark.parametrize("name", ["absolute", "epsilon_insensitive", "huber", "pinball", "hinge", "novelty"])
def test_losses_with_a_linear_piece_have_no_curvature(name):
    loss = SCALAR[name][0]
    assert loss.curvature(1.5) == 0.0
    assert grid_curvature(loss, 1.5, (-1.0, 1.0), n=301) < 1e-9


def test_label_bound_defaults_to_the_clip():
    squared = SCALAR["squared"][0]
    assert squared.curvature(0.5) == squared.curvature(0.5, 0.5) == 0.5
    assert squared.lipschitz(0.5) == 2.0
