"""Labels with long tails that are cut anew before a rebuild: as by the definition, for the better, and by the laws."""

from __future__ import annotations

import numpy as np
import pytest

from nystream import Auto, load
from nystream.auto import retold as module
from nystream.auto.recipe import Recipe
from nystream.auto.retold import retold

SMALL = Recipe((1, 2, 5, 20, 60, 200), landmarks=15, big=30, small=10, ring=200, refresh=100, windows=(60, 10))


def noisy(n, seed=0):
    """A function with normal noise, and the same with Cauchy noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, y, y + 0.25 * rng.standard_cauchy(n)


def started(X, y, w=None):
    model = Auto(recipe=SMALL)
    model.run(X, y, weights=w)
    assert model.tails_.long.all()
    return model


def variance(sizes, least):
    """Of the estimate, with what sizes are cut to and the part that is not cut."""
    cuts = [max(c * np.median(sizes), least) for c in (1.5, 3, 6, 12)]
    parts = [max(np.mean(sizes <= k), 0.5) for k in cuts]
    found = [(np.mean(np.minimum(sizes, k) ** 2) / q**2, k, q) for k, q in zip(cuts, parts, strict=True)]
    return min(found)


def slowly(bank, X, w, told, labels, least):
    """Every row left out in turn; the least variance and what is then told."""
    expert, n = bank.experts_["ag"], len(X)
    U, points = bank.views_["ag"](X), expert.points_
    Z = np.hstack([expert._kernel.block(U, points), np.ones((n, 1))])
    penalty = np.zeros((Z.shape[1], Z.shape[1]))
    penalty[:-1, :-1] = expert._kernel.block(points, points)
    penalty += 1e-6 * np.eye(len(penalty))
    penalty[-1, -1] = 1e-3
    best = (np.inf, None)
    for lam in (0.01, 0.1, 1.0):
        t = told - np.median(told)
        for _ in range(3):
            p = np.empty(n)
            for i in range(n):
                others = np.arange(n) != i
                A = (Z[others] * w[others, None]).T @ Z[others] + lam * penalty
                p[i] = Z[i] @ np.linalg.solve(A, Z[others].T @ (w[others] * t[others]))
            r = labels - np.median(told) - p
            _, k, q = variance(np.abs(r), least)
            t = p + np.clip(r, -k, k) / q
        best = min(best, (variance(np.abs(r), least)[0], tuple(t + np.median(told))))
    return best[0], np.array(best[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_cut_around_what_the_other_rows_say(weighted):
    X, _, y = noisy(150)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 150) if weighted else None
    model = started(X, y, w)
    told, least = model.buffer_[1].last(150), np.array([0.1])
    found = retold(model.bank_, X, w, told, model.tails_, least)
    of_mean_one = np.ones(150) if w is None else w / w.mean()
    better, wanted = slowly(model.bank_, X, of_mean_one, told[:, 0], y, 0.1)
    assert better < model.tails_.variance(least)[0]
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-5, atol=1e-6)


def test_nothing_is_cut_anew_where_that_is_no_better_or_tails_are_not_long():
    X, _, given = noisy(150)
    model = started(X, given)
    told = model.buffer_[1].last(150)
    shuffled = np.random.default_rng(2).permutation(X)  # rows that tell nothing of these labels
    np.testing.assert_array_equal(retold(model.bank_, shuffled, None, told, model.tails_, np.ones(1)), told)
    model.tails_.wild_[:] = -model.tails_.lasting
    np.testing.assert_array_equal(retold(model.bank_, X, None, told, model.tails_, np.array([0.1])), told)


def test_cauchy_noise_costs_less_than_without_it(monkeypatch):
    X, y, given = noisy(1500)
    errors = []
    for fewest in (400, 10**9):
        monkeypatch.setattr(module, "FEWEST", fewest)
        errors.append(np.sqrt(np.mean((Auto().run(X, given) - y)[420:] ** 2)))
    assert errors[0] < 0.97 * errors[1]


@pytest.mark.parametrize("cut", [1, 7])
def test_any_blocks_give_the_same(cut, monkeypatch):
    monkeypatch.setattr(module, "FEWEST", 60)
    X, _, y = noisy(300)
    whole, parts = started(X, y), Auto(recipe=SMALL)
    Q = np.concatenate([parts.run(X[i : i + cut], y[i : i + cut]) for i in range(0, 300, cut)])
    np.testing.assert_allclose(Q, Auto(recipe=SMALL).run(X, y), atol=1e-7)
    np.testing.assert_allclose(parts.buffer_[1].rows, whole.buffer_[1].rows, atol=1e-7)


@pytest.mark.parametrize("at", [59, 60, 62, 199, 203])
def test_a_saved_model_goes_on_bit_for_bit(at, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FEWEST", 60)
    X, _, y = noisy(300)
    P = Auto(recipe=SMALL).run(X, y)
    other = Auto(recipe=SMALL)
    other.run(X[:at], y[:at])
    other.save(tmp_path / "model.nys")
    np.testing.assert_array_equal(load(tmp_path / "model.nys").run(X[at:], y[at:]), P[at:])
