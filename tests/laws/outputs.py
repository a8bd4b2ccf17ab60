"""Laws of labels: weights, several targets, classes that appear late."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laws.cases import CLOSE, Rows, Variant, assert_bits, assert_state, pad
from laws.registry import law
from nystream import GAF


@law(lambda variant: variant.pattern.weighted)
def weight_zero_leaves_no_trace(variant: Variant) -> None:
    """Such a row is predicted as the next one; without it everything is the same to the last bit."""
    rows = variant.stream()
    for seen in (0, 45):
        learner = variant.make()
        if seen:
            rows[:seen].into(learner)
        before, asked = learner.to_bytes(), rows[50:57]
        expected = learner.predict(asked.X, ahead=1)
        got = learner.run(asked.X, asked.Y, np.zeros(7))
        if seen:
            assert_bits(got, expected)
        else:
            assert_allclose(got.reshape(7, -1) + np.zeros((7, expected.reshape(7, -1).shape[1])), 0, atol=0)
        for i, p in enumerate(got):
            single = np.atleast_1d(learner.step(*at(asked, i), 0.0))
            assert_bits(single, np.atleast_1d(learner.predict(asked.X[i : i + 1], ahead=1)[0] if seen else p))
        assert_state(learner, before)
    w = np.where(np.arange(90) % 3 == 1, 0.0, 1.0)
    w[:2], w[60:70] = 0.0, 0.0
    some = w > 0
    mixed, without = variant.make(), variant.make()
    P = mixed.run(rows.X, rows.Y, w)
    parts = [rows[i:j].X.size and without.run(rows.X[i:j], rows.Y[i:j]) for i, j in stretches(some)]
    assert_bits(P[some], pad([p for part in parts for p in part]))
    assert_state(mixed, without.to_bytes())


def stretches(some: np.ndarray) -> list[tuple[int, int]]:
    """First and last row of every run of rows that count."""
    edges = np.flatnonzero(np.diff(np.r_[False, some, False].astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


@law()
def weights_are_taken_or_refused(variant: Variant) -> None:
    """A weight changes what is learnt, 1 is no weight; a learner that takes none says so and stays as it is."""
    learner, plain, rows = variant.make(), variant.make(), variant.stream()
    rows[:40].into(learner)
    rows[:40].into(plain)
    before, block = learner.to_bytes(), rows[40:60]
    if not variant.pattern.weighted:
        for refused in (lambda: learner.run(block.X, block.Y, np.ones(20)), lambda: learner.step(*at(block, 0), 2.0)):
            with pytest.raises(ValueError, match="does not take weights"):
                refused()
            assert_state(learner, before)
        return
    heavy = copy.deepcopy(learner)
    learner.run(block.X, block.Y, np.ones(20))
    plain.run(block.X, block.Y)
    assert_allclose(learner.predict(rows.X), plain.predict(rows.X), **CLOSE)
    heavy.run(block.X, block.Y, np.resize([0.2, 3.0, 0.1], 20))
    assert bool(variant.indifferent) == np.allclose(heavy.predict(rows.X), plain.predict(rows.X), **CLOSE)


def at(rows: Rows, i: int) -> tuple[np.ndarray, np.ndarray]:
    return rows.X[i], rows.Y[i]


@law(lambda variant: variant.pattern.labels != "none")
def several_targets_are_learnt_or_refused(variant: Variant) -> None:
    """Outputs follow their targets: in another order they are the same, and one column is one target.

    A separable learner has, to the last bit, the outputs of learners with one target each; so has least squares, which
    can add outputs, but for rounding.
    """
    rows, learner = variant.stream(), variant.make()
    Y = np.column_stack([rows.Y.reshape(90, -1)[:, 0], 0.4 - 0.5 * rows.X[:, 0] * rows.X[:, 2]])
    if variant.targets == 1:
        one, flat = variant.make(), variant.make()
        assert_bits(one.run(rows.X, rows.Y[:, None], rows.w), flat.run(rows.X, rows.Y, rows.w))
        assert_state(one, flat.to_bytes())
        rows[:40].into(learner)
        before = learner.to_bytes()
        with pytest.raises(ValueError, match="column"):
            learner.run(rows.X, Y, rows.w)
        assert_state(learner, before)
    if not variant.multi_output:
        with pytest.raises(ValueError, match="column"):
            variant.make().run(rows.X, Y, rows.w)
        return
    both, turned = variant.make(), variant.make()
    P, Q = both.run(rows.X, Y, rows.w), turned.run(rows.X, Y[:, ::-1], rows.w)
    assert_allclose(P, Q[:, ::-1], **CLOSE)
    assert_allclose(both.predict(rows.X), turned.predict(rows.X)[:, ::-1], **CLOSE)
    if not variant.pattern.separable and not variant.pattern.can("add_outputs"):
        return
    for k in range(2):
        single = variant.make()
        p = single.run(rows.X, Y[:, k], rows.w)
        if variant.pattern.separable:
            assert_bits(P[:, k], p)
        assert_allclose(P[:, k], p, **CLOSE)
        assert_allclose(both.predict(rows.X)[:, k], single.predict(rows.X), **CLOSE)


@law(lambda variant: variant.pattern.labels == "class" and variant.pattern.classes is None)
def late_classes(variant: Variant) -> None:
    """A class has the score -inf until it was seen, changes nothing before, and leaves what is known of the others.

    When it comes, its score is 0 (nothing is known of it), or exactly what it would be had it been known all along; or
    scores are logarithms of probabilities, of which it has some, but never the largest. GAF averages over the scores
    that a class may have: one that never came is uncertain, and is below the known ones on average only.
    """
    rows = variant.stream()
    Y = np.minimum(rows.Y, 1.0)
    Y[30::3], Y[61::4] = 2.0, 4.0  # 3 is never seen
    late = Rows(rows.X, Y, None)
    learner = variant.make()
    P = late.into(learner)
    assert P.shape == (90, 5)
    assert np.isfinite(P[1:, :2]).all()
    assert np.isneginf(P[:31, 2:]).all()
    assert np.isfinite(P[31:, 2]).all()
    assert np.isneginf(P[:62, 3:]).all()
    assert np.isfinite(P[62:]).all()
    before = variant.make()
    assert_bits(late[:30].into(before), P[:30, :2])
    known = before.predict(rows.X)
    grown, early = copy.deepcopy(before), variant.make()
    grown.reserve(3, 5)
    early.reserve(3, 5)
    late[:30].into(early)
    F, E = grown.predict(rows.X), early.predict(rows.X)
    assert F.shape == (90, 5)
    if np.allclose(np.exp(known).sum(axis=1), 1.0):
        assert_allclose(np.exp(F).sum(axis=1), 1.0, rtol=1e-9)
        below = F[:, :2].max(axis=1) - F[:, 2:].max(axis=1)
        assert below.mean() > 0 if isinstance(variant.pattern, GAF) else (below > 0).all()
    else:
        assert_allclose(F[:, :2], known, **CLOSE)
        assert not F[:, 2:].any() or np.allclose(F, E, **CLOSE)
