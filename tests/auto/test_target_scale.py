"""The scale of labels is computed anew at rebuilds: what was counted in an earlier one is told in the new one."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from nystream import Auto
from nystream.auto.expert_set import ExpertSet
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack

NOBODY = np.empty(0, dtype=np.intp)


def test_two_first_labels_that_happen_to_be_close_do_not_decide_for_long():
    """Neither the tournament nor the shares: losses in their unit are thousands of times those to come.

    Single streams vary by some percent to both sides, so several are judged together.
    """
    ratios = []
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 5))
        y = np.sin(X @ rng.normal(size=(5, 6))) @ rng.normal(size=6) + 0.1 * rng.normal(size=900)
        close = y.copy()
        close[1] = close[0] + 1e-6
        losses = [float(((Auto(changes=False).run(X, labels) - y)[300:] ** 2).mean()) for labels in (y, close)]
        ratios.append(losses[1] / losses[0])
    assert np.exp(np.mean(np.log(ratios))) < 1.05
    assert max(ratios) < 1.3


def test_losses_of_the_tournament_follow_the_scale_of_each_target():
    expert_set = ExpertSet(Recipe())
    expert_set.start()
    expert_set.losses_["ag"] = np.array([[3.0, 8.0], [5.0, 7.0]])
    fresh = expert_set.successor(expert_set.recipe, np.array([2.0, 0.5]))
    assert_array_equal(fresh.losses_["ag"], [[12.0, 2.0], [20.0, 1.75]])
    assert_array_equal(expert_set.losses_["ag"], [[3.0, 8.0], [5.0, 7.0]])


def test_shares_of_a_target_start_anew_where_its_scale_grows_tenfold():
    stack = Stack(classes=False, lags=True)
    stack.start(3, 2)
    members = stack.member_shares_.shape[1]
    stack.expert_shares_[:] = [0.8, 0.1, 0.1]
    stack.member_shares_[:] = np.eye(members)[0]
    stack.rescale(np.array([0.5, 0.05]), NOBODY)
    assert_array_equal(stack.expert_shares_, [[0.8, 0.1, 0.1], [1 / 3, 1 / 3, 1 / 3]])
    assert_array_equal(stack.member_shares_, [np.eye(members)[0], np.full(members, 1 / members)])
