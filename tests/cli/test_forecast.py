"""`nystream forecast`: files as people have them, the table, resuming, pipes, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.cli.app import call

N, H = 240, 6
START = np.datetime64("2023-03-01T00:00")
TIMES = START + np.arange(N + H) * np.timedelta64(1, "h")


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    return (1000 + 200 * np.sin(2 * np.pi * np.arange(N + H) / 24) + 20 * rng.normal(size=N + H)).round(2)


def write(path, rows, header="when,temp,load"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return str(path)


def plain(labels, n=N, known=0):
    """Rows with a label, and so many after them without."""
    found = [f"{str(t).replace('T', ' ')},{i % 7},{y}" for i, (t, y) in enumerate(zip(TIMES, labels, strict=True))]
    return found[:n] + [",".join(row.split(",")[:2]) + "," for row in found[n : n + known]]


def run(capsys, *arguments):
    """Exit code, standard output, standard error."""
    code = call(["forecast", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def written(text):
    return list(csv.DictReader(io.StringIO(text)))


def numbers(rows, name="forecast"):
    return np.array([float(row[name]) for row in rows])


@pytest.fixture(scope="module")
def expected(labels):
    f = nystream.Forecaster(H)
    f.run(labels[:N], when=TIMES[:N])
    return f


def test_the_forecast_is_that_of_python(capsys, tmp_path, labels, expected):
    file = write(tmp_path / "a.csv", plain(labels))
    code, out, err = run(capsys, file, "--target", "load", "--time", "when", "--horizon", H, "-o", "-")
    rows = written(out)
    assert code == 0
    assert_allclose(numbers(rows), expected.forecast(), rtol=1e-9)
    low, high = expected.forecast_interval(0.9)
    assert_allclose(numbers(rows, "low"), low, rtol=1e-9)
    assert_allclose(numbers(rows, "high"), high, rtol=1e-9)
    assert [row["when"] for row in rows] == [str(t).replace("T", " ") for t in TIMES[N : N + H]]
    assert "One row every hour" in err
    assert "of the seasonal naive forecast" in err


def test_the_only_column_of_times_is_found_and_the_table_has_bars(capsys, tmp_path, labels, expected):
    code, out, err = run(capsys, write(tmp_path / "a.csv", plain(labels)), "--horizon", H)
    lines = out.splitlines()
    assert code == 0
    assert "time in when" in err
    assert "forecast of load" in err  # the last column
    assert len(lines) == H + 1
    assert "90% interval" in lines[0]
    assert all(line.count("o") == 1 and "-" in line for line in lines[1:])
    assert lines[1].startswith("2023-03-11 00:00")
    assert f"{expected.forecast()[0]:,.0f}" in lines[1]


@pytest.mark.parametrize("form", ["semicolons and commas", "date and hour", "parts", "json", "day first", "no header"])
def test_files_as_people_have_them(capsys, tmp_path, labels, expected, form):
    options = ["--target", "load", "--horizon", H, "-o", "-"]
    times = [t.item() for t in TIMES[:N]]
    both = list(zip(times, labels[:N].tolist(), strict=True))
    if form == "semicolons and commas":
        rows = [f"{t:%Y-%m-%d %H:%M};{y:.2f}".replace(".", ",") for t, y in both]
        file = write(tmp_path / "a.csv", rows, "when;load")
    elif form == "date and hour":
        file = write(tmp_path / "a.csv", [f"{t:%Y-%m-%d},{t.hour},{y}" for t, y in both], "day,hour,load")
        options += ["--time", "day,hour"]
    elif form == "parts":
        rows = [f"{t.year},{t.month},{t.day},{t.hour},{y}" for t, y in both]
        file = write(tmp_path / "a.csv", rows, "year,month,day,hour,load")
        options += ["--time", "year,month,day,hour"]
    elif form == "json":
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"when": str(t), "load": y}) + "\n" for t, y in both))
        file = str(tmp_path / "a.jsonl")
    elif form == "no header":  # and marks between thousands, also in a column that is not used
        rows = [f'{t},"{1000.5 + t.hour:,}","{y:,}"' for t, y in both]
        (tmp_path / "a.csv").write_text("\n".join(rows))
        file, options = str(tmp_path / "a.csv"), ["--time", "0", "--horizon", H, "-o", "-"]
    else:
        rows = [f"{t:%d/%m/%Y %H:%M},{y}" for t, y in both]
        file = write(tmp_path / "a.csv", rows, "when,load")
        options += ["--day-first"]
    code, out, err = run(capsys, file, *options)
    assert code == 0, err
    assert_allclose(numbers(written(out)), expected.forecast(), rtol=1e-9)


def test_known_columns_are_used_ahead_and_rows_without_a_label_give_them(capsys, tmp_path, labels):
    file = write(tmp_path / "a.csv", plain(labels, known=H))
    code, out, _ = run(capsys, file, "--target", "load", "--horizon", H, "--known", "temp", "-o", "-")
    f = nystream.Forecaster(H)
    temp = [{"temp": float(i % 7)} for i in range(N + H)]
    f.run(labels[:N], temp, TIMES[:N])
    assert code == 0
    assert_allclose(numbers(written(out)), f.forecast(X=temp[N:]), rtol=1e-9)


def test_known_columns_that_nobody_gives_ahead_stay_as_they_are(capsys, tmp_path, labels):
    file = write(tmp_path / "a.csv", plain(labels, known=2))
    code, out, err = run(capsys, file, "--target", "load", "--horizon", H, "--known", "temp", "-o", "-")
    assert (code, len(written(out))) == (0, 2)
    assert "2 rows follow the last load" in err
    file = write(tmp_path / "b.csv", plain(labels))
    chart = tmp_path / "b.png"
    options = ("--target", "load", "--horizon", H, "--known", "temp", "-o", "-", "--chart", chart)
    code, out, err = run(capsys, file, *options)
    assert (code, len(written(out))) == (0, H)
    assert "temp are taken to stay as they are" in err
    assert chart.exists()
    file = write(tmp_path / "c.csv", [*plain(labels), *(f"{t!s},{(N - 1) % 7}," for t in TIMES[N:])])
    assert run(capsys, file, "--target", "load", "--horizon", H, "--known", "temp", "-o", "-")[1] == out


@pytest.mark.parametrize("known", [[], ["--known", "temp"]])
def test_a_saved_forecaster_goes_on_bit_for_bit(capsys, tmp_path, labels, known):
    rows = plain(labels, known=H)
    whole = write(tmp_path / "whole.csv", rows)
    cut = 100
    first, rest = write(tmp_path / "1.csv", rows[:cut]), write(tmp_path / "2.csv", rows[cut:])
    options = ["--target", "load", "--horizon", H, *known, "-q", "-o", "-"]
    saved = tmp_path / "f.nys"
    assert run(capsys, first, *options, "-f", saved)[0] == 0
    code, resumed, err = run(capsys, rest, "-i", saved, "-f", tmp_path / "g.nys", "-q", "-o", "-")
    assert code == 0, err
    at_once = run(capsys, whole, *options, "-f", tmp_path / "h.nys")[1]
    assert [r["when"] for r in written(resumed)] == [r["when"] for r in written(at_once)]
    if not known:  # else the last rows before the cut had no inputs ahead of them
        assert resumed == at_once
        assert (tmp_path / "g.nys").read_bytes() == (tmp_path / "h.nys").read_bytes()
    f = nystream.load(tmp_path / "g.nys")
    assert f.n_seen == N
    assert f.notes_["series"]["target"] == "load"


def test_every_writes_forecasts_on_the_way_as_run_gives_them(capsys, tmp_path, labels):
    gone = [100, 101, 150]
    kept = [i for i in range(N) if i not in gone]
    rows = plain(labels)
    file = write(tmp_path / "a.csv", [rows[i] for i in kept])
    code, out, _ = run(capsys, file, "--target", "load", "--horizon", H, "--every", 50, "-q")
    found = written(out)
    made = nystream.Forecaster(H).run(labels[kept], when=TIMES[kept])
    origins = sorted({row["made"] for row in found})
    assert code == 0
    expected = [49, 99, 149, 199]
    assert origins == [str(TIMES[i]).replace("T", " ") for i in expected]
    for i in expected:
        part = [row for row in found if row["made"] == str(TIMES[i]).replace("T", " ")]
        assert_allclose(numbers(part), made[kept.index(i)], rtol=1e-9)


def test_a_pipe_gives_what_the_file_gives(capsys, tmp_path, labels, monkeypatch):
    rows = plain(labels)
    file = write(tmp_path / "a.csv", rows)
    options = ["--target", "load", "--horizon", H, "-q", "-o", "-"]
    expected = run(capsys, file, *options)[1]
    text = (tmp_path / "a.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, err = run(capsys, "-", *options)
    assert code == 0, err
    assert out == expected


def test_without_times_missing_labels_keep_their_places(capsys, tmp_path, labels):
    y = labels[:N].copy()
    y[[50, 51, N - 1]] = np.nan
    rows = ["" if v != v else str(v) for v in y]
    file = write(tmp_path / "a.csv", [f"{row},x" for row in rows], "load,note")
    code, out, err = run(capsys, file, "--target", "load", "--horizon", H, "--season", 24, "-o", "-")
    f = nystream.Forecaster(H, season=24)
    f.run(y)
    assert code == 0, err
    assert_allclose(numbers(written(out)), f.forecast(), rtol=1e-9)
    assert [row["when"] for row in written(out)] == [str(N + k) for k in range(1, H + 1)]


def test_the_chart_is_written(capsys, tmp_path, labels):
    pytest.importorskip("matplotlib")
    file = write(tmp_path / "a.csv", plain(labels))
    code, _, err = run(capsys, file, "--target", "load", "--horizon", H, "--chart", tmp_path / "a.png")
    assert code == 0
    assert f"wrote {tmp_path / 'a.png'}" in err
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_a_bad_cell_stops_and_keeps_what_was_learnt_or_counts_as_missing(capsys, tmp_path, labels):
    rows = plain(labels)
    rows[120] = rows[120].rsplit(",", 1)[0] + ",broken"
    file = write(tmp_path / "a.csv", rows)
    options = ["--target", "load", "--horizon", H]
    code, out, err = run(capsys, file, *options, "-f", tmp_path / "f.nys")
    assert (code, out) == (2, "")
    assert "a.csv:122: column 'load' is 'broken'" in err
    assert "--on-error missing" in err
    assert nystream.load(tmp_path / "f.nys").n_seen == 120
    y = labels[:N].copy()
    y[120] = np.nan
    f = nystream.Forecaster(H)
    f.run(y, when=TIMES[:N])
    code, out, err = run(capsys, file, *options, "--on-error", "missing", "-o", "-")
    assert code == 0
    assert "1 cell does not fit" in err
    assert_allclose(numbers(written(out)), f.forecast(), rtol=1e-9)
    skipped = run(capsys, file, *options, "--on-error", "skip", "-o", "-")[1]
    assert_array_equal(numbers(written(skipped)), numbers(written(out)))  # the gap is filled as missing


REFUSALS = {
    "no horizon": ([], "--horizon is missing"),
    "no such column": (["--horizon", "6", "--target", "lode"], "has no column 'lode'; it has when, temp, load"),
    "no such time": (["--horizon", "6", "--time", "wen"], "has no column 'wen'"),
    "target known": (["--horizon", "6", "--known", "load"], "'load' is the target; it is not known ahead"),
    "bad season": (["--horizon", "6", "--season", "day"], "--season takes lengths in rows"),
    "bad interval": (["--horizon", "6", "--interval", "90"], "--interval"),
    "bad chart": (["--horizon", "6", "--chart", "a.gif"], "--chart writes .png"),
    "no times": (["--horizon", "6", "--time", "temp"], "--time temp: 0 is neither a date nor a year"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_are_one_line(capsys, tmp_path, labels, case):
    options, words = REFUSALS[case]
    code, out, err = run(capsys, write(tmp_path / "a.csv", plain(labels)), *options)
    assert (code, out) == (2, "")
    assert words in err.splitlines()[-1]
    assert "Traceback" not in err


def test_rows_that_are_not_sorted_are_refused_with_a_way_out(capsys, tmp_path, labels):
    rows = plain(labels)
    rows[30], rows[31] = rows[31], rows[30]
    code, _, err = run(capsys, write(tmp_path / "a.csv", rows), "--horizon", H, "--target", "load")
    assert code == 2
    assert "timestamps must rise" in err
    assert "--resample mean" in err


def test_a_saved_forecaster_refuses_other_columns(capsys, tmp_path, labels):
    file = write(tmp_path / "a.csv", plain(labels))
    saved = tmp_path / "f.nys"
    assert run(capsys, file, "--target", "load", "--horizon", H, "-f", saved)[0] == 0
    for options, words in (
        (["--target", "temp"], "has --target load"),
        (["--horizon", "7"], "has --horizon 6"),
        (["--season", "24"], "leave out --season"),
    ):
        code, _, err = run(capsys, file, "-i", saved, *options)
        assert code == 2
        assert words in err
    nystream.Model().save(tmp_path / "m.nys")
    code, _, err = run(capsys, file, "-i", tmp_path / "m.nys")
    assert code == 2
    assert "holds a Model, and no forecaster" in err
