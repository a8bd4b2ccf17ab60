"""Models of tables with categories, times and text: rows as people have them, the default learner or any other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from nystream import PKRR, Auto, Encoded, Model, Schema, Standardized, WithConstant, from_bytes
from nystream.auto.recipe import Recipe

SMALL = Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, window=15, metric=30)
LINEAR = Standardized(PKRR(WithConstant(), lam=0.1))


def rows(n=120, seed=0):
    """Dicts with a number, a boolean, a city, a time and a remark; some values missing; and the load."""
    rng = np.random.default_rng(seed)
    out = []
    for t in range(n):
        city = ["Oslo", "Rome", "Lima", None][rng.integers(4)]
        remark = " ".join(rng.choice(["very", "busy", "quiet", "street", "near", "the", "sea", "park"], size=6))
        when = str(np.datetime64("2024-01-01T00:00") + np.timedelta64(int(t * 90), "m"))
        row = {"temp": float(rng.normal()), "open": bool(rng.random() < 0.5), "city": city, "when": when}
        load = {"Oslo": 5.0, "Rome": 1.0, "Lima": -3.0, None: 0.0}[city] + 2 * ("busy" in remark) + row["temp"]
        out.append({**row, "remark": remark, "load": load})
    return out


KINDS = {"temp": "number", "open": "boolean", "city": "category", "when": "time", "remark": "text"}
SCHEMA = Schema(KINDS, target="load")


@pytest.mark.parametrize("learner", [None, Encoded(LINEAR), Encoded(Auto(recipe=SMALL), experts=True)])
def test_a_model_takes_a_table_of_all_kinds(learner):
    table = rows()
    model = Model(learner, SCHEMA)
    p = model.run(table)
    load = np.array([row["load"] for row in table])
    assert np.mean((p - load)[60:] ** 2) < 0.5 * load.var()
    assert model.n_seen == 120
    before = model.to_bytes()
    again = model.predict(table)
    assert model.to_bytes() == before
    resumed = from_bytes(before)
    assert_array_equal(resumed.predict(table), again)
    assert_array_equal(resumed.run(rows(20, seed=1)), model.run(rows(20, seed=1)))
    assert resumed.to_bytes() == model.to_bytes()


def test_the_default_learner_takes_all_kinds_of_columns_itself():
    model = Model(None, SCHEMA)
    model.run(rows(5))
    assert isinstance(model.learner_, Auto)
    assert model.learner_.kinds_ == KINDS
    plain = Model()
    plain.run([{"a": 1.0}, {"a": 2.0}], [1.0, 2.0])
    assert isinstance(plain.learner_, Auto)


def test_rows_one_by_one_frames_and_columns_in_any_order_say_the_same():
    table = rows()
    whole = Model(Encoded(LINEAR), SCHEMA)
    expected = whole.run(table)
    steps, frame = Model(Encoded(LINEAR), SCHEMA), Model(Encoded(LINEAR), SCHEMA)
    by_row = [steps.step(dict(reversed(row.items()))) for row in table]
    assert np.allclose(by_row, expected, rtol=1e-8, atol=1e-9)
    data = pd.DataFrame(table)[["remark", "load", "when", "city", "open", "temp"]]
    assert_array_equal(frame.run(data), expected)


def test_classes_are_named_late_and_a_row_without_label_is_only_predicted():
    table = rows()
    names = [None if t % 7 == 3 else "high" if row["load"] > 2 else "low" for t, row in enumerate(table)]
    names[100] = "odd"
    inputs = [{k: v for k, v in row.items() if k != "load"} for row in table]
    for learner in (None, Encoded(LINEAR)):
        model = Model(learner, Schema(KINDS))
        answers = model.run(inputs, names)
        assert answers[0] is None
        assert "odd" not in answers[:101]
        assert model.classes == list(dict.fromkeys(n for n in names if n is not None))
        known = [(a, n) for a, n in zip(answers[60:], names[60:], strict=True) if n is not None]
        assert np.mean([a == n for a, n in known]) > 0.7
        assert model.n_unlabelled == sum(n is None for n in names)
        assert_array_equal(model.probabilities(inputs).sum(axis=1).round(9), 1.0)


def test_a_label_reaches_no_earlier_row_and_not_its_own():
    table = rows()
    other = [dict(row) for row in table]
    other[80]["load"] = 1000.0
    one, two = Model(Encoded(LINEAR), SCHEMA), Model(Encoded(LINEAR), SCHEMA)
    p, q = one.run(table), two.run(other)
    assert_array_equal(p[:81], q[:81])
    assert not np.array_equal(p[81:], q[81:])


def test_learners_of_numbers_and_novelty_refuse_what_they_cannot_take():
    with pytest.raises(ValueError, match=r"column 'city' is of kind 'category'.*Encoded"):
        Model(LINEAR, SCHEMA).run(rows(3))
    with pytest.raises(ValueError, match="novelty detection is for columns of numbers"):
        Model(None, Schema(KINDS, task="novelty")).run([{k: r[k] for k in KINDS} for r in rows(3)])
