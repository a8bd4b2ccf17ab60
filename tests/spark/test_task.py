"""Spark frames tell the task by the rule that the command line and models have."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")
from nystream.spark.patterns import task_of


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        ([0, 1] * 10, "classification"),
        ([1, 2, 3] * 10, "classification"),
        ([10, 20] * 10, "regression"),
        ([7] * 10, "regression"),
        (list(range(40)), "regression"),
        ([0.0, 1.0] * 10, "regression"),
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
    ],
)
def test_the_target_tells_the_task(spark, labels, task):
    frame = spark.createDataFrame([(float(i), label) for i, label in enumerate(labels)], ["x", "y"])
    assert task_of(frame, ["y"]) == task


def test_several_targets_are_regression(spark):
    frame = spark.createDataFrame([(1.0, 0, 1)] * 4, ["x", "y", "z"])
    assert task_of(frame, ["y", "z"]) == "regression"
