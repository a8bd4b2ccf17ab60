"""Choosing settings on a prefix: edges, extensions, failures."""

import math

import pytest

from nystream.reproduce.selection import choose


def test_the_best_inside_the_grid_is_chosen_without_more_tries() -> None:
    choice = choose(lambda s: (math.log10(s["eta"]) - 0) ** 2, {"eta": (0.1, 1.0, 10.0)})
    assert choice.setting == {"eta": 1.0}
    assert choice.tried == 3
    assert choice.edges == ()


def test_a_grid_whose_best_is_at_an_edge_grows_until_it_is_inside() -> None:
    seen = []

    def score(setting: dict[str, float]) -> float:
        seen.append(setting["eta"])
        return abs(math.log10(setting["eta"]) - 2)

    choice = choose(score, {"eta": (0.1, 1.0)})
    assert seen == pytest.approx([0.1, 1.0, 10.0, 100.0, 1000.0])
    assert choice.setting["eta"] == pytest.approx(100.0)
    assert choice.edges == ()


def test_an_edge_that_is_left_is_told_and_starred() -> None:
    choice = choose(lambda s: -s["eta"], {"eta": (1.0, 2.0), "lam": (0.0, 0.1)}, extensions=2)
    assert choice.setting["eta"] == 8.0
    assert choice.edges == ("eta",)
    assert choice.text() == "eta 8*, lam 0"


def test_zero_and_fixed_axes_do_not_grow() -> None:
    choice = choose(lambda s: s["lam"] + s["m"], {"lam": (0.0, 0.1), "m": (1.0, 2.0)}, fixed=("m",))
    assert choice.tried == 4
    assert choice.edges == ()


def test_settings_that_fail_lose_and_a_grid_that_fails_altogether_is_an_error() -> None:
    def score(setting: dict[str, float]) -> float:
        if setting["eta"] > 1:
            raise ValueError("eta must be at most 1")
        return math.nan if setting["eta"] < 1 else 0.0

    assert choose(score, {"eta": (0.5, 1.0, 2.0)}).setting == {"eta": 1.0}
    with pytest.raises(ValueError, match="finite score"):
        choose(lambda s: math.inf, {"eta": (0.5, 1.0)})
