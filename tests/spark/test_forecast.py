"""One forecaster for each key of a Spark frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nystream
from nystream.forecast import SeriesLearner

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark

H, N = 4, 60
TIMES = pd.date_range("2024-01-01", periods=N + H, freq="h")


def series(seed):
    return 10 + np.sin(2 * np.pi * np.arange(N) / 24) + 0.1 * np.random.default_rng(seed).normal(size=N)


def pattern(**columns):
    schema = nystream.Schema({"when": "time", **columns}, "load", "regression")
    return nystream.Model(SeriesLearner(H, time="when", season=24), schema, keep=0)


def test_each_key_is_forecast_as_alone(spark):
    parts = [pd.DataFrame({"site": f"s{k}", "when": TIMES[:N], "load": series(k)}) for k in range(3)]
    df = spark.createDataFrame(pd.concat(parts).sample(frac=1, random_state=0))
    found = nystream_spark.per_key(df, "site", pattern(), order_by="when", emit="forecasts").toPandas()
    assert list(found.columns) == ["site", "when", "step", "forecast", "low", "high"]
    for k in range(3):
        own = found[found.site == f"s{k}"].sort_values("step")
        f = nystream.Forecaster(H, season=24)
        f.run(series(k), when=TIMES[:N])
        np.testing.assert_array_equal(own.forecast, f.forecast())
        np.testing.assert_array_equal(own.low, f.forecast_interval(0.9)[0])
        assert own.when.tolist() == TIMES[N:].tolist()
    predicted = nystream_spark.per_key(df, "site", pattern(), order_by="when").toPandas()
    assert len(predicted) == 3 * N
    assert predicted.prediction.notna().all()


def test_rows_without_a_target_give_the_inputs_of_the_next_rows(spark):
    temp = np.random.default_rng(5).normal(size=N + H)
    load = np.concatenate([series(0), np.full(H, np.nan)])
    frame = pd.DataFrame({"site": "a", "when": TIMES, "temp": temp, "load": load})
    known = pd.concat([frame, frame[:N].assign(site="b")])  # b knows nothing ahead: no forecast
    df = spark.createDataFrame(known.astype({"load": "float64"})).replace(float("nan"), None)
    found = nystream_spark.per_key(df, "site", pattern(temp="number"), order_by="when", emit="forecasts").toPandas()
    f = nystream.Forecaster(H, season=24)
    for y, t, when in zip(series(0), temp, TIMES, strict=False):
        f.step(y, {"temp": float(t)}, when)
    assert found.site.tolist() == ["a"] * H
    np.testing.assert_allclose(
        found.sort_values("step").forecast, f.forecast(X=[{"temp": float(t)} for t in temp[N:]]), rtol=1e-12
    )


def test_only_series_have_forecasts(spark):
    df = spark.createDataFrame(pd.DataFrame({"site": ["a"], "x": [1.0], "load": [1.0]}))
    with pytest.raises(ValueError, match="SeriesLearner"):
        nystream_spark.per_key(df, "site", None, ["x"], "load", order_by="x", emit="forecasts")
