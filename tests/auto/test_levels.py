"""The automatic learner names the levels of categories, and the words, that matter."""

import numpy as np
import pytest

from nystream import Auto, to_bytes
from nystream.data.batch import Batch


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    shop, word = rng.choice(["mill", "north", "south"], n), rng.choice(["red", "blue"], n)
    other = rng.choice(["one", "two", "three"], n)
    columns = {
        "shop": shop.astype(object),
        "note": np.array([f"a {w} {o} thing" for w, o in zip(word, other, strict=True)], dtype=object),
        "size": rng.normal(size=n),
    }
    return columns, 4.0 * (shop == "mill") + 2.0 * (word == "red") + 0.3 * columns["size"]


@pytest.mark.parametrize("classes", [False, True])
def test_the_levels_and_words_that_matter_are_named(classes):
    columns, y = table()
    kinds = {"shop": "category", "note": "text", "size": "number"}
    model = Auto(task="classification" if classes else "regression")
    model.run(Batch(columns, kinds), (y > 1).astype(float) if classes else y)
    before = to_bytes(model)
    effects = model.translator_.level_effects()
    assert to_bytes(model) == before
    assert (effects[0].column, effects[0].level) == ("shop", "mill") or classes
    sizes = [abs(e.effect) for e in effects]
    assert sizes == sorted(sizes, reverse=True)
    words = {e.level: e.effect * (-1 if e.output == 0 and classes else 1) for e in effects if e.column == "note"}
    assert words["red"] > 0 > words["blue"]
    line = model.explain().splitlines()[-1]
    assert line.startswith("levels and words that add most to the linear experts: ")
    assert "shop = mill " in line
    assert ("(class " in line) == classes


def test_of_numbers_alone_there_are_none():
    model = Auto()
    model.run(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0))
    assert "levels and words" not in model.explain()
