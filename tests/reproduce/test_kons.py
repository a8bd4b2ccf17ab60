"""Experiments with KONS: golden values, the sharp bound, and coins that do not follow the points."""

import numpy as np
import pytest

from nystream import KONS, Gaussian, KernelAWV, SketchedKONS, SketchedONS
from nystream.reproduce.kons_alternating import play
from nystream.reproduce.kons_regret import CLIPS, opposed, sketched
from nystream.reproduce.protocol import SEEDS, coins

ROUNDS = np.array([200, 400])


@pytest.mark.parametrize(
    ("make", "first", "stored"),
    [
        (lambda seed: KONS(Gaussian(1.0)), 16.0726070072, 400),
        (lambda seed: SketchedONS(sketch=2), 16.0726070072, 1),
        (lambda seed: KernelAWV(Gaussian(1.0)), 4.8098599502, 400),
    ],
)
def test_alternating_labels_cost_what_is_known(make, first, stored):
    found = play(make, ROUNDS, (0,))
    assert found.regret[0] == pytest.approx(first, abs=1e-9)
    assert found.points == found.kept[-1] == stored


def test_regret_at_a_mark_does_not_depend_on_later_marks():
    seeds = (0, 1)

    def make(seed):
        return SketchedKONS(Gaussian(1.0), gamma=0.1, seed=seed)

    short, long = play(make, ROUNDS[:1], seeds), play(make, ROUNDS, seeds)
    assert short.regret[0] == pytest.approx(long.regret[0], abs=1e-9)
    assert short.kept[0] == long.kept[0]


@pytest.mark.parametrize("loss", CLIPS)
def test_opposed_labels_never_cost_more_than_the_sharp_bound(loss):
    found = opposed(loss, np.array([30, 60, 120]), seed=3)
    assert 0 < found.regret[-1] <= found.bound
    assert np.all(np.diff(found.regret) > 0)


def test_a_denser_metric_has_less_regret():
    # with one seed for points and coins the coins would keep points on one side only, and regret would not fall
    few, some, all_ = (sketched(gamma, 600, (0,)) for gamma in (0.0, 0.3, 1.0))
    assert few.kept[0] < some.kept[0] < all_.kept[0]
    assert few.regret[0] > some.regret[0] > all_.regret[0]


def test_coins_are_not_the_numbers_that_the_data_was_drawn_with():
    draws = {seed: np.random.default_rng(seed).random(50) for seed in (*SEEDS, *map(coins, SEEDS))}
    assert len(draws) == 2 * len(SEEDS)
    assert all(abs(np.corrcoef(draws[s], draws[coins(s)])[0, 1]) < 0.5 for s in SEEDS)
