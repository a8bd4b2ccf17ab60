"""Laws of rounds: what a prediction may depend on, and in how many pieces a stream may arrive."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

from laws.cases import CLOSE, Rows, Variant, assert_bits, assert_state, pad
from laws.registry import law


@law()
def predict_changes_nothing(variant: Variant) -> None:
    learner, rows = variant.make(), variant.stream()
    rows[:60].into(learner)
    before = learner.to_bytes()
    for ahead in (None, 1):
        first = learner.predict(rows.X, ahead=ahead)
        assert_bits(first, learner.predict(rows.X, ahead))
        learner.predict(10 * rows.X[::-1], ahead)
    assert_state(learner, before)


@law()
def a_prediction_depends_on_its_row_alone(variant: Variant) -> None:
    """Neither the order of the rows nor the rows beside it change a prediction, of the next row or a later one."""
    learner, rows = variant.make(), variant.stream()
    rows[:60].into(learner)
    for ahead in (None, 1):
        together = learner.predict(rows.X, ahead)
        assert_allclose(learner.predict(rows.X[::-1], ahead)[::-1], together, **CLOSE)
        alone = np.concatenate([learner.predict(x[None], ahead) for x in rows.X[:20]])
        assert_allclose(alone, together[:20], **CLOSE)


@law(lambda variant: variant.pattern.labels != "none" and not variant.weights)
def the_next_row_is_predicted_as_step_does(variant: Variant) -> None:
    """Rows have no weights here: the prediction of Vovk's forecaster depends on the weight of the row itself."""
    learner, rows = variant.make(), variant.stream()
    rows[:60].into(learner)
    for t in range(60, 70):
        row = rows[t : t + 1]
        expected = learner.predict(row.X, ahead=1)
        assert_allclose(np.reshape(row.step_into(learner), -1), np.reshape(expected, -1), **CLOSE)


@law()
def ahead_is_refused_unless_none_or_one(variant: Variant) -> None:
    learner, rows = variant.make(), variant.stream()
    rows[:30].into(learner)
    for wrong in (0, 2, -1, True, "1", 1.5):
        with pytest.raises(ValueError, match=r"ahead must be None \(some later row\) or 1 \(the next row\), got"):
            learner.predict(rows.X, ahead=wrong)


@law(lambda variant: variant.pattern.labels != "none")
def two_labels_one_prediction(variant: Variant) -> None:
    """A prediction is made before its label is read: in single steps, and in a block for every row up to that label."""
    learner, rows = variant.make(), variant.stream()
    rows[:60].into(learner)
    for t in range(60, 63):
        other = copy.deepcopy(learner)
        told = rows[t : t + 1]
        untold = Rows(told.X, other_labels(variant, told.Y), told.w)
        assert_bits(told.step_into(learner), untold.step_into(other))
    one, two = copy.deepcopy(learner), copy.deepcopy(learner)
    block, cut = rows[63:80], 9
    changed = block.Y.copy()
    changed[cut:] = other_labels(variant, changed[cut:])
    told, untold = block.into(one), Rows(block.X, changed, block.w).into(two)
    assert_bits(told[: cut + 1], untold[: cut + 1])
    assert not np.array_equal(one.predict(rows.X), two.predict(rows.X)), "what labels say makes no difference"


def other_labels(variant: Variant, Y: np.ndarray) -> np.ndarray:
    return (Y + 1) % (variant.pattern.classes or 3) if variant.pattern.labels == "class" else np.where(Y == 0, 0.5, -Y)


@law()
def run_equals_the_loop_of_step(variant: Variant) -> None:
    block, single, rows = variant.make(), variant.make(), variant.stream()
    assert_allclose(rows.into(block), rows.step_into(single), **CLOSE)
    assert_allclose(block.predict(rows.X), single.predict(rows.X), **CLOSE)
    assert block.n_seen == single.n_seen == rows.learnt
    assert block.size == single.size


@law()
def cutting_into_other_blocks_changes_nothing(variant: Variant) -> None:
    rows = variant.stream()
    expected = rows.into(variant.make())
    for size in (1, 7, 64):
        learner = variant.make()
        parts = [block.into(learner) for block in rows.blocks(size)]
        assert_allclose(pad([row for part in parts for row in part]), expected, **CLOSE)


@law()
def same_seed_same_bits(variant: Variant) -> None:
    one, two, rows = variant.make(), variant.make(), variant.stream()
    assert_bits(rows.into(one), rows.into(two))
    assert_state(one, two.to_bytes())


@law()
def memory_layout_changes_no_bit(variant: Variant) -> None:
    plain, other, rows = variant.make(), variant.make(), variant.stream()
    short = np.asfortranarray(rows.X.astype(np.float32))
    expected = Rows(short.astype(float, order="C"), rows.Y, rows.w).into(plain)
    weights = None if rows.w is None else list(rows.w)
    assert_bits(other.run(short, rows.Y.tolist(), weights), expected)
    assert_state(other, plain.to_bytes())
