"""The estimators of pyspark.ml: in pipelines, cross-validated, saved and loaded, and what they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from spark_frames import FEATURES, examples, table

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark
from nystream.spark.answering import chosen

N = 900
HERE = Path(__file__).parent
SMALL = {"landmarks": 30, "big": 60, "rough": 60, "sampleSize": 300}


@pytest.fixture(scope="module")
def frame(spark):
    X, y = examples(N)
    rng = np.random.default_rng(3)
    shop = rng.choice(["a", "b", "c"], size=N)
    rows = table(X, y, shop=shop, open=rng.random(N) < 0.5)
    height = y + np.where(shop == "b", 3.0, 0.0)
    rows["size"] = np.where(height > 2, "large", np.where(height > 0, "middle", "small"))
    rows["label"] = np.searchsorted(["large", "middle", "small"], rows["size"]).astype(float)
    rows["array"] = list(X)
    rows["w"] = np.where(np.arange(N) % 7 == 0, 0.0, 1.0)
    rows["check"] = np.arange(N) % 6 == 1
    return spark.createDataFrame(rows).repartition(2).cache()


def column(frame, name: str) -> np.ndarray:
    return np.array([row[0] for row in frame.select(name).collect()])


def test_an_estimator_is_a_stage_like_others(spark, frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.feature import VectorAssembler

    regressor = nystream_spark.OnlineKernelRegressor(labelCol="y", **SMALL)
    model = Pipeline(stages=[VectorAssembler(inputCols=FEATURES, outputCol="features"), regressor]).fit(frame)
    found = model.transform(frame)
    assert found.columns[-2:] == ["features", "prediction"]
    assert RegressionEvaluator(labelCol="y", metricName="r2").evaluate(found) > 0.8
    last = model.stages[-1]
    assert last.uid == regressor.uid
    assert last.numFeatures == 3
    assert last.model.n_seen == N
    row = found.first()
    assert last.predict(row["features"]) == pytest.approx(row["prediction"], abs=1e-9)
    model.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.stages[-1].getOrDefault("landmarks") == 30
    assert (column(again.transform(frame), "prediction") == column(found, "prediction")).all()


@pytest.mark.exhaustive
def test_classes_have_probabilities_raw_predictions_thresholds_and_names(spark, frame, tmp_path):
    from pyspark.ml import Pipeline
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import IndexToString, StringIndexer

    indexer = StringIndexer(inputCol="size", outputCol="number", stringOrderType="alphabetAsc")
    classifier = nystream_spark.OnlineKernelClassifier(
        labelCol="number",
        inputCols=[*FEATURES, "shop", "open"],
        weightCol="w",
        validationIndicatorCol="check",
        predictionCol="found",
        **SMALL,
    )
    names = IndexToString(inputCol="found", outputCol="name")  # knows the names by the metadata of the prediction
    model = Pipeline(stages=[indexer, classifier, names]).fit(frame)
    found = model.transform(frame).cache()
    P = np.array([row[0].toArray() for row in found.select("probability").collect()])
    raw = np.array([row[0].toArray() for row in found.select("rawPrediction").collect()])
    assert_allclose(P.sum(axis=1), 1.0)
    assert_allclose(np.exp(raw), P, rtol=1e-9, atol=1e-200)
    assert (P.argmax(axis=1) == column(found, "found")).all()
    assert np.mean(column(found, "name") == column(found, "size")) > 0.85
    for metric, least in (("accuracy", 0.85), ("logLoss", 0.0)):
        evaluator = MulticlassClassificationEvaluator(labelCol="label", predictionCol="found", metricName=metric)
        assert evaluator.evaluate(found) > least
    stage = model.stages[1]
    assert (stage.numClasses, stage.numFeatures) == (3, 5)
    assert stage.model.n_seen == N - N // 6
    never = stage.copy({stage.thresholds: [1.0, 1e-9, 1.0]})
    numbered = model.stages[0].transform(frame)
    assert (column(never.transform(numbered), "found") == 1.0).mean() > 0.99
    assert not stage.isDefined(stage.thresholds)
    stage.save(str(tmp_path / "model"))
    with pytest.raises(ValueError, match="holds OnlineKernelClassificationModel, not OnlineKernelRegressionModel"):
        nystream_spark.OnlineKernelRegressionModel.load(str(tmp_path / "model"))
    again = nystream_spark.OnlineKernelClassificationModel.load(str(tmp_path / "model"))
    assert again.uid == stage.uid
    assert (column(again.transform(numbered), "found") == column(found, "found")).all()
    classifier.save(str(tmp_path / "estimator"))
    estimator = nystream_spark.OnlineKernelClassifier.load(str(tmp_path / "estimator"))
    assert estimator.extractParamMap() == classifier.extractParamMap()


@pytest.mark.exhaustive
def test_a_class_without_rows_has_probability_zero_and_arrays_are_features(spark, frame):
    from pyspark.ml.evaluation import BinaryClassificationEvaluator

    classifier = nystream_spark.OnlineKernelClassifier(featuresCol="array", **SMALL)
    some = frame.where("label != 1").withMetadata(
        "label", {"ml_attr": {"type": "nominal", "vals": ["large", "middle", "small", "tiny"]}}
    )
    model = classifier.fit(some)
    found = model.transform(some)
    assert model.numClasses == 4
    P = np.array([row[0].toArray() for row in found.select("probability").collect()])
    assert (P[:, [1, 3]] == 0).all()
    two = classifier.fit(frame.selectExpr("array", "cast(y > 0 as int) as label"), {classifier.probabilityCol: ""})
    answered = two.transform(frame.selectExpr("array", "cast(y > 0 as int) as label"))
    assert answered.columns == ["array", "label", "rawPrediction", "prediction"]
    assert BinaryClassificationEvaluator().evaluate(answered) > 0.8


@pytest.mark.exhaustive
def test_a_cross_validated_pipeline_predicts_the_same_in_a_new_process(spark, frame, tmp_path):
    from pyspark.ml import Pipeline
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    regressor = nystream_spark.OnlineKernelRegressor(labelCol="y", **{**SMALL, "landmarks": 10, "big": 0, "rough": 0})
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=FEATURES, outputCol="features"), regressor])
    grid = ParamGridBuilder().addGrid(regressor.landmarks, [2, 40]).build()
    validator = CrossValidator(
        estimator=pipeline,
        estimatorParamMaps=grid,
        evaluator=RegressionEvaluator(labelCol="y"),
        numFolds=2,
        parallelism=2,
        seed=1,
    )
    model = validator.fit(frame)
    assert model.avgMetrics[1] < model.avgMetrics[0]
    assert model.bestModel.stages[-1].getOrDefault("landmarks") == 40
    frame.select(*FEATURES).coalesce(1).write.parquet(str(tmp_path / "table"))
    expected = column(model.transform(spark.read.parquet(str(tmp_path / "table")).coalesce(1)), "prediction")
    model.write().save(str(tmp_path / "cv"))
    model.bestModel.write().save(str(tmp_path / "pipeline"))
    paths = [str(HERE), str(HERE.parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}
    saved = [str(tmp_path / name) for name in ("table", "pipeline", "cv")]
    command = [sys.executable, str(HERE / "load_pipeline.py"), *saved]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1100)
    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads(run.stdout.strip().splitlines()[-1]) == [expected.tolist()] * 2


def test_what_cannot_be_learnt_is_refused_by_name(spark, frame):
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import functions as sql

    regressor = nystream_spark.OnlineKernelRegressor(labelCol="y")
    with pytest.raises(ValueError, match="no column 'features'"):
        regressor.fit(frame)
    with pytest.raises(ValueError, match="featuresCol='x0' is double, not a vector or an array of numbers; use pysp"):
        regressor.fit(frame, {regressor.featuresCol: "x0"})
    with pytest.raises(ValueError, match="no column 'arrays'; did you mean 'array'"):
        regressor.copy({regressor.featuresCol: "arrays"}).transformSchema(frame.schema)
    with pytest.raises(
        ValueError, match=r"labelCol='size' is string, not numeric; use pyspark.ml.feature.StringIndexer"
    ):
        regressor.fit(frame, {regressor.featuresCol: "array", regressor.labelCol: "size"})
    with pytest.raises(ValueError, match="a column 'shop' already"):
        regressor.fit(frame, {regressor.featuresCol: "array", regressor.predictionCol: "shop"})
    with pytest.raises(ValueError, match="featuresCol and inputCols are both set"):
        regressor.fit(frame, {regressor.featuresCol: "array", regressor.inputCols: FEATURES})
    vectors = VectorAssembler(inputCols=FEATURES, outputCol="features").transform(frame.limit(50))
    null = vectors.withColumn("features", sql.when(sql.col("y") < 0, sql.col("features")))
    with pytest.raises(ValueError, match=r"featuresCol='features' has no entries in a row, 3 are expected.* null$"):
        regressor.fit(null)
    uneven = frame.limit(50).selectExpr("y", "if(x0 > 0, array, slice(array, 1, 2)) as array")
    uneven = uneven.withMetadata("array", {"ml_attr": {"num_attrs": 3}})
    with pytest.raises(ValueError, match="featuresCol='array' has 2 entries in a row, 3 are expected"):
        regressor.fit(uneven, {regressor.featuresCol: "array"})
    classifier = nystream_spark.OnlineKernelClassifier(featuresCol="array")
    with pytest.raises(ValueError, match=r"labelCol='y' must have numbers of classes 0, 1, 2 .* \d+ rows"):
        classifier.fit(frame, {classifier.labelCol: "y"})
    with pytest.raises(ValueError, match="must be 3 numbers of 0 or more, one for each class"):
        classifier.fit(frame, {classifier.thresholds: [0.5, 0.5]})
    with pytest.raises(TypeError):
        nystream_spark.OnlineKernelRegressor(landmark=3)


def test_thresholds_divide_probabilities():
    P = np.array([[0.5, 0.3, 0.2], [0.0, 0.6, 0.4]])
    assert chosen(P, None).tolist() == [0, 1]
    assert chosen(P, [1.0, 1.0, 0.1]).tolist() == [2, 2]
    assert chosen(P, [0.0, 1.0, 1.0]).tolist() == [0, 1]


@pytest.mark.exhaustive
def test_mlflow_keeps_a_pipeline(spark, frame, tmp_path):
    mlflow_spark = pytest.importorskip("mlflow.spark", reason="mlflow is not installed")
    from pyspark.ml import Pipeline

    regressor = nystream_spark.OnlineKernelRegressor(labelCol="y", inputCols=[*FEATURES, "shop"], **SMALL)
    model = Pipeline(stages=[regressor]).fit(frame)
    mlflow_spark.save_model(model, str(tmp_path / "kept"), dfs_tmpdir=str(tmp_path / "scratch"))
    again = mlflow_spark.load_model(str(tmp_path / "kept"), dfs_tmpdir=str(tmp_path / "scratch"))
    assert (column(again.transform(frame), "prediction") == column(model.transform(frame), "prediction")).all()
