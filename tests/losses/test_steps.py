"""Step sizes of Newton-like learners."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.losses import Loss, as_loss
from nystream.losses.steps import checked_eta, newton_steps, warn_if_on_kink


def test_curved_losses_step_by_their_curvature_and_others_by_one_over_the_root():
    squared = newton_steps(as_loss("squared"), 1.0, "auto")
    assert squared == (0.125, 0.125, 0.0, 1.0, None)
    assert_allclose(squared.at([1, 9]), [0.125, 0.125])
    hinge = newton_steps(as_loss("hinge"), 1.5, "auto")
    assert hinge[:2] == (0.0, 0.0)
    assert hinge.limit == math.inf
    assert_allclose(hinge.at(np.array([1, 4, 9])), [1 / 1.5, 1 / 3, 1 / 4.5])
    assert newton_steps(as_loss("logistic"), 2.0, "auto").limit == math.inf  # labels are signs


def test_a_number_is_taken_as_it_is():
    steps = newton_steps(as_loss("absolute"), 1.0, 0.3)
    assert_allclose(steps.at([1, 100]), [0.3, 0.3])
    assert checked_eta(0.3) == 0.3
    for bad in (0.0, -1.0, "fast", None):
        with pytest.raises(ValueError, match="eta"):
            checked_eta(bad)


def test_a_loss_without_a_lipschitz_constant_is_refused():
    with pytest.raises(ValueError, match=r"needs loss\.lipschitz"):
        newton_steps(Loss(), 1.0, "auto")
    assert newton_steps(Loss(), 1.0, 0.5).constant == 0.5


def test_a_clip_on_the_kink_warns_and_one_beside_it_does_not():
    with pytest.warns(UserWarning, match="lies on the kink"):
        warn_if_on_kink(as_loss("hinge"), 1.0)
    for loss, clip in [("hinge", 1.5), ("squared_hinge", 1.0), ("logistic", 1.0), ("absolute", 1.0)]:
        warn_if_on_kink(as_loss(loss), clip)
