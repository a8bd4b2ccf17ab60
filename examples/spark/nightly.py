"""Every night: fit the new day on Spark, merge it into yesterday's model, and let the oldest day go.

    spark-submit examples/spark/nightly.py /tmp/nightly

The data are Parquet files partitioned by day. Only the new day is read for the fit; merging and unlearning are exact,
so the model is always that of the last days, as if it had been fitted on them alone.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

import nystream
import nystream.spark

FEATURES, KEPT = ["a", "b"], 3


def made_days(folder, days):
    rng = np.random.default_rng(0)
    for day in range(days):
        rows = pd.DataFrame(rng.normal(size=(2000, 2)), columns=FEATURES)
        rows["y"] = np.sin(rows["a"]) + 0.1 * day * rows["b"] + 0.1 * rng.normal(size=2000)
        path = folder / f"day={day}"
        path.mkdir(parents=True, exist_ok=True)
        rows.to_parquet(path / "rows.parquet", compression="gzip")


def night(spark, folder, day):
    """Yesterday's model becomes today's."""
    data = spark.read.parquet(str(folder / "data"))
    pattern = nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.5), 60, seed=0), lam=0.1)
    schema = nystream.Schema(FEATURES, target="y", task="regression")
    model = nystream.spark.fit(data.where(f"day = {day}"), nystream.Model(pattern, schema))
    if day > 0:
        model = nystream.load(folder / f"model-{day - 1}.nys").merge(model)
    if day >= KEPT:
        oldest = data.where(f"day = {day - KEPT}").toArrow()  # a day of rows on the driver; O(features^2) each
        model.unlearn(oldest.select(FEATURES), oldest.column("y").to_numpy())
    model.save(folder / f"model-{day}.nys")
    return model


def main(spark, folder, days=5):
    made_days(folder / "data", days)
    for day in range(days):
        model = night(spark, folder, day)
        print("night", day, "rows", model.n_seen)
    kept = spark.read.parquet(str(folder / "data")).where(f"day > {days - 1 - KEPT}")
    fresh = nystream.spark.fit(kept, model.clone())
    rows = kept.select(*FEATURES).limit(1000).toArrow()
    difference = np.abs(model.predict(rows) - fresh.predict(rows)).max()
    print(f"largest difference to a fit of the last {KEPT} days alone: {difference:.1e}")
    assert difference < 1e-8


if __name__ == "__main__":
    main(SparkSession.builder.getOrCreate(), Path(sys.argv[1]))
