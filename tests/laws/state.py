"""Laws of the state: saved, copied, merged, interrupted, it is the same model."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nystream
from laws.cases import CLOSE, Rows, Variant, assert_bits, assert_state
from laws.registry import law
from nystream.learners.families.bulk import BulkLearning
from nystream.runtime.params import Params

BLOCK = 16


@law()
def save_load_and_go_on(variant: Variant, path: Path) -> None:
    rows = variant.stream()
    for cut in (0, 13, 60):
        stayed = variant.make()
        if cut:
            rows[:cut].into(stayed)
        stayed.save(path)
        resumed = nystream.load(path, trust=True)
        assert type(resumed) is type(stayed)
        assert repr(resumed) == repr(stayed)
        assert resumed.n_seen == stayed.n_seen == rows[:cut].learnt
        assert_bits(rows[cut:].into(resumed), rows[cut:].into(stayed))
        assert_bits(resumed.predict(rows.X), stayed.predict(rows.X))
        assert_state(resumed, stayed.to_bytes())
        again = nystream.from_bytes(stayed.to_bytes(), trust=True)
        assert_bits(again.predict(rows.X), stayed.predict(rows.X))


@law()
def a_clone_shares_no_memory(variant: Variant) -> None:
    learner, rows = variant.make(), variant.stream()
    rows[:60].into(learner)
    fresh, twin = learner.clone(), copy.deepcopy(learner)
    assert fresh.n_seen == 0
    assert fresh.size <= variant.make().size
    assert_bits(rows.into(fresh), rows.into(variant.make()))
    before = learner.to_bytes()
    assert_state(twin, before)
    assert_state(pickle.loads(pickle.dumps(learner)), before)
    expected = rows[60:].into(twin)
    assert_state(learner, before)
    mine, other = arrays(learner), arrays(twin)
    assert mine
    assert not any(np.shares_memory(a, b) for a in mine for b in other)
    assert_bits(rows[60:].into(learner), expected)


def arrays(value: object) -> list[np.ndarray]:
    """Every array of the state, parts of parts included."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = list(value._state().values()) if isinstance(value, Params) else value
    parts = list(parts.values()) if isinstance(parts, dict) else parts
    return [array for part in parts for array in arrays(part)] if isinstance(parts, (list, tuple)) else []


@law()
def parameters_round_trip(variant: Variant) -> None:
    learner = variant.make()
    variant.stream().into(learner)
    params = learner.get_params(deep=False)
    rebuilt = type(learner)(**params)
    assert rebuilt.get_params(deep=False).keys() == params.keys()
    assert all(rebuilt.get_params(deep=False)[k] is v for k, v in params.items())
    assert repr(rebuilt) == repr(learner)
    learner.set_params(**params)
    assert learner.n_seen == 0
    with pytest.raises(ValueError, match="has no parameter 'nonsense'"):
        learner.set_params(nonsense=1)


@law()
def merge_is_exact_or_refused(variant: Variant) -> None:
    """What merges adds up counts, leaves the other alone and loses nothing; a model of fixed features is exact."""
    left, right, rows = variant.make(), variant.make(), variant.stream()
    rows[:50].into(left)
    rows[50:].into(right)
    before, others = left.to_bytes(), right.to_bytes()
    if not left.can("merge"):
        with pytest.raises(TypeError, match=type(left).__name__):
            left.merge(right)
        assert_state(left, before)
        return
    alone = variant.make()
    alone.merge(copy.deepcopy(left))
    assert_bits(alone.predict(rows.X), left.predict(rows.X))
    assert alone.n_seen == left.n_seen
    left.merge(variant.make())
    assert_state(left, before)
    left.merge(right)
    assert_state(right, others)
    assert left.n_seen == rows.learnt
    assert np.isfinite(left.predict(rows.X)).all()
    whole = variant.make()
    rows[:10].into(whole)
    first = whole.size
    rows[10:].into(whole)
    if whole.size in (first, rows.learnt):  # nothing was chosen on the way: features stay, or every row does
        assert_allclose(left.predict(rows.X), whole.predict(rows.X), **CLOSE)


@law(lambda variant: variant.pattern.can("unlearn"))
def what_is_unlearnt_was_never_there(variant: Variant) -> None:
    learner, without, rows = variant.make(), variant.make(), variant.stream()
    rows.into(learner)
    rows[:60].into(without)
    back = rows[np.r_[89:59:-1]]
    learner.unlearn(back.X, back.Y, back.w)
    assert learner.n_seen == without.n_seen
    assert_allclose(learner.predict(rows.X), without.predict(rows.X), rtol=1e-6, atol=1e-8)
    before = learner.to_bytes()
    with pytest.raises(ValueError, match=r".{20}"):
        learner.unlearn(rows.X, rows.Y, None)
    assert_state(learner, before)


@law(lambda variant: isinstance(variant.pattern, BulkLearning))
def rows_learnt_at_once_are_rows_learnt(variant: Variant) -> None:
    """`fit_bulk` and then the stream: the model of one pass, whose regret is that of the rows that it predicted."""
    rows, passed, bulk = variant.stream(), variant.make(), variant.make()
    rows[:60].into(passed)
    start = rows[:60]
    assert bulk.fit_bulk(start.X, start.Y, start.w) is bulk
    assert (bulk.n_seen, bulk.size) == (passed.n_seen, passed.size)
    for _ in range(2):
        assert_allclose(bulk.predict(rows.X), passed.predict(rows.X), rtol=1e-7, atol=1e-8)
        assert_allclose(bulk.std(rows.X), passed.std(rows.X), rtol=1e-7, atol=1e-8)
        assert_allclose(bulk.log_det(), passed.log_det(), rtol=1e-7, atol=1e-8)
        assert bulk.regret() <= bulk.regret_bound() + 1e-9
        rows[60:].into(bulk)
        rows[60:].into(passed)
    before = bulk.to_bytes()
    with pytest.raises(ValueError, match=r".{20}"):
        bulk.fit_bulk(start.X[:, :1], start.Y)
    assert_state(bulk, before)


@law()
def an_interrupt_between_blocks_loses_nothing(variant: Variant, path: Path) -> None:
    """Ctrl-C while the stream is waited for: saved, the learner goes on as if the run had been cut there."""
    rows = variant.stream()
    whole, cut = variant.make(), variant.make()
    expected = [block.into(whole) for block in rows.blocks(BLOCK)]
    answers: list[np.ndarray] = []
    with pytest.raises(KeyboardInterrupt):
        answers.extend(block.into(cut) for block in interrupted(rows, 3))
    cut.save(path)
    resumed = nystream.load(path, trust=True)
    assert resumed.n_seen == rows[: 3 * BLOCK].learnt
    answers += [block.into(resumed) for block in rows[3 * BLOCK :].blocks(BLOCK)]
    for got, expect in zip(answers, expected, strict=True):
        assert_bits(got, expect)
    assert_state(resumed, whole.to_bytes())


@law(lambda variant: not variant.weights)
def an_interrupted_evaluation_leaves_a_whole_learner(variant: Variant) -> None:
    """Ctrl-C while `prequential` waits for rows, or while it shows a reading: whole blocks are learnt, and no part."""
    rows = variant.stream()

    class Waiting:
        def blocks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for block in interrupted(rows, 3):
                yield block.X, block.Y

    def stop(snapshot: object) -> None:
        raise KeyboardInterrupt

    for stream, progress in ((Waiting(), None), ((rows.X, rows.Y), stop)):
        learner, expected = variant.make(), variant.make()
        result = nystream.prequential(stream, learner, "size", block=BLOCK, every=3 * BLOCK, progress=progress)
        for block in rows[: 3 * BLOCK].blocks(BLOCK):
            block.into(expected)
        assert result.meta["interrupted"]
        assert result["n"][-1] == learner.n_seen == 3 * BLOCK
        assert_state(learner, expected.to_bytes())
        assert_bits(rows[3 * BLOCK :].into(learner), rows[3 * BLOCK :].into(expected))


def interrupted(rows: Rows, after: int) -> Iterator[Rows]:
    """Blocks, and Ctrl-C in place of the one after so many."""
    for i, block in enumerate(rows.blocks(BLOCK)):
        if i == after:
            raise KeyboardInterrupt
        yield block
