"""One model of a stream, a file for each micro-batch; predictions of models as columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from spark_frames import FEATURES, examples, pkrr, table, write_file

import nystream

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark

N, FILES = 400, 4


@pytest.fixture(scope="module")
def rows():
    return examples(N)


@pytest.fixture(scope="module")
def whole(rows):
    model = nystream.Model(pkrr(), nystream.Schema(FEATURES, "y", "regression"), keep=0)
    model.run(table(*rows))
    return model


def put(folder, rows, numbers) -> None:
    folder.mkdir(exist_ok=True)
    data = table(*rows)
    for i, part in enumerate(np.array_split(np.arange(N), FILES)):
        if i in numbers:
            write_file(data.iloc[part], folder, i)


def started(spark, tmp_path, learner=None, models: str = "models", **more):
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    folders = {"checkpoint": str(tmp_path / "ck"), "models": str(tmp_path / models)}
    now = {"availableNow": True}
    return nystream_spark.fit_stream(source, learner or pkrr(), FEATURES, "y", trigger=now, **folders, **more)


def run(*arguments, **more) -> None:
    with nystream_spark.clear_errors():
        started(*arguments, **more).awaitTermination()


def names(tmp_path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "models").glob("*.nys"))


def test_every_batch_has_its_model_and_the_last_is_that_of_one_machine(spark, rows, whole, tmp_path):
    put(tmp_path / "in", rows, (0, 1))
    run(spark, tmp_path)
    put(tmp_path / "in", rows, (2, 3))
    run(spark, tmp_path)
    assert names(tmp_path) == [f"{i:06d}.nys" for i in range(4)]
    model = nystream.load(tmp_path / "models" / "000003.nys")
    assert model.n_seen == N
    assert_allclose(model.predict(table(*rows)[FEATURES]), whole.predict(table(*rows)[FEATURES]), rtol=0, atol=1e-10)
    assert nystream.load(tmp_path / "models" / "000001.nys").n_seen == N // 2


def test_a_batch_that_is_run_again_counts_once(spark, rows, tmp_path):
    put(tmp_path / "in", rows, (0, 1, 2))
    run(spark, tmp_path)
    content = (tmp_path / "models" / "000002.nys").read_bytes()
    for path in (tmp_path / "ck" / "commits").iterdir():  # as if the driver had died before Spark wrote this down
        if path.name.strip(".").split(".")[0] == "2":
            path.unlink()
    run(spark, tmp_path)
    assert (tmp_path / "models" / "000002.nys").read_bytes() == content


def test_folders_that_do_not_belong_together_are_refused(spark, rows, tmp_path):
    put(tmp_path / "in", rows, (0,))
    run(spark, tmp_path)
    (tmp_path / "ck").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=r"has models up to batch 0, but checkpoint=.* is new"):
        started(spark, tmp_path)
    (tmp_path / "elsewhere").rename(tmp_path / "ck")
    put(tmp_path / "in", rows, (1,))
    with pytest.raises(ValueError, match=r"models=.* and checkpoint=.* belong to different streams \(none and \w+\)"):
        started(spark, tmp_path, models="others")
    (tmp_path / "models" / "000000.nys").unlink()
    with pytest.raises(ValueError, match=r"batch 1 \(file 1.parquet\): .*no model of batch 0, on which batch 1 builds"):
        run(spark, tmp_path)


def test_another_learner_or_other_columns_than_at_the_first_start_are_refused(spark, rows, tmp_path):
    put(tmp_path / "in", rows, (0,))
    run(spark, tmp_path)
    with pytest.raises(ValueError, match=r"learner was PKRR\(.*lam=0.1\) when .* and is PKRR\(.*lam=0.2\) now"):
        started(spark, tmp_path, pkrr(lam=0.2))
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    source = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    folders = {"checkpoint": str(tmp_path / "ck"), "models": str(tmp_path / "models")}
    with pytest.raises(ValueError, match=r"features was \['x0', 'x1', 'x2'\] when .* is \['x0', 'x1'\] now"):
        nystream_spark.fit_stream(source, pkrr(), ["x0", "x1"], "y", **folders)


def test_the_checkpoint_of_a_query_that_is_no_fit_stream_is_refused(spark, rows, tmp_path):
    put(tmp_path / "in", rows, (0,))
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    other = spark.readStream.schema(schema).parquet(str(tmp_path / "in")).writeStream.format("noop")
    other.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(ValueError, match="ck' is that of a query that fit_stream did not start; give a new folder"):
        started(spark, tmp_path)


def bad_rows(rows) -> pd.DataFrame:
    data = table(*rows)
    data.loc[[3, 150], "x1"] = np.nan
    data.loc[201, "y"] = np.inf
    return data


@pytest.mark.parametrize("kind", ["learner", "dictionary"])
def test_bad_rows_are_skipped_or_kept_as_dead_letters_and_counted(spark, rows, tmp_path, caplog, kind):
    data = bad_rows(rows)
    (tmp_path / "in").mkdir()
    for i, part in enumerate(np.array_split(np.arange(N), FILES)):
        write_file(data.iloc[part], tmp_path / "in", i)
    sampled = nystream.NystromPKRR(nystream.Gaussian(1.5), lam=0.5, mu=2.0, seed=1)
    learner, lines = pkrr() if kind == "learner" else sampled, []
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / ".000001.nys.abc.tmp").write_bytes(b"half")
    for _ in range(2):
        run(spark, tmp_path, learner, on_error=str(tmp_path / "letters"), progress=lines.append)
        for path in (tmp_path / "ck" / "commits").iterdir():  # the last batch is run again
            if path.name.strip(".").split(".")[0] == "3":
                path.unlink()
    assert not list((tmp_path / "models").glob(".*.tmp"))
    model = nystream.load(tmp_path / "models" / "000003.nys")
    assert model.n_seen == N - 3
    assert model.notes_["refused"] == 3
    letters = [
        json.loads(line) for path in (tmp_path / "letters").glob("*.jsonl") for line in path.read_text().splitlines()
    ]
    assert len(letters) == 3
    assert {(letter["batch"], letter["source"]) for letter in letters} == {(i, f"file {i}.parquet") for i in range(3)}
    assert all("x1" in letter["reason"] or "y" in letter["reason"] for letter in letters)
    if kind == "learner":
        good = data[np.isfinite(data[["x1", "y"]]).all(axis=1)]
        alone = pkrr()
        alone.run(good[FEATURES].to_numpy(), good["y"].to_numpy())
        assert_allclose(model.predict(rows[0]), alone.predict(rows[0]), rtol=0, atol=1e-10)
        assert any("batch 0: 99 rows learnt, 1 refused" in line and "file 0.parquet" in line for line in lines)


def test_the_last_progress_of_a_stream_has_its_rows(spark, rows, tmp_path):
    put(tmp_path / "in", rows, (0,))
    query = started(spark, tmp_path)
    query.awaitTermination()
    figures = [p["observedMetrics"]["nystream"] for p in query.recentProgress if p["observedMetrics"]]
    assert figures[0]["rows"] == figures[0]["labelled"] == N // FILES


def test_old_files_go_and_a_dictionary_stays_what_the_first_batch_chose(spark, rows, tmp_path):
    put(tmp_path / "in", rows, range(4))
    learner = nystream.NystromPKRR(nystream.Gaussian(1.5), lam=0.5, mu=2.0, seed=1)
    run(spark, tmp_path, learner, keep=2)
    assert names(tmp_path) == ["000002.nys", "000003.nys"]
    before, after = (nystream.load(tmp_path / "models" / name) for name in names(tmp_path))
    assert_allclose(before.learner_.dictionary, after.learner_.dictionary)
    assert after.n_seen == N
    assert np.mean((after.predict(rows[0]) - rows[1]) ** 2) < 0.5 * rows[1].var()


def test_a_stream_of_classes_needs_them_declared(spark, rows, tmp_path):
    put(tmp_path / "in", rows, (0,))
    model = nystream.Model(pkrr(), nystream.Schema(FEATURES, "y", "classification"))
    with pytest.raises(ValueError, match="needs to know the classes beforehand"):
        started(spark, tmp_path, model)


def test_predictions_are_those_of_the_model_by_name_in_any_order(spark, rows, whole):
    data = table(*rows, extra="e")
    frame = spark.createDataFrame(data[["y", "x2", "extra", "x0", "x1"]])
    found = nystream_spark.predict(frame, whole).toPandas()
    assert list(found.columns) == ["y", "x2", "extra", "x0", "x1", "prediction"]
    assert_allclose(found["prediction"], whole.predict(found[FEATURES]), rtol=0, atol=1e-12)
    learner = nystream_spark.predict(frame, whole.learner_, FEATURES, prediction="p").toPandas()
    assert_allclose(learner["p"], found["prediction"], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="no column 'x2'"):
        nystream_spark.predict(frame.drop("x2"), whole)
    with pytest.raises(ValueError, match="has a column 'y' already"):
        nystream_spark.predict(frame, whole, prediction="y")
    with pytest.raises(nystream.Unable, match="PKRR has no intervals"):
        nystream_spark.predict(frame, whole, interval=0.9)


def test_probabilities_are_a_map_and_nulls_have_no_prediction(spark, rows):
    labels = np.where(rows[1] > 0, "up", "down")
    model = nystream.Model(pkrr())
    model.run(table(*rows)[FEATURES], labels)
    data = table(*rows).drop(columns="y").astype(object)
    data.loc[3, "x1"] = None
    schema = ", ".join(f"{name} double" for name in FEATURES)
    frame = spark.createDataFrame(data.to_dict("records"), schema)
    found = nystream_spark.predict(frame, model, probabilities=True).toPandas()
    assert found["prediction"].isna().to_numpy().nonzero()[0].tolist() == [3]
    assert found["probabilities"][3] is None
    P = model.probabilities(rows[0][:3])
    for i in range(3):
        assert found["probabilities"][i] == pytest.approx(dict(zip(model.classes, P[i], strict=True)))


def test_intervals_have_two_ends(spark, rows):
    model = nystream.Model()
    model.run(table(*rows)[FEATURES], rows[1])
    frame = spark.createDataFrame(table(*rows))
    found = nystream_spark.predict(frame, model, interval=0.8, quantiles=[0.1, 0.5]).toPandas()
    low, high = model.predict_interval(table(*rows)[FEATURES], 0.8)
    assert_allclose(found["low"], low)
    assert_allclose(found["high"], high)
    levels = model.predict_quantile(table(*rows)[FEATURES], [0.1, 0.5])
    assert_allclose(np.array(found["quantiles"].tolist()), levels)
