"""Kernel bandits: their definitions, guarantees, and the laws of learners as far as bandits have them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import BKB, Gaussian, KernelUCB, Laplacian, Linear, from_bytes, load
from oracles.bandits import bkb, exact, theory

G = Gaussian(0.3)
ARMS = np.random.default_rng(1).uniform(size=(40, 2))
MEAN = np.exp(-8 * ((ARMS - 0.6) ** 2).sum(axis=1)) - 0.5 * np.exp(-8 * ((ARMS - 0.1) ** 2).sum(axis=1))
NOISE = 0.1 * np.random.default_rng(2).normal(size=500)
BANDITS = {
    "exact": KernelUCB(G, lam=0.05, beta=0.7),
    "theory": KernelUCB(Laplacian(0.5), lam=0.5),
    "linear": KernelUCB(Linear(), lam=0.5, beta=1.0),
    "bkb": BKB(G, lam=0.05, beta=0.7, seed=0),
    "bkb theory": BKB(G, lam=0.5, seed=0),
    "batched": BKB(G, lam=0.05, beta=0.7, batch=3.0, q=2.0, seed=0),
}


def play(bandit, rounds, start=0, arms=ARMS):
    pulled = []
    for t in range(start, start + rounds):
        pulled.append(bandit.choose(arms))
        bandit.learn(arms[pulled[-1]], MEAN[pulled[-1]] + NOISE[t])
    return pulled


@pytest.mark.parametrize("kernel", [G, Laplacian(0.5), Linear()], ids=repr)
def test_means_and_widths_are_those_of_the_gram_matrix(kernel):
    bandit = KernelUCB(kernel, lam=0.05, beta=0.7)
    X, r = [], []
    for t in range(60):
        mean, square = exact(kernel, 0.05, np.array(X).reshape(t, 2), np.array(r), ARMS)
        assert_allclose(bandit.predict(ARMS), mean, atol=1e-9)
        assert_allclose(bandit.width(ARMS) ** 2, square, atol=1e-8)
        assert_allclose(bandit.upper_bound(ARMS), mean + 0.7 * np.sqrt(np.maximum(square, 0)), atol=1e-6)
        chosen = bandit.choose(ARMS)
        X.append(ARMS[chosen])
        r.append(MEAN[chosen] + NOISE[t])
        bandit.learn(X[-1], r[-1])
    assert bandit.n_seen == bandit.size == 60


@pytest.mark.parametrize("batch", [1.0, 2.5])
@pytest.mark.parametrize("q", [0.5, 2.0])
def test_bkb_pulls_the_arms_of_its_definition(q, batch):
    bandit = BKB(G, lam=0.05, beta=0.7, q=q, batch=batch, seed=3)
    sizes = []
    pulled = []
    for t in range(80):
        pulled += play(bandit, 1, t)
        sizes.append(bandit.size)
    expected, atoms = bkb(G, 0.05, 0.7, q, batch, ARMS, lambda i, t: MEAN[i] + NOISE[t], 80, 3)
    assert pulled == expected
    assert_array_equal(sizes, atoms)
    assert len(set(pulled)) > 5


def test_with_every_arm_an_atom_bkb_is_kernel_ucb():
    one, two = KernelUCB(G, lam=0.05, beta=0.7), BKB(G, lam=0.05, beta=0.7, q=1e12, seed=0)
    assert play(one, 100) == play(two, 100)
    assert_allclose(one.predict(ARMS), two.predict(ARMS), atol=1e-7)
    assert_allclose(one.width(ARMS), two.width(ARMS), atol=1e-5)


def test_the_radius_of_the_theory_is_the_self_normalised_one():
    bandit = KernelUCB(G, lam=0.5, noise=0.2, norm=3.0, delta=0.01)
    assert_allclose(bandit.upper_bound(ARMS)[0], theory(0.2, 3.0, 0.01, 0.5, 0.0) / np.sqrt(0.5))
    play(bandit, 30)
    X = bandit.ridge_.factor_.points
    log_det = np.linalg.slogdet(np.eye(30) + G(X, X) / 0.5)[1]
    gap = (bandit.upper_bound(ARMS) - bandit.predict(ARMS)) / bandit.width(ARMS)
    assert_allclose(gap, theory(0.2, 3.0, 0.01, 0.5, log_det), rtol=1e-6)


@pytest.mark.parametrize(("q", "batch"), [(0.05, 1.0), (1.0, 1.0), (5.0, 3.0)])
def test_the_radius_of_bkb_is_that_of_its_derivation(q, batch):
    """From dense matrices: log det of the projected A, what the atoms miss of all rounds, and log det of the exact A,
    which the first two bound together."""
    bandit = BKB(G, lam=0.5, noise=0.2, norm=3.0, delta=0.01, q=q, batch=batch, seed=1)
    pulled = []
    for t in range(40):
        pulled += play(bandit, 1, t)
        X = ARMS[pulled]
        Z = bandit.nested_.coordinates(X)
        missed = max((1.0 - (Z * Z).sum(axis=1)).sum(), 0.0)
        inside = np.linalg.slogdet(np.eye(len(X)) + Z @ Z.T / 0.5)[1] + missed / 0.5
        assert_allclose(bandit.information(), inside, rtol=1e-7, atol=1e-7)
        assert inside >= np.linalg.slogdet(np.eye(len(X)) + G(X, X) / 0.5)[1] - 1e-9
    gap = (bandit.upper_bound(ARMS) - bandit.predict(ARMS)) / bandit.width(ARMS)
    radius = 0.2 * np.sqrt(inside + 2 * np.log(100)) + (np.sqrt(0.5) + np.sqrt(missed)) * 3.0
    assert_allclose(gap, radius, rtol=1e-6)


@pytest.mark.parametrize(("q", "batch"), [(0.02, 1.0), (0.5, 1.0), (5.0, 1.0), (5.0, 4.0)])
def test_mean_rewards_are_within_the_radius_of_bkb_for_any_atoms(q, batch):
    """Also for a dictionary that is far too small, and between two samplings."""
    centres, weights = ARMS[:5], np.array([1.0, -0.7, 0.5, 0.3, -0.4])
    norm = float(np.sqrt(weights @ G(centres, centres) @ weights))
    mean = G(ARMS, centres) @ weights
    for seed in range(6):
        rng = np.random.default_rng(seed)
        bandit, regret = BKB(G, lam=0.1, norm=norm, noise=0.3, q=q, batch=batch, seed=seed), 0.0
        for _ in range(60):
            gap = bandit.upper_bound(ARMS) - bandit.predict(ARMS)
            assert (np.abs(mean - bandit.predict(ARMS)) <= gap + 1e-9).all()
            chosen = bandit.choose(ARMS)
            regret += mean.max() - mean[chosen]
            bandit.learn(ARMS[chosen], mean[chosen] + 0.3 * rng.normal())
        assert regret <= bandit.regret_bound() < np.inf


@pytest.mark.parametrize("kind", [KernelUCB, BKB])
def test_regret_stays_below_the_live_bound_and_mean_rewards_below_their_upper_bounds(kind):
    """A function of known norm: a combination of kernels."""
    centres, weights = ARMS[:5], np.array([1.0, -0.7, 0.5, 0.3, -0.4])
    norm = float(np.sqrt(weights @ G(centres, centres) @ weights))
    mean = G(ARMS, centres) @ weights
    failures = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        settings = {"q": 80.0, "seed": seed} if kind is BKB else {}
        bandit, regret = kind(G, lam=0.1, norm=norm, noise=0.3, **settings), 0.0
        for _ in range(60):
            failures += (bandit.upper_bound(ARMS) < mean - 1e-9).any()
            chosen = bandit.choose(ARMS)
            regret += mean.max() - mean[chosen]
            bandit.learn(ARMS[chosen], mean[chosen] + 0.3 * rng.normal())
        assert 0 < regret <= bandit.regret_bound() < np.inf
    assert failures == 0
    assert kind(G, beta=1.0).regret_bound() == np.inf


@pytest.mark.parametrize("name", ["exact", "bkb", "batched"])
def test_regret_becomes_small(name):
    pulled = play(BANDITS[name].clone(), 400)
    regret = MEAN.max() - MEAN[pulled]
    assert regret[200:].mean() < 0.1 * (MEAN.max() - MEAN.mean())


def test_contexts_are_columns_before_those_of_the_arm():
    """Two arms; the first is better where the context is positive."""
    rng = np.random.default_rng(0)
    bandit, right = BKB(Gaussian(0.7), lam=0.1, beta=0.3, batch=2.0, seed=0), []
    for _ in range(300):
        x = rng.uniform(-1, 1)
        arms = np.array([[x, 1.0, 0.0], [x, 0.0, 1.0]])
        chosen = bandit.choose(arms)
        right.append((chosen == 0) == (x > 0))
        bandit.learn(arms[chosen], x * (1 - 2 * chosen) + 0.1 * rng.normal())
    assert np.mean(right[150:]) > 0.9


# -- laws --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", BANDITS)
def test_choosing_changes_nothing_and_depends_on_each_arm_alone(name):
    bandit = BANDITS[name].clone()
    assert bandit.choose(ARMS) == bandit.choose(ARMS)
    play(bandit, 30)
    before = bandit.to_bytes()
    upper = bandit.upper_bound(ARMS)
    for act in (bandit.choose, bandit.predict, bandit.width, lambda a: bandit.choose_batch(a, 5)):
        act(ARMS)
    assert bandit.to_bytes() == before
    assert_allclose(bandit.upper_bound(ARMS[::-1])[::-1], upper, rtol=1e-9, atol=1e-10)
    assert_allclose([bandit.upper_bound(arm[None])[0] for arm in ARMS], upper, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", BANDITS)
def test_files_and_copies_go_on_bit_for_bit(name, tmp_path):
    bandit = BANDITS[name].clone()
    play(bandit, 30)
    bandit.save(tmp_path / "b.nys")
    others = load(tmp_path / "b.nys"), from_bytes(bandit.to_bytes()), copy.deepcopy(bandit)
    expected = play(bandit, 40, 30)
    for other in others:
        assert play(other, 40, 30) == expected
        assert other.to_bytes() == bandit.to_bytes()


@pytest.mark.parametrize("name", BANDITS)
def test_a_clone_has_learnt_nothing_and_the_same_seed_gives_the_same_bits(name):
    one = BANDITS[name].clone()
    play(one, 30)
    two = one.clone()
    assert two.n_seen == two.size == two.nbytes == 0
    assert play(two, 30) == play(BANDITS[name].clone(), 30)
    assert two.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("name", BANDITS)
def test_bad_input_is_refused_and_changes_nothing(name):
    bandit = BANDITS[name].clone()
    with pytest.raises(ValueError, match="arms has 0 rows"):
        bandit.choose(np.zeros((0, 2)))
    play(bandit, 5)
    before = bandit.to_bytes()
    for act, message in [
        (lambda: bandit.choose(np.zeros((3, 5))), "2"),
        (lambda: bandit.choose([[np.nan, 1.0]]), "arms"),
        (lambda: bandit.learn([1.0, 2.0, 3.0], 1.0), "arm"),
        (lambda: bandit.learn([1.0, np.inf], 1.0), "arm"),
        (lambda: bandit.learn([1.0, 2.0], np.nan), "reward must be a finite number"),
        (lambda: bandit.learn([1.0, 2.0], "1"), "reward must be a finite number"),
        (lambda: bandit.learn([1.0, 2.0], [1.0]), "reward must be a finite number"),
        (lambda: bandit.choose_batch(ARMS, 0), "size must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            act()
    assert bandit.to_bytes() == before


def test_bad_parameters_are_refused():
    for settings, message in [
        ({"lam": 0.0}, "lam must be"),
        ({"beta": "half"}, "beta must be 'theory' or a number of at least 0, got 'half'"),
        ({"beta": -1.0}, "beta must be"),
        ({"beta": True}, "beta must be"),
        ({"norm": 0.0}, "norm must be"),
        ({"noise": np.nan}, "noise must be"),
        ({"delta": 1.0}, "delta must be"),
    ]:
        for kind in (KernelUCB, BKB):
            with pytest.raises(ValueError, match=message):
                kind(G, **settings)
    with pytest.raises(ValueError, match="batch must be at least 1"):
        BKB(G, batch=0.5)
    with pytest.raises(ValueError, match="kernel must be a kernel"):
        BKB(0.5)


def test_a_batch_spreads_over_arms_and_ends_when_atoms_are_to_be_sampled():
    bandit = KernelUCB(G, lam=0.05, beta=3.0)
    play(bandit, 10)
    chosen = bandit.choose_batch(ARMS, 6)
    assert chosen[0] == bandit.choose(ARMS)
    assert len(set(chosen)) == 6
    budgeted = BKB(G, lam=0.5, beta=1.0, batch=2.0, q=100.0, seed=0)
    play(budgeted, 100)
    chosen = budgeted.choose_batch(ARMS, 1000)
    squares = np.cumsum(budgeted.width(ARMS[chosen]) ** 2)
    assert 3 < len(chosen) < 1000
    assert len(set(chosen)) > 2
    assert squares[-1] > 1 - budgeted.since_  # with the widths before the batch, which are larger
    assert len(BKB(G, lam=0.05, beta=3.0, batch=1.0, seed=0).choose_batch(ARMS, 6)) == 1


def test_memory_of_finitely_many_arms_is_bounded():
    bandit = BKB(G, lam=0.05, beta=0.7, batch=2.0, seed=0)
    play(bandit, 400)
    assert bandit.points_.n <= len(ARMS)
    assert bandit.size <= len(ARMS)
    assert bandit.totals_.view[:, 0].sum() == 400


@pytest.mark.parametrize("batch", [1.0, 4.0])
def test_arms_that_are_asked_about_again_are_not_computed_again_and_get_the_same_bits(batch):
    rng = np.random.default_rng(3)
    arms, other = rng.uniform(size=(40, 2)), rng.uniform(size=(30, 2))
    bandit = BKB(Gaussian(0.3), lam=0.1, beta=0.5, batch=batch, seed=0)
    for _ in range(25):
        arm = arms[bandit.choose(arms)]
        bandit.learn(arm, float(np.sin(5 * arm[0]) + 0.1 * rng.normal()))
        forgetful = from_bytes(bandit.to_bytes())  # has kept nothing
        for rows in (arms, other, arms):
            assert_array_equal(bandit.upper_bound(rows), forgetful.upper_bound(rows))
    changed = arms.copy()
    bandit.predict(changed)
    changed[:] = other[0]
    assert_array_equal(bandit.predict(changed), np.repeat(bandit.predict(other[:1]), len(changed)))


def test_several_arms_at_once_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match="learn rewards one by one"):
        BKB(G).learn(ARMS, 1.0)
