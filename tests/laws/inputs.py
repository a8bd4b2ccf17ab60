"""Laws of inputs: what is refused, what is hard, how much is kept, and columns that come late."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laws.cases import CLOSE, Rows, Variant, assert_state
from laws.registry import law

LARGE = (1e30, 1e90, 1e160, 1e300)


@law()
def bad_input_is_refused_and_changes_nothing(variant: Variant) -> None:
    rows = variant.stream()
    for seen in (0, 40):
        learner = variant.make()
        if seen:
            rows[:seen].into(learner)
        before = learner.to_bytes()
        for block in spoilt(variant, rows[40:50]):
            with pytest.raises(ValueError, match=r".{20}"):
                block.into(learner)
            assert_state(learner, before)
        bad = next(spoilt(variant, rows[40:50]))
        with pytest.raises(ValueError, match=r"x has (nan|inf) at row 0, column 1"):
            learner.step(bad.X[3], rows.Y[43])
        if seen:
            with pytest.raises(ValueError, match="columns"):
                learner.run(rows.X[:, :2], rows.Y, rows.w)
            with pytest.raises(ValueError, match="columns"):
                learner.predict(rows.X[:, :2])
        with pytest.raises(ValueError, match="weights must be finite and at least 0"):
            learner.run(rows.X[:2], rows.Y[:2], [1.0, -1.0])
        assert_state(learner, before)
        assert learner.n_seen == rows[:seen].learnt


def spoilt(variant: Variant, rows: Rows) -> Iterator[Rows]:
    """Blocks that must be refused whole."""
    labels = variant.pattern.labels
    X = rows.X.copy()
    X[3, 1] = np.inf if variant.pattern.missing else np.nan
    yield Rows(X, rows.Y, rows.w)
    yield Rows(np.where(np.isfinite(X), X, -np.inf), rows.Y, rows.w)
    if labels == "none":
        return
    yield Rows(rows.X, rows.Y[:-1], rows.w)
    for bad in (np.inf, np.nan, *([0.5] if labels in ("sign", "class") else [])):
        Y = rows.Y.copy()
        Y[7] = bad
        if labels == "class":
            Y[2] = variant.pattern.classes - 1 if variant.pattern.classes else 3  # a class that must stay unknown
        yield Rows(rows.X, Y, rows.w)


@law()
def a_row_too_large_is_learnt_or_its_block_refused_whole(variant: Variant) -> None:
    """Whatever a learner refuses for reasons of its own, it refuses before it changes."""
    rows = variant.stream()
    for seen in (0, 40):
        for factor in LARGE:
            learner = variant.make()
            if seen:
                rows[:seen].into(learner)
            before = learner.to_bytes()
            block = Rows(rows.X[40:60].copy(), rows.Y[40:60], rows.w if rows.w is None else rows.w[40:60])
            block.X[15] *= factor
            refusal = refused(ValueError, lambda: assert_numbers(block.into(learner)))  # noqa: B023
            if refusal:
                assert len(refusal) > 20
                assert_state(learner, before)
            else:
                assert np.isfinite(learner.predict(rows.X)).all()


@law()
def hard_points_give_finite_numbers(variant: Variant) -> None:
    learner, rows = variant.make(), variant.stream(n=40)
    X = rows.X
    hard = np.vstack([np.zeros((3, 3)), np.repeat(X[:1], 120, axis=0), X[:1] + 1e-9, 1e6 * X[:6], X])
    Y = np.resize(rows.Y, (len(hard), *rows.Y.shape[1:]))
    if variant.pattern.labels == "real":
        Y[0] = 0.0
    w = None if rows.w is None else np.resize(rows.w, len(hard))
    assert not np.isnan(Rows(hard, Y, w).into(learner)).any()
    assert np.isfinite(learner.predict(hard)).all()


@law()
def shapes_and_counts(variant: Variant) -> None:
    learner, rows = variant.make(), variant.stream()
    assert learner.predict(rows.X).shape[0] == len(rows)
    assert learner.n_seen == 0
    P = rows.into(learner)
    assert P.dtype == np.float64
    assert P.shape == learner.predict(rows.X).shape
    assert P.shape == (len(rows),) or P.shape[1:] == (
        (int(rows.Y.max()) + 1,) if learner.labels == "class" else (variant.targets,)
    )
    assert rows[:0].into(learner).shape == P[:0].shape
    p = learner.step(rows.X[0], rows.Y[0])
    assert isinstance(p, float) if P.ndim == 1 else p.shape == P.shape[1:]
    assert learner.n_seen == rows.learnt + 1
    assert learner.size > 0
    assert learner.nbytes > 0


@law(lambda variant: variant.limit is not None)
def size_stays_within_the_declared_budget(variant: Variant) -> None:
    learner, rows, limit = variant.make(), variant.stream(n=200), variant.limit
    assert limit is not None
    rows[:100].into(learner)
    assert 0 < learner.size <= limit
    for t in range(100, 200):
        rows[t : t + 1].step_into(learner)
        assert learner.size <= limit


@law()
def widened_it_is_as_if_the_columns_had_been_there(variant: Variant) -> None:
    """New columns were 0 in every row so far, or more columns are refused.

    Predictions for such rows stay, and rows that still have 0 there are learnt as without the columns. A learner that
    draws nothing for a column is then the one that had them from the start. One that computes everything anew may take
    the columns into account when it does; where values may be missing, those of the rows so far were.
    """
    narrow, rows = variant.make(), variant.stream()
    rows[:50].into(narrow)
    stayed, before = copy.deepcopy(narrow), narrow.to_bytes()
    narrow.widen(3)
    with pytest.raises(ValueError, match="columns"):
        narrow.widen(2)
    assert_state(narrow, before)
    refusal = refused(TypeError, lambda: narrow.widen(5))
    if refusal:
        assert "columns" in refusal
        assert_state(narrow, before)
        return
    same = rows.wider(np.full((len(rows), 2), np.nan if variant.pattern.missing else 0.0))
    assert_allclose(narrow.predict(same.X), stayed.predict(rows.X), **CLOSE)
    with pytest.raises(ValueError, match="columns"):
        narrow.predict(rows.X)
    if variant.rebuilds:
        return
    assert_allclose(same[50:].into(copy.deepcopy(narrow)), rows[50:].into(stayed), **CLOSE)
    if draws_by_column(variant, rows, same):
        return
    wide = variant.make()
    same[:50].into(wide)
    full = rows.wider(np.random.default_rng(1).uniform(-1, 1, (len(rows), 2)))
    assert_allclose(full[50:].into(narrow), full[50:].into(wide), **CLOSE)


def draws_by_column(variant: Variant, rows: Rows, same: Rows) -> bool:
    """Whether other columns, though they say nothing, make another model; or are refused by features fitted before."""
    wide: list[np.ndarray] = []
    refusal = refused(ValueError, lambda: wide.append(same.into(variant.make())))
    return bool(refusal) or not np.allclose(wide[0], rows.into(variant.make()), **CLOSE)


def refused(kind: type[Exception], act: Callable[[], object]) -> str:
    """What a refusal says; nothing, if there is none."""
    try:
        act()
    except kind as refusal:
        return str(refusal)
    return ""


def assert_numbers(P: np.ndarray) -> None:
    assert not np.isnan(P).any()
