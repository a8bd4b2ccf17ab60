"""Reasons of a row: the definition of the Shapley value written slowly, and its laws."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.explain import Reasons, contributions

NAMES = "abcd"


def table(rng, n):
    return dict(zip(NAMES, rng.normal(size=(4, n)), strict=True))


def definition(ask, row, background):
    """The mean over all orders and all background rows of what a column changes when it is replaced."""
    n, phi = len(background["a"]), dict.fromkeys(NAMES, 0.0)
    orders = list(permutations(NAMES))
    for i in range(n):
        for order in orders:
            mixed = {name: background[name][i : i + 1] for name in NAMES}
            before = ask(mixed)[0, 0]
            for name in order:
                mixed[name] = row[name]
                after = ask(mixed)[0, 0]
                phi[name] += (after - before) / (n * len(orders))
                before = after
    return np.array(list(phi.values()))


def additive(c):
    return (np.sin(c["a"]) + 3 * c["b"] ** 2 - c["c"])[:, None]


def pairs(c):
    return (c["a"] * c["b"] + np.exp(c["c"]) + c["b"] * c["d"])[:, None]


def threes(c):
    return (c["a"] * c["b"] * c["c"] + c["d"])[:, None]


@pytest.mark.parametrize("ask", [additive, pairs])
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_where_no_three_columns_act_together(ask, seed):
    rng = np.random.default_rng(seed)
    row, background = table(rng, 1), table(rng, 7)
    phi, value, base = contributions(ask, row, background, seed=seed)
    assert_allclose(phi, definition(ask, row, background), rtol=1e-10, atol=1e-12)
    assert_allclose([value, base], [ask(row)[0, 0], ask(background).mean()], rtol=1e-12)


def test_close_to_the_definition_where_three_act_together_and_right_on_average():
    rng = np.random.default_rng(2)
    row, background = table(rng, 1), table(rng, 12)
    exact = definition(threes, row, background)
    found = [contributions(threes, row, background, seed=seed)[0] for seed in range(200)]
    assert_allclose(np.mean(found, axis=0), exact, atol=4 * np.std(found, axis=0).max() / np.sqrt(200) + 1e-12)
    assert np.abs(found[0] - exact).max() < 0.5 * np.abs(exact).max()


@pytest.mark.parametrize("ask", [additive, pairs, threes])
@pytest.mark.parametrize("n", [1, 2, 50, 512])
def test_parts_sum_to_the_prediction_minus_the_mean_of_the_background(ask, n):
    rng = np.random.default_rng(n)
    phi, value, base = contributions(ask, table(rng, 1), table(rng, n))
    assert_allclose(phi.sum(), value - base, rtol=1e-12, atol=1e-12)


def test_a_column_that_is_not_used_adds_exactly_nothing():
    rng = np.random.default_rng(3)
    phi, _, _ = contributions(additive, table(rng, 1), table(rng, 30))
    assert phi[3] == 0


def test_columns_that_are_alike_add_alike():
    rng = np.random.default_rng(4)
    row, background = table(rng, 1), table(rng, 40)
    row["b"], background["b"] = row["a"], background["a"]
    phi, _, _ = contributions(lambda c: (c["a"] * c["b"] + c["a"] + c["b"])[:, None], row, background)
    assert_allclose(phi[0], phi[1], rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 20, 400])
def test_the_work_is_bounded(d):
    rng, asked = np.random.default_rng(5), []

    def ask(columns):
        asked.append(len(columns["0"]))
        return columns["0"][:, None]

    row = {str(j): rng.normal(size=1) for j in range(d)}
    background = {str(j): rng.normal(size=512) for j in range(d)}
    phi, value, base = contributions(ask, row, background)
    assert_allclose(phi, [value - base] + [0.0] * (d - 1))
    assert sum(asked) <= max(1001, 8 * (2 * d) + 1)
    assert max(asked) <= 4096


def test_words_and_dates_are_replaced_like_numbers():
    day = np.datetime64("2024-01-01", "us")
    row = {"word": np.array(["x"], dtype=object), "when": np.array([day])}
    background = {
        "word": np.array(["y", None, "x"], dtype=object),
        "when": day - np.array([0, 1, 2]) * np.timedelta64(1, "D"),
    }

    def ask(c):
        return ((c["word"] == "x") * 1.0 + (c["when"] - day) / np.timedelta64(1, "D"))[:, None]

    phi, value, base = contributions(ask, row, background)
    assert_allclose(phi, [2 / 3, 1.0])
    assert_allclose([value, base], [1.0, 1 / 3 - 1])


def test_reasons_come_the_largest_first_and_print_as_lines():
    reasons = Reasons({"a": 0.5, "b": -2.0}, 1.0, 2.5, "late")
    assert list(reasons) == ["b", "a"]
    assert str(reasons).splitlines() == ["1 of late, 2.5 on average", "b  -2", "a  +0.5"]
    twice = reasons.rescaled(2.0, 10.0)
    assert (twice["b"], twice.prediction, twice.base, twice.of) == (-4.0, 12.0, 15.0, "late")


def test_no_background_is_refused():
    rng = np.random.default_rng(6)
    with pytest.raises(ValueError, match="there are none"):
        contributions(additive, table(rng, 1), table(rng, 0))
