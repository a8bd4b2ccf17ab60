"""A model of a frame with nothing to tune."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nystream
from spark_frames import FEATURES, examples, in_parts, table

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark

pytestmark = pytest.mark.exhaustive  # Spark is slow to start what these need

SMALL = {"landmarks": 40, "big": 80, "sample": 500}
N = 1500


@pytest.fixture(scope="module")
def rows():
    return examples(N)


def test_numbers_are_learnt_alike_whatever_the_partitions(spark, rows):
    X, y = examples(500, seed=9)
    found = [nystream_spark.fit_auto(in_parts(spark, table(*rows), parts), "y", **SMALL) for parts in (1, 3)]
    first, second = (model.predict(table(X, y)[FEATURES]) for model in found)
    # Partitions add their rows in another order; ridges with little penalty enlarge that rounding.
    assert_allclose(first, second, rtol=0, atol=1e-5 * y.std())
    assert np.mean((first - y) ** 2) < 0.1 * y.var()
    assert found[0].n_seen == N
    again = nystream.from_bytes(found[0].to_bytes())
    assert (again.predict(X) == found[0].predict(X)).all()
    low, high = again.predict_interval(X, 0.9)
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.97
    again.run(table(X, y))
    assert again.n_seen == N + 500


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
    with pytest.raises(ValueError, match="column 'y' is null in 20 of 20 rows"):
        nystream_spark.fit_auto(frame.selectExpr("x0", "cast(null as double) as y"), "y")
    with pytest.raises(ValueError, match="has one value only"):
        nystream_spark.fit_auto(frame.selectExpr("x0", "'a' as y"), "y")
    with pytest.raises(ValueError, match="no column 'yy'"):
        nystream_spark.fit_auto(frame, "yy")
