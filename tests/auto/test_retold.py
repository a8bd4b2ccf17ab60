"""Labels with long tails that are cut anew before a rebuild: as by the definition, for the better, and by the laws."""

from __future__ import annotations

import numpy as np
import pytest

from nystream import Auto, load
from nystream.auto import labels as module
from nystream.auto.labels import winsorize_again
from nystream.auto.recipe import Recipe
from nystream.auto.rows import Rows
from nystream.scaling.ring import Ring

SMALL = Recipe((1, 2, 5, 20, 60, 200), landmarks=15, big=30, small=10, ring=200, refresh=100, window=60)


def noisy(n, seed=0):
    """A function with normal noise, and the same with Cauchy noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, y, y + 0.25 * rng.standard_cauchy(n)


def started(X, y, w=None):
    model = Auto(recipe=SMALL)
    model.run(X, y, weights=w)
    assert model.pipeline_.label_filter_.is_heavy.all()
    return model


def variance(sizes, least):
    """Of the estimate, with what sizes are cut to and the part that is not cut."""
    cuts = [max(c * np.median(sizes), least) for c in (1.5, 3, 6, 12)]
    parts = [max(np.mean(sizes <= k), 0.5) for k in cuts]
    found = [(np.mean(np.minimum(sizes, k) ** 2) / q**2, k, q) for k, q in zip(cuts, parts, strict=True)]
    return min(found)


def left_out(K, w, t, lam, most):
    """What a ridge with this kernel matrix and a constant says of each row, fitted to the others; by brute force.

    A row of more leverage than `most` counts as one of that.
    """
    n = len(t)
    Z = np.hstack([K, np.ones((n, 1))])
    penalty = np.zeros((n + 1, n + 1))
    penalty[:n, :n] = K
    penalty += 1e-6 * np.eye(n + 1)
    penalty[n, n] = 1e-3
    A = (Z * w[:, None]).T @ Z + lam * penalty
    fit = Z @ np.linalg.solve(A, Z.T @ (w * t))
    h = np.einsum("ij,ji->i", Z, np.linalg.solve(A, Z.T)) * w
    said = np.empty(n)
    for i in range(n):
        if h[i] > most:
            said[i] = (fit[i] - most * t[i]) / (1 - most)
        else:
            others = np.arange(n) != i
            B = (Z[others] * w[others, None]).T @ Z[others] + lam * penalty
            said[i] = Z[i] @ np.linalg.solve(B, Z[others].T @ (w[others] * t[others]))
    return said


def cut(y, p, least):
    _, k, q = variance(np.abs(y - p), least)
    return p + np.clip(y - p, -k, k) / q


def laplacian(X):
    """Three median distances wide, on standardised columns."""
    U = (X - X.mean(axis=0)) / X.std(axis=0)
    apart = np.abs(U[:, None] - U[None]).sum(axis=2)
    some = apart[np.ix_(*2 * [np.linspace(0, len(X) - 1, min(100, len(X))).round().astype(int)])]
    some = some[np.triu_indices(len(some), 1)]
    return np.exp(-apart / (3 * np.median(some[some > 0])))


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_cut_around_what_the_other_rows_say(weighted):
    X, _, y = noisy(60)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 60) if weighted else None
    model = started(*noisy(150)[::2])
    model.pipeline_.label_filter_.labels_ = Ring(60, 1)
    model.pipeline_.label_filter_.labels_.extend(y[:, None])
    K, of_mean_one = laplacian(X), np.ones(60) if w is None else w / w.mean()
    if w is not None:  # scales count weights
        mean = np.average(X, axis=0, weights=w)
        X = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
        apart = np.abs(X[:, None] - X[None]).sum(axis=2)
        K = np.exp(-apart / (3 * np.median(apart[np.triu_indices(60, 1)])))
    middle = np.median(y)
    away = 4 * np.median(np.abs(y - middle))
    t = np.clip(y, middle - away, middle + away)
    for _ in range(10):
        t = cut(y, left_out(K, of_mean_one, t - middle, 0.01, 0.9) + middle, 0.1)
    rows = Rows(X, y[:, None], w)
    found = winsorize_again(
        model.expert_set_, rows, model.pipeline_.label_filter_, np.array([0.1]), np.ones(1, dtype=bool)
    )
    assert not np.array_equal(found[:, 0], y)
    np.testing.assert_allclose(found[:, 0], t, rtol=1e-4, atol=1e-4)


def test_nothing_is_cut_anew_where_that_is_no_better():
    X, _, given = noisy(150)
    model = started(X, given)
    told = model.pipeline_.buffer_.labels_.last(150).copy()
    shuffled = np.random.default_rng(2).permutation(X)  # rows that tell nothing of these labels
    tails, rows = model.pipeline_.label_filter_, Rows(shuffled, told, None)
    found = winsorize_again(model.expert_set_, rows, tails, np.ones(1), np.ones(1, dtype=bool))
    np.testing.assert_array_equal(found, told)


# -- whether tails are long ------------------------------------------------------------------------------------------
def with_wild_labels(n, seed):
    """A function with labels of six deviations on both sides, none of them far enough to be wild by itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)
    given = y.copy()
    given[7::8] += np.where(np.arange(len(y[7::8])) % 2 == 0, 6.0, -6.0)
    return X, y, given


def asked(X, y, given):
    """Whether tails are suspected to be long, and what is then told."""
    model = Auto(recipe=SMALL)
    model.run(X, given)
    tails = model.pipeline_.label_filter_
    tails.outlier_[:], tails.suspected_[:] = -tails.lasting, False
    rows = model.pipeline_.buffer_.last(len(y))
    found = winsorize_again(model.expert_set_, rows, tails, np.array([0.1]), np.ones(1, dtype=bool))
    return bool(tails.suspected_[0]), found[:, 0]


def test_labels_that_tell_others_better_where_they_are_cut_have_long_tails():
    X, y, given = with_wild_labels(100, 0)
    suspected, found = asked(X, y, given)
    assert suspected
    assert np.mean((found - y) ** 2) < 0.3 * np.mean((given - y) ** 2)


@pytest.mark.parametrize("kind", ["clean", "function", "two accidents"])
def test_labels_that_do_not_are_told_as_they_came(kind):
    X, y, _ = with_wild_labels(100, 1)
    if kind == "function":
        y = np.sign(X[:, 1]) * np.exp(2 * np.abs(X[:, 1]))
    if kind == "two accidents":  # they say nothing of the other labels, and cost plain labels nothing
        y[[1, 7]] = 1e6, -1e6
    suspected, found = asked(X, y, y)
    assert not suspected
    np.testing.assert_array_equal(found, y)


def test_a_suspicion_lasts_until_the_next_rebuild_and_is_asked_again():
    X, y, given = with_wild_labels(150, 0)
    model = Auto(recipe=SMALL)
    model.run(X[:60], given[:60])
    tails, ring = model.pipeline_.label_filter_, model.pipeline_.buffer_.labels_
    tails.suspect(0, 60)
    assert tails.is_heavy.all()
    ring.replace(given[:60, None] + 1.0)
    model.run(X[60:120], y[60:120])
    tails.outlier_[:] = tails.past_.seen_ - tails.lasting
    assert not tails.is_heavy.any()
    assert tails.suspected_.all()
    labels = tails.labels_.last(120)[:, 0]
    labels[:] = y[:120]  # nothing far out any more
    found = winsorize_again(
        model.expert_set_, model.pipeline_.buffer_.last(120), tails, np.array([0.1]), tails.suspected_
    )
    np.testing.assert_array_equal(found[:, 0], y[:120])
    assert not tails.suspected_.any()


def test_cauchy_noise_costs_less_than_without_it(monkeypatch):
    X, y, given = noisy(1500)
    errors = []
    for fewest in (400, 10**9):
        monkeypatch.setattr(module, "AGAIN", module.AgainRules(fewest=fewest))
        errors.append(np.sqrt(np.mean((Auto().run(X, given) - y)[420:] ** 2)))
    assert errors[0] < 0.97 * errors[1]


@pytest.mark.parametrize("cut", [1, 7])
def test_any_blocks_give_the_same(cut, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", module.AgainRules(fewest=60))
    X, _, y = noisy(300)
    whole, parts = started(X, y), Auto(recipe=SMALL)
    Q = np.concatenate([parts.run(X[i : i + cut], y[i : i + cut]) for i in range(0, 300, cut)])
    np.testing.assert_allclose(Q, Auto(recipe=SMALL).run(X, y), atol=1e-7)
    np.testing.assert_allclose(parts.pipeline_.buffer_.labels_.rows, whole.pipeline_.buffer_.labels_.rows, atol=1e-7)


@pytest.mark.parametrize("at", [59, 60, 62, 199, 203])
def test_a_saved_model_goes_on_bit_for_bit(at, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "AGAIN", module.AgainRules(fewest=60))
    X, _, y = noisy(300)
    P = Auto(recipe=SMALL).run(X, y)
    other = Auto(recipe=SMALL)
    other.run(X[:at], y[:at])
    other.save(tmp_path / "model.nys")
    np.testing.assert_array_equal(load(tmp_path / "model.nys").run(X[at:], y[at:]), P[at:])
