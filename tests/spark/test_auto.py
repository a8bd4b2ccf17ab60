"""A model of a frame with nothing to tune."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from spark_frames import FEATURES, examples, in_parts, table

import nystream

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark

pytestmark = pytest.mark.exhaustive  # Spark is slow to start what these need

SMALL = {"landmarks": 40, "big": 80, "sample": 500}
N = 1500


@pytest.fixture(scope="module")
def rows():
    return examples(N)


def test_numbers_are_learnt_and_the_same_partitions_give_the_same_model(spark, rows):
    X, y = examples(500, seed=9)
    lines: list[str] = []
    frame = in_parts(spark, table(*rows), 3).cache()
    found = [nystream_spark.fit_auto(frame, "y", progress=lines.append, **SMALL) for _ in range(2)]
    assert found[0].to_bytes() == found[1].to_bytes()
    other = nystream_spark.fit_auto(in_parts(spark, table(*rows), 1), "y", **SMALL)
    for model in (found[0], other):
        assert np.mean((model.predict(table(X, y)[FEATURES]) - y) ** 2) < 0.1 * y.var()
        assert model.n_seen == N
    again = nystream.from_bytes(found[0].to_bytes())
    assert (again.predict(X) == found[0].predict(X)).all()
    low, high = again.predict_interval(X, 0.9)
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.97
    again.run(table(X, y))
    assert again.n_seen == N + 500
    assert [line.partition(":")[0] for line in lines[:5]] == [f"fit_auto, stage {i} of 5" for i in range(1, 6)]
    assert "500 rows to design, 150 held back" in lines[1]


@pytest.mark.parametrize("seed", [0, 6])
def test_repeated_rows_are_held_back_one_by_one(spark, rows, seed):
    data = table(*rows)
    data = data.iloc[np.r_[np.zeros(3 * N, int), np.arange(N)]].reset_index(drop=True)
    model = nystream_spark.fit_auto(in_parts(spark, data, 2), "y", seed=seed, **SMALL)
    assert model.n_seen == 4 * N
    X, y = examples(500, seed=9)
    assert np.mean((model.predict(table(X, y)[FEATURES]) - y) ** 2) < 0.1 * y.var()


def test_columns_of_few_values_are_learnt(spark):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(N, 3)).astype(float)
    y = X[:, 0] - 2 * X[:, 1] * X[:, 2]
    model = nystream_spark.fit_auto(in_parts(spark, table(X, y + 0.1 * rng.normal(size=N)), 2), "y", **SMALL)
    assert_allclose(model.predict(X), y, rtol=0, atol=0.05)


def test_columns_of_all_kinds_weights_and_rows_for_validation(spark, rows):
    X, y = rows
    rng = np.random.default_rng(2)
    shop = rng.choice(["a", "b", "c"], size=N)
    when = pd.date_range("2024-01-01", periods=N, freq="h")
    effect = np.where(shop == "b", 4.0, 0.0) + (when.hour >= 12)
    bad = np.arange(N) % 5 == 0  # labels that weight 0 has to silence
    data = table(X, np.where(bad, 1e3, y + effect), shop=shop, when=when, w=np.where(bad, 0.0, 1.0))
    data = data.assign(check=np.arange(N) % 10 == 1)
    frame = in_parts(spark, data, 3)
    model = nystream_spark.fit_auto(frame, "y", weight="w", validation="check", **SMALL)
    assert model.schema_.columns["shop"] == "category"
    assert model.schema_.columns["when"] == "time"
    assert "w" not in model.schema_.columns
    assert model.n_seen == N - N // 10
    truth = (y + effect)[~bad]
    inputs = data[[*FEATURES, "shop", "when"]]
    wrong = np.mean((model.predict(inputs[~bad]) - truth) ** 2)
    assert wrong < 0.1 * truth.var()
    columns = nystream_spark.predict(frame, model).toPandas()
    assert_allclose(np.sort(columns["prediction"]), np.sort(model.predict(inputs)), rtol=0, atol=1e-8)


def test_classes_and_missing_values(spark, rows):
    X, y = rows
    labels = np.array(["low", "middle", "high"], dtype=object)[np.digitize(y, [-0.5, 0.5])]
    data = table(X, y).drop(columns="y").assign(label=labels)
    data.loc[::7, "x1"] = np.nan
    model = nystream_spark.fit_auto(in_parts(spark, data, 3), "label", **SMALL)
    assert model.classes == ["high", "low", "middle"]
    wrong = np.mean(model.predict(data[FEATURES]) != labels)
    assert wrong < 0.25
    assert_allclose(model.probabilities(data[FEATURES]).sum(axis=1), 1.0)
    columns = nystream_spark.predict(in_parts(spark, data, 2), model, probabilities=True).toPandas()
    assert np.mean(columns["prediction"] != columns["label"]) == pytest.approx(wrong, abs=0.01)


def test_frames_that_cannot_be_learnt_are_refused(spark, rows):
    frame = spark.createDataFrame(table(*rows)[:20])
    with pytest.raises(ValueError, match="the frame has no rows"):
        nystream_spark.fit_auto(frame.where("x0 > 99"), "y")
    with pytest.raises(ValueError, match="column 'y' is null or nan in 20 of 20 rows"):
        nystream_spark.fit_auto(frame.selectExpr("x0", "cast(null as double) as y"), "y")
    with pytest.raises(ValueError, match="column 'y' is null or nan in 20 of 20 rows"):
        nystream_spark.fit_auto(frame.selectExpr("x0", "double('nan') as y"), "y", task="classification")
    with pytest.raises(ValueError, match="has one value only"):
        nystream_spark.fit_auto(frame.selectExpr("x0", "'a' as y"), "y")
    with pytest.raises(ValueError, match="no column 'yy'"):
        nystream_spark.fit_auto(frame, "yy")
    with pytest.raises(ValueError, match="'check' is true in no row"):
        nystream_spark.fit_auto(frame.selectExpr("*", "false as check"), "y", validation="check")
    with pytest.raises(ValueError, match="'check' is true in every row: there is nothing to learn"):
        nystream_spark.fit_auto(frame.selectExpr("*", "true as check"), "y", validation="check")
    with pytest.raises(ValueError, match=r"column 'w' is -1\.0 at row 0 of the sample; weights are 0 or more"):
        nystream_spark.fit_auto(frame.selectExpr("*", "-1.0 as w"), "y", weight="w")
    with pytest.raises(ValueError, match="column 'check', which marks rows for validation, must be boolean"):
        nystream_spark.fit_auto(frame.selectExpr("*", "1 as check"), "y", validation="check")
    infinite = frame.selectExpr("*", "'a' as text", "if(x0 > 0, double('inf'), x0) as wide")
    with pytest.raises(ValueError, match=r"column 'wide' is inf at row \d+ of the sample, which is no finite number"):
        nystream_spark.fit_auto(infinite, "y")
    with pytest.raises(ValueError, match="column 'z', a feature, is array<int>"):
        nystream_spark.fit_auto(frame.selectExpr("*", "array(1) as z"), "y")


def test_weights_may_be_decimals(spark, rows):
    frame = in_parts(spark, table(*rows), 2).selectExpr("*", "if(x0 > 0, 1.0, 0.5) as w")
    assert frame.schema["w"].dataType.typeName() == "decimal"
    assert nystream_spark.fit_auto(frame, "y", weight="w", **SMALL).n_seen == N


def test_a_string_that_is_no_number_where_the_sample_has_numbers_is_refused_by_place(spark, rows):
    data = table(*rows, text=[str(i) for i in range(N - 1)] + ["hello"])
    message = (
        r"column 'text' is 'hello' at row \d+ of partition 1, which is no .*: the sample has numbers there alone; "
        "put a null there, or leave the column out"
    )
    with pytest.raises(ValueError, match=message):
        nystream_spark.fit_auto(in_parts(spark, data, 2), "y", **{**SMALL, "sample": 50})


def test_rows_that_change_from_pass_to_pass_are_refused(spark, rows):
    def some(frames):
        import os

        for frame in frames:
            yield frame.iloc[os.urandom(1)[0] % 50 :]

    frame = spark.createDataFrame(table(*rows)).repartition(8)
    with pytest.raises(ValueError, match=r"the frame had [\d,]+ rows at first and [\d,]+ in a later pass: cache it"):
        nystream_spark.fit_auto(frame.mapInPandas(some, frame.schema), "y", **SMALL)
