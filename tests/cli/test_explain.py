"""`nystream explain` and the reasons of `nystream predict`: what they print is what the model says."""

from __future__ import annotations

import json

import numpy as np
import pandas
import pyarrow.parquet
import pytest

import nystream
from nystream.cli.app import call

N = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file with dates, words and booleans, and two models of it."""
    path = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(0)
    temp, is_open = rng.normal(10, 5, N).round(2), rng.random(N) < 0.5
    load = (3 * temp + 20 * is_open + rng.normal(size=N)).round(3)
    frame = pandas.DataFrame(
        {
            "when": pandas.date_range("2024-01-01", periods=N, freq="h").astype(str),
            "city": np.where(np.arange(N) % 2, "Oslo", "Bonn"),
            "open": is_open,
            "temp": temp,
            "load": load,
        }
    )
    frame.to_csv(path / "a.csv", index=False)
    frame.drop(columns="load").assign(busy=np.where(load > 40, "yes", "no")).to_csv(path / "b.csv", index=False)
    assert call(["run", str(path / "a.csv"), "-q", "-f", str(path / "m.nys"), "--report", str(path / "a.html")]) == 0
    assert call(["run", str(path / "b.csv"), "-q", "-f", str(path / "c.nys")]) == 0
    return path


def said(capsys, *arguments):
    assert call(["explain", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_model_says_what_it_depends_on(folder, capsys):
    before = (folder / "m.nys").read_bytes()
    model = nystream.load(folder / "m.nys")
    out = said(capsys, "-i", folder / "m.nys")
    assert out == f"{model.explain()}\n\n{model.importance()}\n"
    assert out.startswith("mostly temp (")
    assert said(capsys, "-i", folder / "m.nys", "--importance") == f"{model.importance()}\n"
    told = json.loads(said(capsys, "-i", folder / "m.nys", "--json"))
    assert told["explanation"] == model.explain()
    assert {c["column"]: c["share"] for c in told["columns"]} == pytest.approx(dict(model.importance()))
    assert (folder / "m.nys").read_bytes() == before


def test_the_rows_of_a_file_have_reasons(folder, capsys):
    model, frame = nystream.load(folder / "m.nys"), pandas.read_csv(folder / "a.csv")
    out = said(capsys, folder / "a.csv", "-i", folder / "m.nys", "--rows", "3", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["row"] for line in lines] == [0, 1, 2]
    for line, expected in zip(lines, model.predict(frame[:3]), strict=True):
        assert line["prediction"] == pytest.approx(expected)
        assert line["base"] + sum(line["reasons"].values()) == pytest.approx(expected)
    out = said(capsys, folder / "a.csv", "-i", folder / "m.nys")
    assert out.count("row ") == 5
    out = said(capsys, folder / "b.csv", "-i", folder / "c.nys", "--of", "yes", "--rows", "2")
    assert out.count(" of yes, ") == 2


def test_importance_is_measured_on_the_rows_of_a_file_with_labels(folder, capsys):
    model, frame = nystream.load(folder / "m.nys"), pandas.read_csv(folder / "a.csv")
    out = said(capsys, folder / "a.csv", "-i", folder / "m.nys", "--importance", "--rows", "100")
    assert out == f"{model.importance(frame[:100], frame['load'][:100])}\n"


def test_charts_are_written(folder, tmp_path, capsys):
    said(capsys, "-i", folder / "m.nys", "--chart", tmp_path / "bars.svg")
    assert said(capsys, "-i", folder / "m.nys", "--column", "temp", "--chart", tmp_path / "temp.png") == ""
    assert (tmp_path / "bars.svg").read_text().startswith("<?xml")
    assert (tmp_path / "temp.png").read_bytes().startswith(b"\x89PNG")
    assert "importance of columns to" in (folder / "a.html").read_text()


def test_predictions_come_with_reasons_in_every_form(folder, tmp_path):
    model, frame = nystream.load(folder / "m.nys"), pandas.read_csv(folder / "a.csv")
    for form in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"o.{form}"
        arguments = [
            str(folder / "a.csv"),
            "-i",
            str(folder / "m.nys"),
            "-o",
            str(out),
            "--rows",
            "4",
            "--reasons",
            "2",
        ]
        assert call(["predict", *arguments]) == 0
    largest = [list(model.explain_row(frame[i : i + 1]).items())[:2] for i in range(4)]
    lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [line["reasons"] for line in lines] == [pytest.approx(dict(pairs)) for pairs in largest]
    texts = [", ".join(f"{name} {part:+.4g}" for name, part in pairs) for pairs in largest]
    assert pandas.read_csv(tmp_path / "o.csv")["reasons"].tolist() == texts
    assert pyarrow.parquet.read_table(tmp_path / "o.parquet")["reasons"].to_pylist() == texts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "temp"], "--column is drawn: name a file for it with --chart"),
        (["--chart", "a.txt"], "cannot tell the format of 'a.txt'; end it with .svg or .png or .pdf"),
        (["--chart", "a.svg", "--column", "height"], "there is no column 'height'; there are when, city, open, temp"),
    ],
)
def test_bad_questions_are_refused_in_one_line(folder, capsys, arguments, message):
    assert call(["explain", "-i", str(folder / "m.nys"), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_model_that_kept_nothing_is_refused_in_one_line(folder, tmp_path, capsys):
    frame = pandas.read_csv(folder / "a.csv")[["temp", "open", "load"]]
    model = nystream.Model(nystream.PKRR(nystream.Fourier(nystream.Gaussian(9.0), 30, seed=0)), keep=0)
    model.run(frame, "load")
    model.save(tmp_path / "m.nys")
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert call(["explain", "-i", str(tmp_path / "m.nys")]) == 2
    assert "kept none of the rows it has learnt" in capsys.readouterr().err
    assert call(["predict", str(tmp_path / "a.csv"), "-i", str(tmp_path / "m.nys"), "--reasons", "2"]) == 2
    assert "--reasons: the model has kept none" in capsys.readouterr().err
    assert call(["explain", str(tmp_path / "a.csv"), "-i", str(tmp_path / "m.nys"), "--importance"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("temp")


def test_importance_is_read_along_the_stream_on_request(folder, tmp_path):
    out = tmp_path / "r.csv"
    arguments = ["run", str(folder / "a.csv"), "-q", "-m", "mse", "-m", "importance", "--rows", "60"]
    assert call([*arguments, "--result", str(out)]) == 0
    assert "importance[temp]" in pandas.read_csv(out).columns
    page = tmp_path / "a.html"
    assert call([*arguments, "--report", str(page)]) == 0
    assert "what the predictions of" in page.read_text()
