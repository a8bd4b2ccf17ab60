"""Loads pipelines that were saved, in a process of its own, and prints their predictions for a table as JSON.

python tests/spark/load_pipeline.py TABLE MODEL ...
"""

from __future__ import annotations

import json
import sys

from pyspark.ml import PipelineModel
from pyspark.ml.tuning import CrossValidatorModel
from pyspark.sql import SparkSession


def main(table: str, *models: str) -> list[list[float]]:
    from conftest import SETTINGS

    builder = SparkSession.builder.master("local[1]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    frame = spark.read.parquet(table).coalesce(1)
    loaded = [(CrossValidatorModel if model.endswith("cv") else PipelineModel).load(model) for model in models]
    found = [[row["prediction"] for row in model.transform(frame).collect()] for model in loaded]
    spark.stop()
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(main(*sys.argv[1:])))
