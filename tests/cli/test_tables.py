"""`nystream run` and `predict` on the files that people have: booleans, dates, missing labels, other formats."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas
import pyarrow.feather
import pyarrow.parquet
import pytest

import nystream
from nystream.cli.app import call

N = 150


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    temp, is_open = rng.normal(10, 5, N).round(2), rng.random(N) < 0.5
    load = (3 * temp + 10 * is_open + rng.normal(size=N)).round(3)
    return pandas.DataFrame(
        {
            "when": pandas.date_range("2024-01-01", periods=N, freq="h").astype(str),
            "city": np.where(np.arange(N) % 2, "Oslo", "Bonn"),
            "open": is_open,
            "temp": temp,
            "load": load,
            "busy": np.where(load > 40, "yes", "no"),
        }
    )


def told(path):
    return path.read_text().split()


def written(frame, path):
    """The frame as a file of the form that its ending names."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t", decimal=",")
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame), path)
    else:
        pyarrow.feather.write_feather(frame, path)
    return str(path)


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "feather"])
def test_every_form_of_a_table_gives_the_same_predictions(tmp_path, frame, form):
    path = written(frame, tmp_path / f"a.{form}")
    arguments = ["run", path, "-y", "load", "--drop", "when,city,busy", "-q", "-p", str(tmp_path / "p")]
    assert call(arguments) == 0
    expected = nystream.Auto().run(frame[["open", "temp"]].to_numpy(float), frame["load"])
    np.testing.assert_allclose(np.loadtxt(tmp_path / "p"), expected, rtol=1e-8, atol=1e-9)


def test_columns_can_be_chosen_and_kinds_said(tmp_path, frame, capsys):
    path = written(frame.assign(zip=12345), tmp_path / "a.csv")
    assert call(["run", path, "-y", "load", "--columns", "temp,open", "-q", "-f", str(tmp_path / "m")]) == 0
    assert nystream.load(tmp_path / "m").schema_.names == ["temp", "open"]
    chosen = ["--columns", "temp,zip", "--kind", "zip=category"]
    for learner in ("pkrr", "fogd", "gaussian-filter"):
        assert call(["run", path, "-y", "load", *chosen, "-l", learner, "-q", "-f", str(tmp_path / "m")]) == 0
        assert nystream.load(tmp_path / "m").schema_.columns["zip"] == "category"
        assert call(["run", path, "-y", "busy", "-q", "-l", learner]) == 0
    assert call(["race", path, "-y", "load", "-l", "auto,pkrr", "--out", str(tmp_path / "race")]) == 0
    assert call(["run", path, "-y", "load", "-q", "-f", str(tmp_path / "all")]) == 0
    assert nystream.load(tmp_path / "all").schema_.columns["when"] == "time"


def test_rows_without_a_label_are_predicted_and_counted(tmp_path, frame, capsys):
    frame.loc[::5, "load"] = np.nan
    path = written(frame[["temp", "open", "load"]], tmp_path / "a.csv")
    assert call(["run", path, "-p", str(tmp_path / "p")]) == 0
    assert "30 rows without a label were predicted and not learnt" in capsys.readouterr().err
    predictions = np.loadtxt(tmp_path / "p")
    assert len(predictions) == N
    there = frame["load"].notna().to_numpy()
    alone = nystream.Auto().run(frame[["temp", "open"]].to_numpy(float)[there], frame["load"][there])
    np.testing.assert_allclose(predictions[there], alone, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("null", ["", "NA", "#N/A", "<NA>", "None", "?"])
def test_absent_labels_may_be_written_in_many_ways(tmp_path, null):
    rows = [f"{i % 7},{i % 5},{null if i % 3 == 0 else ('up' if i % 2 else 'down')}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *rows]))
    assert call(["run", str(tmp_path / "a.csv"), "-q", "-f", str(tmp_path / "m")]) == 0
    model = nystream.load(tmp_path / "m")
    assert (model.n_seen, model.n_unlabelled, set(model.classes)) == (40, 20, {"up", "down"})


@pytest.mark.parametrize("form", ["lines", "array"])
def test_the_first_row_of_json_may_lack_the_target(tmp_path, capsys, form):
    rows = [{"a": i % 7, **({"y": i / 7} if i else {})} for i in range(60)]
    text = json.dumps(rows) if form == "array" else "\n".join(map(json.dumps, rows))
    (tmp_path / "a.json").write_text(text)
    assert call(["run", str(tmp_path / "a.json"), "--target", "y", "-f", str(tmp_path / "m")]) == 0
    assert "1 row without a label was predicted and not learnt" in capsys.readouterr().err
    model = nystream.load(tmp_path / "m")
    assert (model.n_seen, model.target, model.schema_.names) == (59, "y", ["a"])
    assert call(["run", str(tmp_path / "a.json"), "--target", "z"]) == 2
    assert "a.json has no column 'z'; it has a, y" in capsys.readouterr().err


def test_a_target_of_numbers_with_units_is_refused(tmp_path, capsys):
    rows = [f"{i % 7},{i / 7:.2f} kWh" for i in range(200)]
    path = str(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("\n".join(["a,y", *rows]))
    for command in (["run", path], ["race", path, "-l", "pkrr", "--out", str(tmp_path)]):
        assert call(command) == 2
        assert (
            "are different names (0.00 kWh, 0.14 kWh, 0.29 kWh, ...): these are no classes" in capsys.readouterr().err
        )
    assert call(["run", path, "-q", "-l", "pkrr", "--task", "classification"]) == 0


@pytest.mark.parametrize("names", [("-", "+"), ("none", "severe"), ("unknown", "known")])
def test_words_that_are_missing_numbers_are_names_among_names(tmp_path, capsys, names):
    rows = [f"{i % 7},{names[i % 5 > 2]},{names[i % 7 > 3]}" for i in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *rows]))
    assert call(["run", str(tmp_path / "a.csv"), "-f", str(tmp_path / "m")]) == 0
    said = capsys.readouterr().err
    assert re.search(rf"^b +category +{re.escape(names[0])}\n", said, re.MULTILINE), said
    assert f"the labels are names ({names[0]}, {names[1]})" in said
    model = nystream.load(tmp_path / "m")
    assert (model.n_seen, model.n_unlabelled, set(model.classes)) == (60, 0, set(names))


def test_several_targets_are_learnt_together(tmp_path, frame):
    path = written(frame[["temp", "open", "load"]].assign(half=frame["load"] / 2), tmp_path / "a.csv")
    assert (
        call(["run", path, "-y", "load", "-y", "half", "-q", "-p", str(tmp_path / "p"), "-f", str(tmp_path / "m")]) == 0
    )
    P = np.loadtxt(tmp_path / "p", delimiter=",")
    assert P.shape == (N, 2)
    np.testing.assert_allclose(P[N // 2 :, 1], P[N // 2 :, 0] / 2, rtol=0.2, atol=2.0)
    assert nystream.load(tmp_path / "m").target == ["load", "half"]
    assert call(["predict", path, "-i", str(tmp_path / "m"), "-o", str(tmp_path / "o.csv")]) == 0
    assert list(pandas.read_csv(tmp_path / "o.csv").columns) == ["prediction_load", "prediction_half"]


def test_predictions_are_delayed_tested_and_resumed_on_tables(tmp_path, frame):
    path = written(frame[["temp", "open", "busy"]], tmp_path / "a.csv")
    assert call(["run", path, "-q", "--delay", "3", "-m", "accuracy", "-m", "logloss", "-f", str(tmp_path / "m")]) == 0
    before = (tmp_path / "m").read_bytes()
    assert call(["run", path, "-q", "-t", "-i", str(tmp_path / "m"), "-p", str(tmp_path / "p")]) == 0
    assert (tmp_path / "m").read_bytes() == before
    model = nystream.load(tmp_path / "m")
    assert told(tmp_path / "p") == model.predict(frame[["open", "temp"]]).tolist()


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("load", "temp", "the model predicts 'load', not 'temp'; name its own target, or begin a new model"),
        ("busy", "load", "the model predicts 'busy', not 'load'"),
    ],
)
def test_a_target_of_another_name_is_refused(tmp_path, frame, capsys, first, second, message):
    path = written(frame, tmp_path / "a.csv")
    columns = ["--columns", "open"]
    assert call(["run", path, "-y", first, *columns, "-q", "-f", str(tmp_path / "m")]) == 0
    assert call(["run", path, "-y", second, "-q", "-i", str(tmp_path / "m")]) == 2
    assert message in capsys.readouterr().err


def test_a_target_of_another_kind_is_refused(tmp_path, frame, capsys):
    path = written(frame[["temp", "open", "busy"]], tmp_path / "a.csv")
    assert call(["run", path, "-q", "-f", str(tmp_path / "m")]) == 0
    other = written(frame[["temp", "open"]].assign(busy=frame["load"]), tmp_path / "b.csv")
    assert call(["run", other, "-q", "-i", str(tmp_path / "m")]) == 2
    assert "are numbers, the classes of the model are names" in capsys.readouterr().err


def test_the_file_of_a_resumed_run_has_the_target_without_being_asked(tmp_path, frame):
    path = written(frame[["load", "temp", "open"]], tmp_path / "a.csv")
    assert call(["run", path, "-y", "load", "-q", "-f", str(tmp_path / "m")]) == 0
    assert call(["run", path, "-q", "-i", str(tmp_path / "m"), "-f", str(tmp_path / "m")]) == 0
    assert nystream.load(tmp_path / "m").n_seen == 2 * N


def test_predict_needs_no_target_and_finds_columns_by_name(tmp_path, frame):
    path = written(frame[["temp", "open", "load"]], tmp_path / "a.csv")
    assert call(["run", path, "-q", "-f", str(tmp_path / "m")]) == 0
    new = written(frame[["city", "open", "temp"]], tmp_path / "new.csv")
    arguments = ["predict", new, "-i", str(tmp_path / "m"), "--interval", "0.8", "--keep", "city"]
    assert call([*arguments, "-o", str(tmp_path / "o.csv")]) == 0
    found = pandas.read_csv(tmp_path / "o.csv")
    assert list(found.columns) == ["city", "prediction", "prediction_low", "prediction_high"]
    model = nystream.load(tmp_path / "m")
    np.testing.assert_allclose(found["prediction"], model.predict(frame[["open", "temp"]]), rtol=1e-8)
    low, high = model.predict_interval(frame[["open", "temp"]], 0.8)
    np.testing.assert_allclose(found[["prediction_low", "prediction_high"]], np.column_stack([low, high]), rtol=1e-8)
    assert (found["city"] == frame["city"]).all()
    levels = ["--quantile", "0.25,.5", "--quantile", "0.9"]
    assert call([*arguments[:4], *levels, "-o", str(tmp_path / "q.csv")]) == 0
    quantiles = pandas.read_csv(tmp_path / "q.csv")
    assert list(quantiles.columns) == ["prediction", "prediction_q0.25", "prediction_q0.5", "prediction_q0.9"]
    wanted = model.predict_quantile(frame[["open", "temp"]], [0.25, 0.5, 0.9])
    np.testing.assert_allclose(quantiles.iloc[:, 1:], wanted, rtol=1e-8)
    for ending in ("jsonl", "parquet"):
        out = tmp_path / f"o.{ending}"
        assert call([*arguments, "-o", str(out), "--block", "40"]) == 0
        read = pandas.read_parquet(out) if ending == "parquet" else pandas.read_json(out, lines=True)
        np.testing.assert_allclose(read["prediction"], found["prediction"], rtol=1e-8)
        assert list(read.columns) == list(found.columns)


def test_predict_tells_probabilities_of_classes(tmp_path, frame, capsys):
    path = written(frame[["temp", "open", "busy"]], tmp_path / "a.csv")
    assert call(["run", path, "-q", "-f", str(tmp_path / "m")]) == 0
    assert call(["predict", path, "-i", str(tmp_path / "m"), "--probabilities", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == N
    for row in rows:
        assert row["probability_yes"] + row["probability_no"] == pytest.approx(1.0)
        assert row["prediction"] == ("yes" if row["probability_yes"] > 0.5 else "no")


@pytest.mark.parametrize(
    ("learner", "arguments", "message"),
    [
        (None, ["--probabilities"], "--probabilities are of classes, and the model predicts numbers"),
        (None, ["--interval", "1.5"], "--interval must be a number greater than 0 and less than 1"),
        ("fogd", ["--interval", "0.9"], "has no intervals"),
        (None, ["--quantile", "0.1,1.5"], "--quantile must be numbers between 0 and 1, as in 0.1,0.5,0.9; got 0.1,1.5"),
        ("fogd", ["--quantile", "0.9"], "has no quantiles"),
        (None, ["--keep", "nothing"], "a.csv has no column 'nothing' to keep"),
        (None, ["--format", "xls"], "--format must be one of 'csv', 'jsonl', 'parquet'"),
        (None, ["--format", "parquet"], "Parquet is written to a file"),
        (None, ["-o", "absent/o.csv"], "absent: No such folder"),
        (None, ["--on-error", "cry"], "--on-error must be one of 'stop', 'missing', 'skip'"),
    ],
)
def test_what_cannot_be_predicted_is_one_line(tmp_path, frame, capsys, learner, arguments, message):
    path = written(frame[["temp", "open", "load"]], tmp_path / "a.csv")
    assert call(["run", path, "-q", "-f", str(tmp_path / "m"), *(["-l", learner] if learner else [])]) == 0
    assert call(["predict", path, "-i", str(tmp_path / "m"), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_values_that_do_not_fit_are_missing_on_request(tmp_path, frame, capsys):
    frame = frame[["temp", "open", "load"]].astype({"temp": object})
    frame.loc[100, "temp"] = "broken"
    path = written(frame, tmp_path / "a.csv")
    assert call(["run", path, "-q"]) == 2
    assert "a.csv:102: column 'temp' is 'broken', which is no finite number" in capsys.readouterr().err
    assert call(["run", path, "--on-error", "missing", "-f", str(tmp_path / "m")]) == 0
    assert "1 cell does not fit its column and counts as missing; the first: a.csv:102" in capsys.readouterr().err
    assert call(["predict", path, "-i", str(tmp_path / "m"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "a.csv:102: column 'temp' is 'broken'" in capsys.readouterr().err
    arguments = ["predict", path, "-i", str(tmp_path / "m"), "--on-error", "missing", "-o", str(tmp_path / "o.csv")]
    assert call(arguments) == 0
    assert len(pandas.read_csv(tmp_path / "o.csv")) == N


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1, "y": 2}\nnot json\n', "a.jsonl:2: is not JSON"),
        ('{"a": 1, "y": 2}\n[1]\n', "a.jsonl:2: is a JSON list; every row must be an object"),
        ("", "a.jsonl is empty"),
        ('{"a": {"b": 1}, "y": 2}\n', "column 'a' holds lists or dicts"),
    ],
)
def test_bad_json_is_one_line(tmp_path, capsys, content, message):
    (tmp_path / "a.jsonl").write_text(content)
    assert call(["run", str(tmp_path / "a.jsonl")]) == 2
    assert message in capsys.readouterr().err
