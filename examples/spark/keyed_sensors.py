"""One model for each sensor of a stream: from a folder of files, or from Spark's own rate source.

    spark-submit examples/spark/keyed_sensors.py files /tmp/sensors
    spark-submit examples/spark/keyed_sensors.py rate /tmp/sensors

Every row is predicted before it is learnt; the predictions go to a table of Parquet files, the models stay in the
checkpoint. Stop it whenever you like and start it again: it goes on where it was.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import nystream
import nystream.spark

SENSORS, FEATURES = 8, ["load", "outside"]


def made_files(folder):
    """Readings of an afternoon, a file for each hour."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for hour in range(4):
        n = 2000
        rows = pd.DataFrame({"sensor": rng.integers(SENSORS, size=n), "load": rng.uniform(size=n)})
        rows["outside"] = 10 + 5 * np.sin(np.linspace(hour, hour + 1, n)) + rng.normal(size=n)
        rows["at"] = hour * n + np.arange(n)
        rows["warmth"] = 20 + rows["sensor"] * rows["load"] ** 2 + 0.3 * rows["outside"] + 0.1 * rng.normal(size=n)
        path = folder / f"{hour}.parquet"
        rows.to_parquet(path, compression="gzip")
        os.utime(path, (3600 * hour, 3600 * hour))  # Spark reads files in the order of their times


def readings(spark, source, folder):
    if source == "files":
        made_files(folder / "in")
        schema = spark.read.parquet(str(folder / "in")).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2000).load()
    return ticks.select(
        (sql.col("value") % SENSORS).alias("sensor"),
        (sql.pmod(sql.hash("value"), sql.lit(1000)) / 1000).alias("load"),
        (10 + 5 * sql.sin(sql.col("value") / 2000)).alias("outside"),
        sql.col("value").alias("at"),
    ).withColumn("warmth", 20 + sql.col("sensor") * sql.pow("load", sql.lit(2)) + 0.3 * sql.col("outside"))


def main(spark, source, folder):
    learner = nystream.PKRR(nystream.WithConstant(nystream.Fourier(nystream.Gaussian(1.0), 30, seed=0)), lam=0.1)
    stream = readings(spark, source, folder)
    keyed = nystream.spark.per_key(stream, "sensor", learner, FEATURES, "warmth", order_by="at")
    writer = keyed.writeStream.format("parquet").option("path", str(folder / "predictions"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    with nystream.spark.clear_errors():
        query.awaitTermination()
    table = spark.read.parquet(str(folder / "predictions"))
    nystream.spark.evaluate(table, "warmth", key="sensor").orderBy("overall", "sensor").show()
    models = nystream.spark.load_keys(spark, str(folder / "checkpoint"))
    one = nystream.from_bytes(bytes(models.where("sensor = 3").first()["model"]))
    print("sensor 3:", one.n_seen, "rows; at load 0.9:", one.predict([{"load": 0.9, "outside": 12.0}]).round(2))


if __name__ == "__main__":
    session = SparkSession.builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    main(session, sys.argv[1], Path(sys.argv[2]))
