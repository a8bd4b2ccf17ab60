"""All of nystream.spark through a server of Spark Connect, in a process of its own: prints what it found as JSON.

    python tests/spark/on_connect.py FOLDER

A process has one kind of session, and the other tests have the classic one.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from spark_frames import FEATURES, examples, pkrr, table, write_file

import nystream
import nystream.spark as nystream_spark

N = 600
SMALL = {"landmarks": 40, "big": 80, "sample": 300}


def largest(first: Any, second: Any) -> float:
    return float(np.abs(np.asarray(first) - np.asarray(second)).max())


def refused(action: Any) -> str:
    """How an action fails: kind and message."""
    try:
        with nystream_spark.clear_errors():
            action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it did not fail"


def finished(start: Any) -> None:
    """Run a query to its end.

    The server gives a new Python ten seconds to start, which a busy machine may exceed: the query is then started
    again, and goes on from its checkpoint.
    """
    for attempt in range(10):
        try:
            with nystream_spark.clear_errors():
                start().awaitTermination()
            return
        except nystream_spark.WorkerError as error:
            if "did not start in time" not in str(error) or attempt == 9:
                raise


def streamed(spark: Any, folder: Path, frame: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    now = {"availableNow": True}
    keyed = nystream_spark.per_key(frame, "key", pkrr(), FEATURES, "y", order_by="seq")
    writer = keyed.writeStream.format("parquet").option("path", str(folder / "out"))
    finished(writer.option("checkpointLocation", str(folder / "ck")).trigger(**now).start)
    figures = nystream_spark.evaluate(spark.read.parquet(str(folder / "out")), "y", key="key").collect()
    found["evaluated"] = {row["key"] or "all": row["rows"] for row in figures}
    kept = {row["key"]: row for row in nystream_spark.load_keys(spark, str(folder / "ck")).collect()}
    found["keys"] = {key: nystream.from_bytes(bytes(row["model"])).n_seen for key, row in kept.items()}
    folders = {"checkpoint": str(folder / "ck2"), "models": str(folder / "models")}
    finished(lambda: nystream_spark.fit_stream(frame, pkrr(), FEATURES, "y", trigger=now, **folders))
    found["models"] = sorted(path.name for path in (folder / "models").glob("*.nys"))
    found["stream"] = nystream.load(folder / "models" / found["models"][-1])
    lacking = frame.selectExpr("if(seq = 5, null, x0) as x0", "x1", "x2", "y")
    folders = {"checkpoint": str(folder / "ck3"), "models": str(folder / "models3")}
    query = partial(nystream_spark.fit_stream, lacking, pkrr(), FEATURES, "y", trigger=now, **folders)
    found["stream with a null"] = refused(lambda: finished(query))
    return found


def estimated(df: Any, folder: Path) -> dict[str, Any]:
    """A pipeline of an estimator on vectors, and a model that is saved and loaded."""
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler

    sizes = {"landmarks": 30, "big": 0, "rough": 0, "sampleSize": 300}
    regressor = nystream_spark.OnlineKernelRegressor(labelCol="y", **sizes)
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=FEATURES, outputCol="features"), regressor])
    answered = pipeline.fit(df).transform(df).toPandas()
    named = nystream_spark.OnlineKernelRegressor(labelCol="y", inputCols=FEATURES, **sizes).fit(df)
    named.save(str(folder / "model"))
    again = nystream_spark.OnlineKernelRegressionModel.load(str(folder / "model"))
    error = np.mean((answered["prediction"] - answered["y"]) ** 2) / np.var(answered["y"])
    found = again.transform(df).toPandas()["prediction"]
    return {"error": float(error), "loaded": largest(found, named.transform(df).toPandas()["prediction"])}


def main(folder: Path) -> dict[str, Any]:
    from conftest import SETTINGS

    builder = SparkSession.builder.remote("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    X, y = examples(N)
    data = table(X, y, key=[f"k{i % 3}" for i in range(N)], seq=range(N))
    (folder / "in").mkdir()
    for i, part in enumerate(np.array_split(np.arange(N), 2)):
        write_file(data.iloc[part], folder / "in", i)
    whole = pkrr()
    whole.run(X, y)
    df = spark.createDataFrame(data)
    rows = df.select(*FEATURES, "y")
    sampled = nystream.NystromPKRR(nystream.Gaussian(1.5), lam=0.5, mu=0.5, beta=2.0, seed=5)
    fits = [nystream_spark.fit(rows.repartition(9), pkrr(), FEATURES, "y", depth=depth) for depth in (None, 1)]
    found: dict[str, Any] = {
        "session": type(spark).__module__,
        "fit": max(largest(model.predict(X), whole.predict(X)) for model in fits),
        "dictionary": nystream_spark.fit(rows.repartition(3), sampled, FEATURES, "y").n_seen,
        "auto": nystream_spark.fit_auto(rows, "y", **SMALL).n_seen,
        "estimator": estimated(rows, folder),
        "predict": largest(nystream_spark.predict(rows, whole, FEATURES).toPandas()["prediction"], whole.predict(X)),
        "null": refused(lambda: nystream_spark.fit(df.selectExpr("null as x0", "y"), pkrr(), ["x0"], "y")),
        "no checkpoint": refused(lambda: nystream_spark.load_keys(spark, str(folder / "nothing"))),
        "Java": refused(
            lambda: nystream_spark.fit(df.selectExpr("raise_error('b') + 0.0 as x0", "y"), pkrr(), "x0", "y")
        ),
    }
    source = spark.readStream.schema(spark.read.parquet(str(folder / "in")).schema).option("maxFilesPerTrigger", 1)
    found.update(streamed(spark, folder, source.parquet(str(folder / "in"))))
    found["stream"] = largest(found["stream"].predict(X), whole.predict(X))
    spark.stop()
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(main(Path(sys.argv[1]))))
