"""The stack of experts by itself."""

from __future__ import annotations

import numpy as np

from nystream.auto.stack import Frame, Stack


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
