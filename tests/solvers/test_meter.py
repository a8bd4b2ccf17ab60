"""The guarantee meter: its sums are the dense definitions, and no stream exceeds its bound."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream.solvers import AWV, Meter


def play(labels, Z, weights=None, **parameters):
    """A solver after rounds whose label may depend on the prediction, and the predictions."""
    solver = AWV(**parameters)
    solver.start(Z.shape[1], 1)
    P = np.empty(len(Z))
    Y = np.empty((len(Z), 1))
    for t, z in enumerate(Z):
        p = solver.predict(z[None])[0, 0]
        Y[t] = labels(t, p)
        P[t] = solver.step(z, Y[t], 1.0 if weights is None else weights[t])[0]
    return solver, P, Y


def spiteful(_, p):
    """The label that makes this prediction worst."""
    return -1.0 if p > 0 else 1.0


LABELS = {
    "random": lambda t, p: math.cos(12.9898 * t * t),
    "alternating": lambda t, p: (-1.0) ** t,
    "switching": lambda t, p: 1.0 if (t // 25) % 2 else -1.0,
    "spiteful": spiteful,
}
POINTS = {
    "normal": lambda: np.random.default_rng(0).normal(size=(150, 5)),
    "one point": lambda: np.tile([1.0, 0.5, 0.0, 0.0, 0.0], (150, 1)),
    "new directions": lambda: np.kron(np.eye(5), np.ones((30, 1))),
}
MODELS = {
    "AWV": {},
    "clipped AWV": {"clip": 1.0},
    "ridge": {"vovk": False},
    "clipped ridge": {"vovk": False, "clip": 1.0},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("labels", LABELS)
def test_regret_is_what_it_says_and_never_exceeds_its_bound(labels, points, name, weighted):
    Z = POINTS[points]()
    w = np.random.default_rng(1).uniform(0.05, 4, 150) if weighted else np.ones(150)
    lam = 0.3
    solver, P, Y = play(LABELS[labels], Z, w if weighted else None, lam=lam, **MODELS[name])
    root = np.sqrt(w)
    best = oracles.best_in_hindsight((Z @ Z.T) * np.outer(root, root), root[:, None] * Y, lam)
    meter = solver.meter_
    assert_allclose(meter.loss, (w * (P - Y[:, 0]) ** 2).sum(), rtol=1e-11)
    assert_allclose(meter.best, best, rtol=1e-8)
    assert_allclose(meter.regret(), meter.loss[0] - best, atol=1e-8 * max(1, best))
    assert meter.regret() <= meter.regret_bound() + 1e-9
    if name == "clipped ridge" and not weighted:
        assert meter.regret_bound() <= 4 * meter.online_dimension + 1e-9
    if "AWV" in name and not weighted:
        largest = np.abs(Y).max()
        assert_allclose(meter.regret_bound(), largest**2 * meter.online_dimension)
        assert meter.regret_bound() <= largest**2 * solver.log_det() + 1e-9


def test_the_identities_of_least_squares_hold_round_by_round():
    Z = POINTS["normal"]()
    Y = np.random.default_rng(2).normal(size=(150, 1))
    for lam in (1.0, 1e-3):
        ridge, awv, s = oracles.least_squares(Z @ Z.T, Y, lam)
        solver = AWV(lam)
        solver.start(5, 1)
        P = solver.run(Z, Y)
        assert_allclose(P, ridge / (1 + s)[:, None], rtol=1e-8, atol=1e-9)
        assert_allclose(P, awv, rtol=1e-8, atol=1e-9)
        assert_allclose(solver.meter_.best, ((Y - ridge)[:, 0] ** 2 / (1 + s)).sum(), rtol=1e-8)
        excess = Y[:, 0] ** 2 * s / (1 + s) - s * ridge[:, 0] ** 2 / (1 + s) ** 2
        assert_allclose(solver.meter_.regret(), excess.sum(), rtol=1e-7)


def test_blocks_of_another_learner_are_counted_like_the_compiled_rounds():
    rng = np.random.default_rng(3)
    Z, Y, w = rng.normal(size=(90, 5)), rng.normal(size=(90, 2)), rng.uniform(0.2, 3, 90)
    solver = AWV(0.5, clip=1.0)
    solver.start(5, 2)
    inside = Meter(2, clip=1.0)
    for part in (slice(0, 1), slice(1, 40), slice(40, 90)):
        for t in range(part.start, part.stop):
            R, s = solver.engine.query(Z[t : t + 1])
            P = solver.run(Z[t : t + 1], Y[t : t + 1], w[t : t + 1])
            inside.add(Y[t : t + 1], R, P, w[t : t + 1] * s, w[t : t + 1])
    assert_array_equal(inside.columns_, solver.meter_.columns_)
    assert_array_equal(inside.totals_, solver.meter_.totals_)


def test_a_label_beyond_the_clip_voids_the_guarantee():
    Z = POINTS["normal"]()
    for vovk in (True, False):
        solver, _, _ = play(lambda t, p: 2.0 if t == 70 else 0.5, Z, vovk=vovk, clip=1.0)
        assert solver.meter_.regret_bound() == math.inf
        assert math.isfinite(solver.meter_.regret())


def test_an_output_that_repeats_turns_or_scales_another_is_metered_from_the_start():
    rng = np.random.default_rng(4)
    Z, Y = rng.normal(size=(80, 5)), rng.normal(size=(80, 2))
    mix = np.array([[0.0, -1.0, 0.0], [3.0, 0.0, 0.0]])  # three times the second, minus the first, always 0
    late, known = AWV(), AWV()
    late.start(5, 2)
    known.start(5, 5)
    late.run(Z[:50], Y[:50])
    late.add_outputs(mix)
    known.run(Z[:50], np.hstack([Y[:50], Y[:50] @ mix]))
    more = np.hstack([Y, Y @ mix])[50:].copy()
    late.run(Z[50:], more)
    known.run(Z[50:], more)
    assert_allclose(late.meter_.columns_, known.meter_.columns_, rtol=1e-10)
    assert_allclose(late.meter_.regret(), known.meter_.regret(), rtol=1e-10)


def test_an_output_with_another_past_is_metered_from_now_on():
    rng = np.random.default_rng(5)
    Z, Y = rng.normal(size=(120, 5)), rng.normal(size=(120, 2))
    for clip, mix in [(None, [[1.0], [1.0]]), (3.0, [[2.0], [0.0]])]:
        solver = AWV(clip=clip)
        solver.start(5, 2)
        solver.run(Z[:60], Y[:60])
        solver.add_outputs(np.array(mix))
        before = solver.meter_.regret()
        assert_array_equal(solver.meter_.columns_[:, 2], 0.0)
        solver.run(Z[60:], np.hstack([Y[60:], Y[60:, :1]]))
        assert before < solver.meter_.regret() <= solver.meter_.regret_bound()


@pytest.mark.parametrize("name", MODELS)
def test_after_a_merge_the_regret_is_that_of_the_pool_and_stays_below_its_bound(name):
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(3, 60, 5))
    played = [play(spiteful, part, lam=0.2, **MODELS[name]) for part in Z]
    solver = played[0][0].merge(played[1][0]).merge(played[2][0])
    K = np.vstack(Z) @ np.vstack(Z).T
    Y = np.vstack([y for _, _, y in played])
    lost = sum(((P - y[:, 0]) ** 2).sum() for _, P, y in played)
    assert_allclose(solver.meter_.regret(), lost - oracles.best_in_hindsight(K, Y, 0.2), rtol=1e-9)
    assert solver.meter_.regret() <= solver.meter_.regret_bound() < math.inf
    for z in rng.normal(size=(100, 5)):  # and it goes on
        solver.step(z, np.array([spiteful(0, solver.predict(z[None])[0, 0])]))
        assert solver.meter_.regret() <= solver.meter_.regret_bound()


def test_the_best_of_a_pool_with_a_perfect_fit_is_not_lost_in_cancellation():
    rng = np.random.default_rng(7)
    Z = rng.normal(size=(400, 5))
    Y = 1e3 * Z[:, :1] + 1e-3 * rng.normal(size=(400, 1))
    one, two, whole = AWV(1e-9), AWV(1e-9), AWV(1e-9)
    for solver, part in [(one, slice(0, 200)), (two, slice(200, 400)), (whole, slice(0, 400))]:
        solver.start(5, 1)
        solver.run(Z[part], Y[part])
    assert_allclose(one.merge(two).meter_.best, whole.meter_.best, rtol=1e-4)


def test_after_unlearning_the_best_is_exact_and_the_regret_refused():
    Z = POINTS["normal"]()
    solver, _, Y = play(spiteful, Z, lam=0.2)
    solver.unlearn(Z[20:90], Y[20:90])
    kept = np.r_[0:20, 90:150]
    assert_allclose(solver.meter_.best, oracles.best_in_hindsight(Z[kept] @ Z[kept].T, Y[kept], 0.2), rtol=1e-9)
    assert_allclose(solver.meter_.variance, solver.meter_.best / 80)
    for question in (solver.meter_.regret, solver.meter_.regret_bound):
        with pytest.raises(ValueError, match="not known after `unlearn`"):
            question()
    fresh = AWV(0.2)
    fresh.start(5, 1)
    with pytest.raises(ValueError, match="not known after `unlearn`"):
        fresh.merge(solver).meter_.regret()


def test_a_meter_is_copied_and_restored_whole():
    solver, _, _ = play(spiteful, POINTS["normal"]())
    twin = copy.deepcopy(solver.meter_)
    assert twin.regret() == solver.meter_.regret()
    assert twin.regret_bound() == solver.meter_.regret_bound()
    assert not np.shares_memory(twin.columns_, solver.meter_.columns_)
    assert solver.meter_.clone().regret() == 0.0
    assert twin.nbytes == twin.columns_.nbytes + twin.totals_.nbytes


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="outputs must be a whole number of at least 1"):
        Meter(0)
    with pytest.raises(ValueError, match="clip must be"):
        Meter(1, clip=-1.0)
    with pytest.raises(ValueError, match="no row was learnt yet"):
        str(Meter(2).variance)
