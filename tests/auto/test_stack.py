"""The stack of experts by itself."""

from __future__ import annotations

import numpy as np
import pytest

from nystream.auto.stack import EARLY, Frame, Stack


def test_a_target_that_starts_anew_has_no_last_label_and_stays_a_number():
    rng = np.random.default_rng(0)
    stack = Stack(False, True)
    stack.start(3, 2)
    frame = Frame(np.full((1, 1), -9.0), np.full((1, 1), 9.0), np.zeros(2), np.ones(2))
    for lost in ([], [1]):  # what had been taken for the scale of the second was an accident
        stack.rescale(np.ones(2), np.array(lost, dtype=np.intp))
        F, T = rng.normal(size=(25, 3, 2)), rng.normal(size=(25, 2))
        P = stack.run(F, None, T, T[:, 0], None, frame, np.array([0])).P
        assert np.isfinite(P).all()
    assert np.isfinite(stack.stacker_.weights_).all()


@pytest.mark.parametrize("first", [False, True])
def test_who_is_nearest_to_a_label_far_off_takes_all_weight_but_among_the_first_rows(first):
    rng = np.random.default_rng(0)
    stack = Stack(False, True)
    stack.start(3, 1, first=first)
    frame = Frame(np.full((1, 1), -9.0), np.full((1, 1), 9.0), np.zeros(1), np.ones(1))
    T = rng.normal(size=(60, 1))
    F = T[:, None] + 0.1 * rng.normal(size=(60, 3, 1))  # all but equally good
    stack.run(F, None, T, T[:, 0], None, frame, np.array([0]))
    far, shares = np.full((1, 1), 40.0), stack.expert_shares_.copy()
    stack.run(np.array([[[0.0], [0.0], [0.5]]]), None, far, far[:, 0], None, frame, np.array([0]))
    assert shares.max() < 0.5
    assert stack.early_ == (EARLY - 61 if first else 0)
    assert (stack.expert_shares_[0, 2] > 0.99) == (not first)
