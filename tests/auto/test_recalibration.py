"""Probabilities made as sure as they turn out to be: as defined, in blocks, saved, in order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import Auto, from_bytes, to_bytes
from nystream.auto.outputs import Recalibration
from nystream.auto.recipe import Recipe
from oracles.auto import recalibrated

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)


def said(n, K, *, sure=1.0, seed=0, wrong=0.0):
    """Log probabilities that are too sure or too little, and labels, some of them wrong."""
    rng = np.random.default_rng(seed)
    scores = 3 * rng.normal(size=(n, K))
    truth = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    labels = (truth.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, K - 1)
    labels = np.where(rng.random(n) < wrong, rng.integers(0, K, n), labels)
    scores = sure * scores
    return scores - np.logaddexp.reduce(scores, axis=1)[:, None], labels.astype(float)


def started():
    model = Recalibration()
    model.start()
    return model


def error(P, labels, bins=10):
    """Expected calibration error of the class that is said, bins of as many rows each."""
    p, right = np.exp(P).max(axis=1), P.argmax(axis=1) == labels
    parts = np.array_split(np.argsort(p, kind="stable"), bins)
    return sum(len(part) * abs(p[part].mean() - right[part].mean()) for part in parts) / len(p)


def losses(P, labels):
    return -P[np.arange(len(P)), labels.astype(int)]


@pytest.mark.parametrize(("K", "sure", "weighted"), [(2, 0.5, False), (3, 2.5, True), (7, 1.0, False)])
def test_it_is_what_is_defined_in_blocks_and_rows_and_after_saving(K, sure, weighted):
    P, labels = said(150, K, sure=sure, wrong=0.1)
    P[5] = np.log(np.array([1e-17, *np.full(K - 1, 1 / (K - 1))]))
    w = np.random.default_rng(1).uniform(0.1, 3.0, 150) if weighted else None
    whole, parts = started(), started()
    found = whole.run(P, labels, w)
    assert_allclose(found, recalibrated(P, labels, w), rtol=1e-7, atol=1e-9)
    assert_allclose(np.exp(found).sum(axis=1), 1.0)
    for i in range(0, 150, 7):
        part = slice(i, i + 7)
        assert_array_equal(parts.predict(P[part])[0], found[i])
        assert_array_equal(parts.run(P[part], labels[part], None if w is None else w[part]), found[part])
        parts = from_bytes(to_bytes(parts))
    assert to_bytes(parts) == to_bytes(whole)


@pytest.mark.parametrize(("sure", "wrong"), [(0.4, 0.0), (3.0, 0.0), (1.0, 0.2), (-1.0, 0.0)])
def test_order_stays_and_what_was_too_sure_or_not_enough_is_put_right(sure, wrong):
    P, labels = said(3000, 3, sure=sure, wrong=wrong)
    Q = started().run(P, labels, None)
    assert_array_equal(P.argmax(axis=1), Q.argmax(axis=1))
    likely = np.exp(P).min(axis=1) > 1e-5  # the order of what is hardly possible is lost to rounding
    assert_array_equal(np.argsort(P[likely], axis=1), np.argsort(Q[likely], axis=1))
    late = slice(1000, None)
    assert losses(Q, labels)[late].mean() < losses(P, labels)[late].mean() - 0.02
    if sure > 0:
        assert error(Q[late], labels[late]) < 0.5 * error(P[late], labels[late])


def test_where_all_is_right_next_to_nothing_is_lost():
    P, labels = said(4000, 2)
    Q = started().run(P, labels, None)
    assert losses(Q, labels).sum() - losses(P, labels).sum() < 6.0


def test_labels_that_are_no_class_are_refused():
    P, labels = said(5, 2)
    for wrong in (labels + 2, labels[:4], -1 - labels):
        with pytest.raises(ValueError, match=r"is needed|do not fit together"):
            started().run(P, wrong, None)


def test_auto_says_what_it_learnt_from_what_it_would_have_said_and_is_as_sure_as_it_is_right():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    labels = ((X[:, 0] * X[:, 1] > 0) ^ (np.arange(2000) >= 1000) ^ (rng.random(2000) < 0.05)).astype(float)
    model, bare = Auto(task="classification", recipe=SMALL), Auto(task="classification", recipe=SMALL)
    bare.reserve(2, 2)
    bare.pipeline_.stages_.recalibration_ = None
    P, raw = model.run(X, labels), bare.run(X, labels)
    assert_array_equal(started().run(raw, labels, None), P)
    assert_array_equal(P.argmax(axis=1), raw.argmax(axis=1))
    assert losses(P, labels).mean() < losses(raw, labels).mean()
    recalibration = model.pipeline_.stages_.recalibration_
    assert_array_equal(model.predict(X[:9], ahead=1), recalibration.predict(bare.predict(X[:9], ahead=1)))
    assert_allclose(model.probabilities(X[:9], ahead=1), np.exp(model.predict(X[:9], ahead=1)))
    assert error(P[1500:], labels[1500:]) < 0.06
