"""`nystream datasets`, `dataset:NAME` as a source, and `--report`."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from nystream.cli.app import call
from nystream.datasets import DATASETS

ROOT = pathlib.Path(__file__).parents[2]
DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(autouse=True)
def nothing_here(tmp_path, monkeypatch):
    monkeypatch.delenv("NYSTREAM_DATA", raising=False)
    monkeypatch.setenv("NYSTREAM_CACHE", str(tmp_path / "cache"))


def found(path):
    if not (DATA / path).exists():
        pytest.skip(f"{DATA / path} is not there; set NYSTREAM_DATA to the folder of the datasets")


def put_weather(folder, rows):
    (folder / "weather").mkdir(parents=True)
    (folder / "weather" / "NEweather_data.csv.xz").write_text("1,2,3,4,5,6,7,8\n" * rows)
    (folder / "weather" / "NEweather_class.csv.xz").write_text("0\n" * rows)


def test_every_dataset_is_listed_with_what_is_here(tmp_path, capsys):
    put_weather(tmp_path / "data", 3)
    assert call(["datasets", "--data", str(tmp_path / "data")]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert set(DATASETS) <= set(lines)
    assert " yes " in lines["weather"]
    assert " download " in lines["ijcnn1"]
    assert " no " in lines["highway"]


def test_json_holds_everything(capsys):
    assert call(["datasets", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == set(DATASETS)
    usps = shown["usps"]
    assert (usps["rows"], usps["columns"], usps["task"]) == (9298, 256, "classification")
    assert usps["files"][0]["sha256"] == DATASETS["usps"].files[0].sha256
    assert usps["files"][0]["here"] is None


def test_one_dataset_is_told_in_detail(capsys):
    assert call(["datasets", "cpusmall"]) == 0
    said = capsys.readouterr().out
    assert "8,192" in said
    assert "features to [-1, 1] by their ranges" in said


def test_a_damaged_file_is_found_out(tmp_path, capsys):
    put_weather(tmp_path / "data", 3)
    assert call(["datasets", "weather", "--check", "--data", str(tmp_path / "data")]) == 2
    said = capsys.readouterr()
    assert "ANOTHER CHECKSUM" in said.out
    assert said.err.startswith("nystream: weather/NEweather_data.csv.xz, weather/NEweather_class.csv.xz: the content")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "dataset:weather"],
            "weather: weather/NEweather_data.csv.xz is not here (NYSTREAM_DATA is not set), and",
        ),
        (["run", "dataset:wether"], "no dataset is called 'wether'; did you mean weather?"),
        (["run", "dataset:weather", "--target", "0"], "leave out --target"),
        (["run", "dataset:weather", "--data", "/no/such/folder"], "'/no/such/folder', which is not a folder"),
        (["race", "dataset:highway"], "highway is a video"),
        (["race", "dataset:usps:tset"], "usps has no part 'tset'"),
        (["datasets", "--fetch"], "name it"),
        (["datasets", "weather", "--fetch"], "no public download of it is known"),
        (["run", "sine", "--rows", "9", "--report", "page.pdf"], "cannot tell the format of 'page.pdf'"),
        (["run", "sine", "--rows", "9", "--report", "/no/such/folder/page.html"], "no folder '/no/such/folder'"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert call(arguments) == 2
    refusal = capsys.readouterr().err.splitlines()
    assert len(refusal) == 1
    assert refusal[0].startswith("nystream: ")
    assert message in refusal[0]


def test_a_dataset_is_run(tmp_path, monkeypatch, capsys):
    found("weather/NEweather_data.csv.xz")
    found("weather/NEweather_class.csv.xz")
    monkeypatch.setenv("NYSTREAM_DATA", str(DATA))
    assert call(["run", "dataset:weather", "--rows", "300"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("weather: classification")
    assert said[-2].startswith("300 rows in ")


def test_a_race_writes_a_report(tmp_path, capsys):
    arguments = ["race", "friedman", "--rows", "500", "-l", "pkrr,auto,fogd", "--dim", "40", "--out", str(tmp_path)]
    assert call([*arguments, "--report", str(tmp_path / "race.html")]) == 0
    assert f"report: {tmp_path / 'race.html'}" in capsys.readouterr().out.replace("\n", "")
    page = (tmp_path / "race.html").read_text()
    assert (
        page.count("<svg") == 11
    )  # the errors, also as shares of the baselines, the meters, and the importance of columns
    assert "Race: friedman" in page
    assert "what auto relies on" in page
    assert "regression on 10 columns, 500 rows" in page  # its own words


def test_a_run_with_a_report_says_the_same_and_reads_more(tmp_path, capsys):
    arguments = ["run", "friedman", "--rows", "1024", "-l", "pkrr"]
    said, results = [], []
    for name, more in (("plain", []), ("full", ["--report", str(tmp_path / "run.html")])):
        assert call([*arguments, "--result", str(tmp_path / f"{name}.json"), *more]) == 0
        said.append([line.split()[:3] for line in capsys.readouterr().err.splitlines()[2:13]])
        results.append(json.loads((tmp_path / f"{name}.json").read_text())["columns"])
    assert said[0] == said[1]
    assert [line[0] for line in said[0]] == [f"{2**k:,}" for k in range(11)]
    assert results[0]["mse"] == [m for n, m in zip(results[1]["n"], results[1]["mse"], strict=True) if n & (n - 1) == 0]
    assert set(results[1]) >= {"mse@1000", "regret", "regret_bound", "size", "bytes", "rows_per_second"}
    assert "<svg" in (tmp_path / "run.html").read_text()
