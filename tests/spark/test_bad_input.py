"""What cannot work is refused on the driver, in one line that names the column or the remedy."""

from __future__ import annotations

import json
import os
import stat
import sys
import time

import numpy as np
import pytest
from spark_frames import FEATURES, examples, pkrr, table

import nystream

pytest.importorskip("pyspark")
from pyspark.errors import PySparkException

import nystream.spark as nystream_spark
from nystream.spark.errors import MARK, explained
from nystream.spark.jobs import blas_threads
from nystream.spark.refused import OnError, find_bad_rows


@pytest.fixture(scope="module")
def rows():
    data = table(*examples(40), key=["a", "b"] * 20, seq=range(40), city=["x"] * 40)
    return data.assign(x1=data["x1"].where(np.arange(40) != 17))


@pytest.fixture(scope="module")
def frame(spark, rows):
    from pyspark.sql.functions import col, isnan, when

    found = spark.createDataFrame(rows).repartitionByRange(2, "seq")
    return found.withColumn("x1", when(isnan(col("x1")), None).otherwise(col("x1"))).cache()


def one_line(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text
    assert "java" not in text.lower()
    return text


def test_a_null_is_an_error_that_names_column_and_place(frame):
    with pytest.raises(ValueError, match=r"column 'x1' is null in 1 of \d+ rows") as refusal:
        nystream_spark.fit(frame, pkrr(), FEATURES, "y")
    assert "dropna" in one_line(refusal.value)
    with pytest.raises(ValueError, match="column 'x1' is null"):
        nystream_spark.fit(frame, pkrr(), ["x0", "x2"], "x1")
    with pytest.raises(ValueError, match="'x1' is missing, and PKRR takes no missing values"):
        nystream_spark.fit(frame, nystream.Model(pkrr()), FEATURES, "y")


def test_nan_and_infinity_are_errors_that_name_column_and_place(spark):
    data = spark.createDataFrame(table(*examples(10)).assign(x2=[np.inf if i == 3 else 1.0 for i in range(10)]))
    with pytest.raises(ValueError, match="column 'x2' is inf at row 3 of partition 0") as refusal:
        nystream_spark.fit(data.coalesce(1), pkrr(), FEATURES, "y")
    one_line(refusal.value)


def test_a_column_of_another_type_than_the_model_learnt_is_refused_in_predictions(frame):
    model = pkrr()
    model.run(*examples(20))
    other = frame.selectExpr("x0", "city as x1", "x2")
    with (
        pytest.raises(ValueError, match=r"column 'x1' is 'x', which is no finite number") as refusal,
        nystream_spark.clear_errors(),
    ):
        nystream_spark.predict(other, model, FEATURES).collect()
    one_line(refusal.value)


@pytest.mark.parametrize(
    ("features", "target", "message"),
    [
        (["x0", "cty"], "y", "no column 'cty'; did you mean 'city'"),
        (["x0", "city"], "y", "'city', a feature, is string, not a number"),
        (["x0"], "city", "'city', a target, is string, not a number"),
        (["x0", "y"], "y", "'y' is a feature and also the target; leave it out of one"),
        (["x0", "x0"], "y", "features names a column twice"),
        ([], "y", "features must be the name"),
        (None, "y", "features is missing"),
        (["x0"], None, "target is missing"),
    ],
)
def test_wrong_columns_are_refused_before_anything_runs(frame, features, target, message):
    with pytest.raises(ValueError, match=message) as refusal:
        nystream_spark.fit(frame, pkrr(), features, target)
    one_line(refusal.value)


@pytest.mark.parametrize(
    ("target", "given", "message"),
    [
        (None, {}, "target must be the name of a column, got None"),
        (["y"], {}, r"target must be the name of a column, got \['y'\]"),
        ("y", {"features": []}, r"features must be the name of a column, or a list of names; got \[\]"),
        ("y", {"features": ["city", "city"]}, "features names a column twice: city, city"),
        ("city", {"features": "city"}, "column 'city' is a feature and also the target"),
        ("y", {"weight": "y"}, "column 'y' is the target and also the weight; leave it out of one"),
        ("y", {"weight": "city", "features": "key"}, "column 'city', the weight, is string, not a number; cast it"),
        ("y", {"weight": "x0", "validation": "x0"}, "column 'x0' is the weight and also the validation"),
        ("y", {"weight": 5}, "weight must be the name of a column, got 5"),
        ("y", {"features": "x0", "task_memory": -1}, "task_memory must be a number greater than 0"),
        ("y", {"features": "x0", "seed": -1}, "seed must be a whole number of at least 0"),
        ("y", {"features": "x0", "big": -1}, "big must be a whole number of at least 0"),
    ],
)
def test_wrong_arguments_of_fit_auto_are_refused_before_anything_runs(frame, target, given, message):
    with pytest.raises(ValueError, match=message) as refusal:
        nystream_spark.fit_auto(frame, target, **given)
    one_line(refusal.value)


def test_a_column_that_is_there_twice_is_refused(frame):
    twice = frame.select("x0", "x0", "y")
    with pytest.raises(ValueError, match="2 columns named 'x0'"):
        nystream_spark.fit(twice, pkrr(), ["x0"], "y")
    with pytest.raises(ValueError, match="2 columns named 'x0'"):
        nystream_spark.fit_auto(twice, "y")


def test_what_is_no_frame_or_a_stream_is_refused(spark, rows):
    for action in (
        lambda df: nystream_spark.fit(df, pkrr(), ["x0"], "y"),
        lambda df: nystream_spark.fit_auto(df, "y"),
        lambda df: nystream_spark.per_key(df, "key", pkrr(), ["x0"], "y", order_by="seq"),
        lambda df: nystream_spark.evaluate(df, "y"),
    ):
        with pytest.raises(TypeError, match=r"df must be a DataFrame of Spark, got DataFrame; spark\.createDataFrame"):
            action(rows)
    stream = spark.readStream.format("rate").load().selectExpr("cast(value as double) as x0", "1.0 as y")
    with pytest.raises(ValueError, match="fit needs a frame that does not stream; for a stream use fit_stream"):
        nystream_spark.fit(stream, pkrr(), ["x0"], "y")
    with pytest.raises(ValueError, match="fit_auto needs a frame that does not stream"):
        nystream_spark.fit_auto(stream, "y")
    with pytest.raises(ValueError, match="OnlineKernelRegressor needs a frame that does not stream"):
        nystream_spark.OnlineKernelRegressor(inputCols=["x0"], labelCol="y").fit(stream)


def test_a_negative_weight_is_an_error_that_names_column_and_place(spark):
    data = spark.createDataFrame(table(*examples(10), w=[1.0, 0.0, -2.0, *[1.0] * 7])).coalesce(1)
    with pytest.raises(ValueError, match=r"^column 'w' is -2\.0 at row 2 of partition 0; weights are 0 or more$"):
        nystream_spark.fit(data, pkrr(), FEATURES, "y", weight="w")


@pytest.mark.parametrize("value", [3, "", "Skip", "STOP "])
def test_on_error_is_a_word_or_a_folder(value):
    with pytest.raises(ValueError, match="on_error must be 'stop', 'skip', or the address of a folder"):
        OnError(value)


def test_other_arguments_that_cannot_be_are_refused(frame, tmp_path):
    with pytest.raises(TypeError, match="learner must be a nystream learner or Model, got 'pkrr'"):
        nystream_spark.fit(frame, "pkrr", FEATURES, "y")
    with pytest.raises(ValueError, match="depth"):
        nystream_spark.fit(frame, pkrr(), FEATURES, "y", depth=-1)
    with pytest.raises(ValueError, match="needs a streaming frame"):
        nystream_spark.fit_stream(frame, pkrr(), FEATURES, "y", checkpoint=str(tmp_path), models=str(tmp_path))
    with pytest.raises(ValueError, match="order_by is missing: Spark promises no order"):
        nystream_spark.per_key(frame, "key", pkrr(), FEATURES, "y", order_by=None)
    with pytest.raises(TypeError, match="order_by"):
        nystream_spark.per_key(frame, "key", pkrr(), FEATURES, "y")
    with pytest.raises(ValueError, match="no column 'kee'; did you mean 'key'"):
        nystream_spark.per_key(frame, "kee", pkrr(), FEATURES, "y", order_by="seq")
    with pytest.raises(ValueError, match="emit"):
        nystream_spark.per_key(frame, "key", pkrr(), FEATURES, "y", order_by="seq", emit="all")
    dotted = frame.withColumnRenamed("x0", "x.0")
    with pytest.raises(ValueError, match=r"column 'x.0' has a dot .* per_key .*withColumnRenamed\('x.0', 'x_0'\)"):
        nystream_spark.per_key(dotted, "key", pkrr(), ["x.0"], "y", order_by="seq")
    with pytest.raises(ValueError, match="learnt nothing yet"):
        nystream_spark.predict(frame, pkrr(), FEATURES)
    with pytest.raises(ValueError, match="column 'key', a target, is string"):
        nystream_spark.fit_auto(frame, "key", task="regression")


def test_a_model_that_draws_without_a_seed_is_refused(frame):
    model = nystream.Model(nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.0), 20)))
    with pytest.raises(ValueError, match="features__seed is None in PKRR"):
        nystream_spark.fit(frame, model, ["x0"], "y")


def test_what_spark_runs_later_is_said_in_one_line_within_clear_errors(frame):
    keyed = nystream_spark.per_key(frame, "key", pkrr(), FEATURES, "y", order_by="seq")
    with (
        pytest.raises(ValueError, match=r"key 'b': row \d+: column 'x1' is missing") as refusal,
        nystream_spark.clear_errors(),
    ):
        keyed.collect()
    one_line(refusal.value)


def test_a_key_with_too_many_rows_for_a_worker_is_refused(frame):
    keyed = nystream_spark.per_key(frame, "key", pkrr(), ["x0"], "y", order_by="seq", most_rows=19)
    with (
        pytest.raises(ValueError, match=r"key '[ab]' has more than 19 rows in one micro-batch"),
        nystream_spark.clear_errors(),
    ):
        keyed.collect()


def test_an_order_with_nulls_is_refused(frame):
    keyed = nystream_spark.per_key(frame, "key", pkrr(), ["x0"], "y", order_by="x1")
    with (
        pytest.raises(ValueError, match="column 'x1', by which rows are ordered, is null"),
        nystream_spark.clear_errors(),
    ):
        keyed.collect()


def other_python(folder, code: str) -> str:
    """A Python of its own for workers, which runs this code at its start."""
    (folder / "sitecustomize.py").write_text(code)
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


WITHOUT = """
import sys
import time
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{}":
            raise ModuleNotFoundError(f"No module named {{name!r}}")
sys.meta_path.insert(0, Nowhere())
"""
OLDER = """
import importlib.metadata
original = importlib.metadata.version
importlib.metadata.version = lambda name: "0.0.7" if name == "nystream" else original(name)
"""


WORKERS = {
    "without nystream": (
        WITHOUT.format("nystream"),
        nystream_spark.WorkerError,
        "a Python worker has no module 'nystream.*': set PYSPARK_PYTHON",
    ),
    "without pyarrow": (
        WITHOUT.format("pyarrow"),
        nystream_spark.WorkerError,
        "a Python worker has no module 'pyarrow.*PYSPARK_PYTHON",
    ),
    "another version": (OLDER, ValueError, "a worker has nystream 0.0.7 .*, the driver .*PYSPARK_PYTHON"),
}


def keyed(frame):
    nystream_spark.per_key(frame, "key", pkrr(), ["x0"], "y", order_by="seq").collect()


def predicted(frame):
    model = pkrr()
    model.run(*examples(20))
    nystream_spark.predict(frame.drop("x1").withColumn("x1", frame["x0"]), model, FEATURES).collect()


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize(
    "action",
    [
        lambda frame: nystream_spark.fit(frame, pkrr(), ["x0"], "y"),
        pytest.param(keyed, marks=pytest.mark.exhaustive),
        pytest.param(predicted, marks=pytest.mark.exhaustive),
    ],
    ids=["fit", "per_key", "predict"],
)
def test_workers_with_another_python_are_named_with_the_remedy(spark, frame, tmp_path, monkeypatch, workers, action):
    code, kind, message = WORKERS[workers]
    monkeypatch.setattr(spark.sparkContext, "pythonExec", other_python(tmp_path, code))
    with pytest.raises(kind, match=message) as refusal, nystream_spark.clear_errors():
        action(frame)
    one_line(refusal.value)


JAVA = """An error occurred while calling o554.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 4.0 failed 4 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:4560)
Caused by: java.io.FileNotFoundException: /data/part-7 (No such file or directory)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
PYTHON_IN_JAVA = """An error occurred while calling o1.x.
: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in theirs
ZeroDivisionError: division by zero

\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1)
"""
CONNECT = (
    "[USER_RAISED_EXCEPTION] of theirs\n\nJVM stacktrace:\norg.apache.spark.SparkRuntimeException\n\tat a.b(c.scala:1)"
)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (JAVA, "FileNotFoundException: /data/part-7 (No such file or directory)"),
        (PYTHON_IN_JAVA, "ZeroDivisionError: division by zero"),
        (CONNECT, "[USER_RAISED_EXCEPTION] of theirs"),
    ],
)
def test_a_stack_of_java_becomes_its_cause_in_one_line_and_the_report_is_kept(said, cause):
    with pytest.raises(nystream_spark.WorkerError) as refusal, nystream_spark.clear_errors():
        raise PySparkException(said)
    assert str(refusal.value) == f"Spark could not run this: {cause} (all of it: the error's `report`)"
    assert refusal.value.report == said


def test_what_spark_says_readably_is_left_as_it_is(frame):
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"), nystream_spark.clear_errors():
        frame.select("nothing").collect()


def test_remedies_for_what_spark_says():
    for said, remedy in [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "PYSPARK_PYTHON"),
        ('java.io.IOException: Cannot run program "python9"', "PYSPARK_PYTHON"),
        ("Timed out while waiting for the Python worker to connect back", "overloaded"),
        ("Total size of serialized results of 16 tasks is bigger than spark.driver.maxResultSize", "depth=1"),
    ]:
        assert remedy in one_line(explained(RuntimeError(said)))
    for said, change in [("VALUE", "the ttl: it was given"), ("KEY", "the types of the key's columns")]:
        found = explained(RuntimeError(f"[STATE_STORE_{said}_SCHEMA_NOT_COMPATIBLE] Provided schema does not match"))
        assert isinstance(found, ValueError)
        assert f"what changed is {change}" in one_line(found)
    assert explained(RuntimeError("No module named 'their_own'")) is None
    assert explained(RuntimeError("something else")) is None


def test_threads_of_the_linear_algebra_are_read_from_the_environment():
    assert blas_threads({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "8"}) == 1
    assert blas_threads({"OMP_NUM_THREADS": "8"}) == 8
    assert blas_threads({}) == 0


def test_a_plan_that_names_a_refusal_is_not_taken_for_it():
    plan = f"+- Project [raise_error(USER_RAISED_EXCEPTION, map(errorMessage, {MARK}the key is null))]"
    lost = explained(RuntimeError(f"[STREAM_FAILED] Python worker failed to connect back\n== Logical Plan ==\n{plan}"))
    assert isinstance(lost, nystream_spark.WorkerError)
    refused = explained(RuntimeError(f"[USER_RAISED_EXCEPTION] {MARK}the key is null\n== Logical Plan ==\n{plan}"))
    assert str(refused) == "the key is null"
    assert str(explained(RuntimeError(f"[X] {MARK}the key is null SQLSTATE: P0001"))) == "the key is null"
    streamed = RuntimeError(f"[STREAM_FAILED] [X] {MARK}the key is null SQLSTATE: P0001 SQLSTATE: XXKST\n== Plan ==")
    assert str(explained(streamed)) == "the key is null"


def test_dead_letters_are_json_that_everything_reads(tmp_path):
    on_error = OnError(str(tmp_path), source="file 3.parquet")
    on_error.write([{"x": float("nan"), "y": float("-inf"), "z": 1.5, "t": "now"}], ["why"], batch=3)
    (path,) = tmp_path.glob("*.jsonl")

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    letter = json.loads(path.read_text(), parse_constant=refuse)
    assert letter["row"] == {"x": "nan", "y": "-inf", "z": 1.5, "t": "now"}
    assert letter["source"] == "file 3.parquet"


def test_a_bad_row_is_found_and_its_reason_has_no_remedy_of_elsewhere():
    data = [{"x": 1.0}, {"x": 2.0}, {"x": "three"}]
    model = nystream.Model(pkrr(), nystream.Schema(["x"]))

    def learn(start: int, end: int) -> None:
        model.schema.parse(data[start:end])

    (bad,) = find_bad_rows(len(data), learn)
    assert bad.place == 2
    assert bad.reason == "column 'x' is 'three', which is no finite number"


def test_dead_letters_that_were_left_half_written_are_removed_after_an_hour(tmp_path):
    folder = tmp_path / "letters"
    on_error = OnError(str(folder))
    assert on_error.remove_unfinished() == 0
    on_error.write([{"x": 1.0}], ["why"], batch=3)
    left, fresh = (folder / f"{letter * 32}.jsonl.{number}.new" for letter, number in (("a", 7), ("b", 8)))
    for path in (left, fresh):
        path.write_bytes(b"half")
    os.utime(left, (time.time() - 7200, time.time() - 7200))
    assert on_error.remove_unfinished() == 1
    assert not left.exists()
    assert fresh.exists()
    assert len(list(folder.glob("*.jsonl"))) == 1
