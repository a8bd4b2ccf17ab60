"""One model for each key: predicted before learnt, in order, exactly once."""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd
import pytest
from spark_frames import FEATURES, examples, pkrr, table, write_file

import nystream

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark

N, KEYS, FILES = 600, 6, 4


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return table(*examples(N), key=[f"k{i}" for i in rng.integers(KEYS, size=N)], seq=np.arange(N))


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    """Files of rows in the order of the stream, within each of them in any order."""
    path = tmp_path_factory.mktemp("stream")
    for i, part in enumerate(np.array_split(np.arange(N), FILES)):
        write_file(rows.iloc[np.random.default_rng(i).permutation(part)], path, i)
    return path


def stream(spark, path, files: int = 2):
    schema = spark.read.parquet(str(path)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", files).parquet(str(path))


def written(frame, name: str, checkpoint) -> pd.DataFrame:
    """All that a stream emits until there is nothing more to read."""
    writer = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(checkpoint))
    with nystream_spark.clear_errors():
        writer.trigger(availableNow=True).start().awaitTermination()
    return frame.sparkSession.table(name).toPandas()


def alone(
    rows: pd.DataFrame, files: int = 2, skip: tuple[int, ...] = ()
) -> tuple[dict[str, nystream.Model], pd.Series]:
    """The same models and predictions in this process, with the same cuts, without rows `skip`."""
    models, predictions = {}, pd.Series(np.nan, index=rows.index)
    parts = np.array_split(np.arange(N), FILES)
    for i in range(0, FILES, files):
        batch = rows.iloc[np.concatenate(parts[i : i + files])].drop(index=list(skip), errors="ignore")
        for key, part in batch.groupby("key"):
            model = models.setdefault(key, nystream.Model(pkrr(), nystream.Schema(FEATURES, "y", "regression"), keep=0))
            predictions[part.index] = model.run(part[[*FEATURES, "y"]])
    return models, predictions


def test_models_of_keys_are_those_of_one_process_bit_for_bit_and_come_out_of_the_checkpoint(
    spark, rows, folder, tmp_path
):
    keyed = nystream_spark.per_key(stream(spark, folder), "key", pkrr(), FEATURES, "y", order_by="seq")
    found = written(keyed, "one", tmp_path / "ck").set_index("seq").sort_index()
    models, predictions = alone(rows)
    assert list(found.columns) == ["key", "y", "prediction"]
    assert len(found) == N
    assert (found["prediction"].to_numpy() == predictions.to_numpy()).all()
    kept = {row["key"]: row for row in nystream_spark.load_keys(spark, str(tmp_path / "ck")).collect()}
    assert kept.keys() == models.keys()
    for key, model in models.items():
        assert bytes(kept[key]["model"]) == model.to_bytes()
        assert kept[key]["rows"] == model.n_seen
    residuals = predictions - rows["y"]
    by_key = residuals.pow(2).groupby(rows["key"]).sum()
    for key in models:
        assert kept[key]["loss"] == pytest.approx(by_key[key], rel=1e-12)


def test_a_query_that_is_stopped_goes_on_as_if_it_had_not_been(spark, rows, folder, tmp_path):
    copy = tmp_path / "in"
    copy.mkdir()
    for half in range(2):
        for i in range(half * FILES // 2, (half + 1) * FILES // 2):
            (copy / f"{i}.parquet").write_bytes((folder / f"{i}.parquet").read_bytes())
        keyed = nystream_spark.per_key(stream(spark, copy), "key", pkrr(), FEATURES, "y", order_by="seq")
        writer = keyed.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "ck"))
        writer.trigger(availableNow=True).start().awaitTermination()
    models, _ = alone(rows)
    kept = {row["key"]: bytes(row["model"]) for row in nystream_spark.load_keys(spark, str(tmp_path / "ck")).collect()}
    assert kept == {key: model.to_bytes() for key, model in models.items()}
    before = nystream_spark.load_keys(spark, str(tmp_path / "ck"), batch=0).collect()
    assert sum(row["rows"] for row in before) == N // 2


def test_metrics_are_one_row_for_each_key_and_batch(spark, rows, folder, tmp_path):
    keyed = nystream_spark.per_key(stream(spark, folder), "key", pkrr(), FEATURES, "y", order_by="seq", emit="metrics")
    found = written(keyed, "metrics", tmp_path / "ck")
    assert len(found) == 2 * KEYS
    models, predictions = alone(rows)
    last = found.sort_values("total_rows").groupby("key").last()
    losses = (predictions - rows["y"]).pow(2).groupby(rows["key"]).mean()
    assert (last["total_rows"] == rows["key"].value_counts()[last.index]).all()
    assert np.allclose(last["total_loss"], losses[last.index], rtol=1e-12)
    assert np.allclose((found["rows"] * found["loss"]).sum(), (predictions - rows["y"]).pow(2).sum())
    assert (last["model_bytes"] == [len(models[key].to_bytes()) for key in last.index]).all()


def test_a_frame_that_does_not_stream_is_learnt_once_and_evaluated_for_each_key_and_in_all(spark, rows):
    frame = spark.createDataFrame(rows.sample(frac=1.0, random_state=0))
    keyed = nystream_spark.per_key(frame, "key", pkrr(), FEATURES, "y", order_by="seq").cache()
    figures = nystream_spark.evaluate(keyed, "y", key="key").toPandas().set_index("key")
    found = keyed.toPandas()
    model = nystream.Model(pkrr(), nystream.Schema(FEATURES, "y", "regression"))
    one = rows[rows["key"] == "k3"]
    expected = model.run(one[[*FEATURES, "y"]])
    assert (found[found["key"] == "k3"].sort_values("seq")["prediction"].to_numpy() == expected).all()
    misses = (found["prediction"] - found["y"]).abs()
    mse = misses.pow(2).groupby(found["key"]).mean()
    overall = figures[figures["overall"]].iloc[0]
    each = figures[~figures["overall"]]
    assert np.allclose(each["mse"], mse[each.index])
    assert overall["rows"] == N
    assert overall["mae"] == pytest.approx(misses.mean())
    assert overall["r2"] == pytest.approx(1 - misses.pow(2).mean() / found["y"].var(ddof=0))
    alone_ = nystream_spark.evaluate(keyed, "y").collect()[0]
    assert alone_["rmse"] == pytest.approx(overall["rmse"])


def test_ties_of_the_order_are_settled_by_the_other_columns(spark, rows):
    tied = rows.assign(seq=rows["seq"] // 50)
    found = [
        nystream_spark.per_key(
            spark.createDataFrame(tied.sample(frac=1.0, random_state=seed)),
            "key",
            pkrr(),
            FEATURES,
            "y",
            order_by="seq",
        ).toPandas()
        for seed in (0, 1)
    ]
    first, second = (part.sort_values(["key", "seq", "y"])["prediction"].to_numpy() for part in found)
    assert (first == second).all()


def test_a_key_that_has_nearly_all_rows_is_learnt_like_any_other(spark, rows):
    skewed = rows.assign(key=np.where(rows["seq"] % 20 == 7, rows["key"], "most"))
    frame = spark.createDataFrame(skewed.sample(frac=1.0, random_state=0)).repartition(5)
    found = nystream_spark.per_key(frame, "key", pkrr(), FEATURES, "y", order_by="seq").toPandas()
    assert len(found) == N
    for key, one in skewed.groupby("key"):
        model = nystream.Model(pkrr(), nystream.Schema(FEATURES, "y", "regression"), keep=0)
        expected = model.run(one[[*FEATURES, "y"]])
        assert (found[found["key"] == key].sort_values("seq")["prediction"].to_numpy() == expected).all()


def test_classes_by_name_and_rows_without_a_label(spark, rows):
    labels = np.where(rows["y"] > 0, "up", "down").astype(object)
    labels[::3] = None
    frame = spark.createDataFrame(rows.assign(label=labels))
    keyed = nystream_spark.per_key(frame, "key", None, FEATURES, "label", order_by="seq").cache()
    found = keyed.toPandas().sort_values("seq")
    assert set(found["prediction"].dropna()) <= {"up", "down"}
    assert found["prediction"].isna().sum() <= 2 * KEYS  # before the first label of a key
    figures = nystream_spark.evaluate(keyed, "label", key="key").toPandas()
    overall = figures[figures["overall"]].iloc[0]
    assert overall["rows"] == N - len(labels[::3])
    assert overall["error_rate"] == overall["errors"] / overall["rows"] < 0.5


def test_a_checkpoint_that_is_none_is_refused(spark, tmp_path):
    with pytest.raises(ValueError, match="is no checkpoint of a per_key stream"):
        nystream_spark.load_keys(spark, str(tmp_path / "nothing"))


def bad_stream(spark, rows: pd.DataFrame, folder):
    """A stream of files with whole numbers as keys, among them rows without key, order or a feature."""
    data = rows.assign(key=rows["key"].str[1:].astype("Int64"), seq=rows["seq"].astype("Int64"))
    data.loc[[5, 17, 301], "key"] = pd.NA
    data.loc[40, "seq"] = pd.NA
    data.loc[[80, 400], "x1"] = np.inf
    folder.mkdir()
    for i, part in enumerate(np.array_split(np.arange(N), FILES)):
        write_file(data.iloc[part], folder, i)
    return data, stream(spark, folder)


def test_rows_without_key_order_or_number_are_dead_letters_and_no_model_is_touched(spark, rows, tmp_path):
    data, source = bad_stream(spark, rows, tmp_path / "in")
    letters = tmp_path / "letters"
    keyed = nystream_spark.per_key(source, "key", pkrr(), FEATURES, "y", order_by="seq", on_error=str(letters))
    writer = keyed.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "ck"))
    query = writer.trigger(availableNow=True).start()
    with nystream_spark.clear_errors():
        query.awaitTermination()
    good = data.drop(index=[5, 17, 301, 40, 80, 400])
    models, _ = alone(rows, skip=(5, 17, 301, 40, 80, 400))
    kept = {row["key"]: row for row in nystream_spark.load_keys(spark, str(tmp_path / "ck")).collect()}
    assert sorted(kept) == list(range(KEYS))
    for key, model in models.items():
        assert bytes(kept[int(key[1:])]["model"]) == model.to_bytes()
    assert sum(row["refused"] for row in kept.values()) == 3
    found = [json.loads(line) for path in letters.glob("*.jsonl") for line in path.read_text().splitlines()]
    reasons = sorted(letter["reason"].split(" is null")[0] for letter in found)
    assert len(found) == 6
    assert sum("the key ('key') of a row" in reason for reason in reasons) == 3
    assert sum("column 'seq', by which rows are ordered" in reason for reason in reasons) == 1
    assert sum("'x1'" in reason for reason in reasons) == 2
    observed = [p["observedMetrics"] for p in query.recentProgress if p["observedMetrics"]]
    assert sum(figures["nystream_keys"]["without_key"] for figures in observed) == 3
    assert sum(figures["nystream"]["rows"] for figures in observed) == len(good)


def test_a_null_key_is_refused(spark, rows):
    frame = spark.createDataFrame(rows).selectExpr("*", "if(seq = 9, null, cast(seq % 3 as bigint)) as k")
    keyed = nystream_spark.per_key(frame, "k", pkrr(), FEATURES, "y", order_by="seq")
    with pytest.raises(ValueError, match=r"^the key \('k'\) of a row is null; leave"), nystream_spark.clear_errors():
        keyed.collect()
    skipped = nystream_spark.per_key(frame, "k", pkrr(), FEATURES, "y", order_by="seq", on_error="skip").toPandas()
    assert len(skipped) == N - 1
    assert sorted(set(skipped["k"])) == [0, 1, 2]


def test_a_key_without_rows_for_longer_than_its_ttl_begins_anew(spark, rows, tmp_path):
    data = rows[rows["key"].isin(["k0", "k1", "k2"])]
    copy = tmp_path / "in"
    copy.mkdir()
    first, second = data[data["key"] != "k2"], data[(data["key"] != "k1") & (data["seq"] > N // 2)]
    for i, part in enumerate((first, second)):
        write_file(part, copy, i)
        keyed = nystream_spark.per_key(
            stream(spark, copy, 1), "key", pkrr(), FEATURES, "y", order_by="seq", ttl="2 seconds"
        )
        writer = keyed.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "ck"))
        time.sleep(3.0 * i)
        with nystream_spark.clear_errors():
            writer.trigger(availableNow=True).start().awaitTermination()
    kept = {row["key"]: row for row in nystream_spark.load_keys(spark, str(tmp_path / "ck")).collect()}
    assert kept.keys() == {"k0", "k2"}
    for key, row in kept.items():
        fresh = nystream.Model(pkrr(), nystream.Schema(FEATURES, "y", "regression"), keep=0)
        fresh.run(second[second["key"] == key][[*FEATURES, "y"]])
        assert bytes(row["model"]) == fresh.to_bytes()


@pytest.mark.parametrize("ttl", ["soon", 5, "-1 day"])
def test_a_ttl_is_a_duration_and_of_streams(spark, rows, folder, ttl):
    with pytest.raises(ValueError, match="ttl must be a duration such as '30 days'"):
        nystream_spark.per_key(stream(spark, folder), "key", pkrr(), FEATURES, "y", order_by="seq", ttl=ttl)
    with pytest.raises(ValueError, match="ttl is for streaming frames"):
        nystream_spark.per_key(
            spark.createDataFrame(rows[:9]), "key", pkrr(), FEATURES, "y", order_by="seq", ttl="1 day"
        )
