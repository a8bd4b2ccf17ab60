"""Timestamps are learnt, predicted and ordered in UTC, whatever the time zone of the session is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import nystream

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark

N = 96
TIMES = pd.date_range("2023-11-05 00:00", periods=N, freq="30min", tz="UTC")
"""Among them the hour that comes twice in New York: 05:00 and 06:00 in UTC are 01:00 there."""


@pytest.fixture
def frame(spark):
    """Rows in a session in New York, whose label depends on the hour."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    y = np.where(TIMES.hour >= 12, 1.0, -1.0) + 0.01 * np.arange(N)
    rows = pa.table({"when": pa.array(TIMES), "x": np.arange(N) / N, "y": y, "seq": np.arange(N)})
    yield spark.createDataFrame(rows)
    spark.conf.set("spark.sql.session.timeZone", before)


def model() -> nystream.Model:
    return nystream.Model(nystream.Auto(), nystream.Schema({"when": "time", "x": "number"}, "y", "regression"), keep=0)


def test_predictions_are_those_of_the_model_for_times_in_utc(frame):
    here = model()
    rows = frame.select("when", "x", "y").toArrow()
    here.run(rows)
    naive = pd.DataFrame({"when": TIMES.tz_localize(None), "x": rows["x"].to_numpy()})
    assert_allclose(here.predict(naive), here.predict(rows))
    found = nystream_spark.predict(frame, here).toPandas().sort_values("seq")
    assert_allclose(found["prediction"], here.predict(rows), rtol=0, atol=1e-9)


def test_rows_of_a_key_are_in_order_and_keep_their_times_in_the_hour_that_comes_twice(frame):
    shuffled = frame.selectExpr("'a' as key", "*").orderBy("x").repartition(2)
    keyed = nystream_spark.per_key(shuffled, "key", model(), order_by="when")
    found = keyed.selectExpr("unix_micros(when) as micros", "prediction").toPandas()
    assert (found["micros"].to_numpy() == TIMES.as_unit("us").asi8).all()
    expected = model().run(frame.select("when", "x", "y").toArrow())
    assert_allclose(found["prediction"], expected, rtol=0, atol=1e-12)


@pytest.mark.exhaustive
def test_an_estimator_predicts_as_the_model_that_it_fitted(frame):
    sizes = {"landmarks": 20, "big": 0, "rough": 0}
    fitted = nystream_spark.OnlineKernelRegressor(inputCols=["when", "x"], labelCol="y", **sizes).fit(frame)
    found = fitted.transform(frame).toPandas().sort_values("seq")
    rows = frame.select("when", "x").toArrow()
    assert_allclose(found["prediction"], fitted.model.predict(rows), rtol=0, atol=1e-9)
    assert np.mean((found["prediction"] - found["y"]) ** 2) < 0.5
