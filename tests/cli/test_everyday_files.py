"""Files as people have them: how numbers and dates are written, headers, archives, and what is said of each."""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import json
import lzma
import random
import re
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import nystream
from nystream.cli.app import call

N = 60
RESULT = re.compile(r"\d+ rows? in ")
START = datetime.datetime(2023, 1, 1)


@pytest.fixture(scope="module")
def data():
    """Times, inputs and targets, rounded as all files have them."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 800, N).round(2)
    when = [START + datetime.timedelta(days=3 * i) for i in range(N)]
    return when, x.tolist(), (3000 + 2 * x + rng.normal(0, 50, N)).round(2).tolist()


def write(path, rows, header=("when", "x", "y"), mark=","):
    """Rows of texts, in quotes where they have the mark; the path as text."""
    lines = [mark.join(header)] if header else []
    lines += [mark.join(f'"{cell}"' if mark in cell else cell for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def plain(data):
    return [[t.date().isoformat(), repr(a), repr(b)] for t, a, b in zip(*data, strict=True)]


def run(capsys, *arguments):
    """Exit code and what was said."""
    code = call(["run", *arguments])
    said = capsys.readouterr()
    assert said.out == ""
    return code, said.err


def run_quietly(capsys, *arguments):
    """The same with -q, without the line of the result."""
    code, said = run(capsys, *arguments, "-q")
    return code, "".join(line for line in said.splitlines(keepends=True) if not RESULT.match(line))


def predictions(path):
    return np.loadtxt(path)


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    """What a plain file gives."""
    folder = tmp_path_factory.mktemp("plain")
    assert call(["run", write(folder / "a.csv", plain(data)), "-q", "-p", str(folder / "p")]) == 0
    return predictions(folder / "p")


def us(v):
    return f"{v:,.2f}"


def german(v):
    return us(v).translate(str.maketrans(",.", ".,"))


NUMBERS = {
    "thousands": (us, ",", "is read as"),
    "dollars": (lambda v: f"-${-v:,.2f}" if v < 0 else f"${v:,.2f}", ",", "$"),
    "accounting": (lambda v: f"({us(-v)})" if v < 0 else us(v), ",", "is read as"),
    "accounting dollars": (lambda v: f"(${us(-v)})" if v < 0 else f"${us(v)}", ",", "is read as"),
    "percent": (lambda v: f"{100 * v:.0f}%", ",", "%"),
    "unicode minus": (lambda v: f"{v}".replace("-", "\u2212"), ",", "\u2212"),
    "german, semicolons": (german, ";", "is read as"),
    "german, euros": (lambda v: f"{german(v)} \u20ac", ";", "\u20ac"),
    "german, quoted": (german, ",", "is read as"),
    "german, tabs": (german, "\t", "is read as"),
    "french": (lambda v: us(v).replace(",", " ").replace(".", ","), ";", "is read as"),
    "no-break spaces": (lambda v: us(v).replace(",", "\u00a0").replace(".", ","), ";", "is read as"),
    "narrow spaces": (lambda v: us(v).replace(",", "\u202f"), ",", "is read as"),
    "swiss": (lambda v: us(v).replace(",", "'"), ",", "is read as"),
    "currency names": (lambda v: f"CHF {us(v)}", ",", "CHF"),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_may_be_written_in_many_ways(tmp_path, capsys, data, expected, form):
    written, mark, told = NUMBERS[form]
    rows = [[t.date().isoformat(), written(a), written(b)] for t, a, b in zip(*data, strict=True)]
    path = write(tmp_path / "a.csv", rows, mark=mark)
    code, said = run(capsys, path, "-p", str(tmp_path / "p"), "-f", str(tmp_path / "m"))
    assert code == 0
    assert "regression" in said
    assert told in said
    assert nystream.load(tmp_path / "m").schema_.columns == {"when": "time", "x": "number"}
    np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-6, atol=1e-6)
    # the same file is predicted, and learnt from again
    assert call(["predict", path, "-i", str(tmp_path / "m"), "-o", str(tmp_path / "o.csv")]) == 0
    assert call(["run", path, "-q", "-i", str(tmp_path / "m"), "-f", str(tmp_path / "m")]) == 0
    assert nystream.load(tmp_path / "m").n_seen == 2 * N


DATES = {
    "long": ("%d %B %Y", "01 January 2023 is read as 2023-01-01"),
    "short": ("%d-%b-%y", "01-Jan-23 is read as 2023-01-01"),
    "american words": ("%B %d, %Y", "January 01, 2023 is read as 2023-01-01"),
    "slashes, month first": ("%m/%d/%Y", "01/04/2023 is read as 2023-01-04"),
    "slashes, day first": ("%d/%m/%Y", "04/01/2023 is read as 2023-01-04"),
    "two digits": ("%m/%d/%y", "01/04/23 is read as 2023-01-04"),
    "points": ("%d.%m.%Y", "01.01.2023 is read as 2023-01-01"),
    "twelve hours": ("%m/%d/%Y %I:%M %p", "01/04/2023 12:00 AM is read as 2023-01-04"),
    "zones": ("%Y-%m-%dT02:00:00+02:00", "when    time"),
    "zulu": ("%Y-%m-%dT%H:%M:%SZ", "when    time"),
    "mail": ("%a, %d %b %Y %H:%M:%S GMT", "is read as 2023-01-01"),
    "digits": ("%Y%m%d", "20230101 is read as 2023-01-01"),
}


@pytest.mark.parametrize("form", DATES)
def test_dates_may_be_written_in_many_ways(tmp_path, capsys, data, expected, form):
    pattern, told = DATES[form]
    rows = [[t.strftime(pattern), repr(a), repr(b)] for t, a, b in zip(*data, strict=True)]
    if form == "digits":  # nothing but the name says that these are days
        header, chosen = ("date", "x", "y"), "date"
    else:
        header, chosen = ("when", "x", "y"), "when"
    path = write(tmp_path / "a.csv", rows, header)
    code, said = run(capsys, path, "-p", str(tmp_path / "p"), "-f", str(tmp_path / "m"))
    assert code == 0
    assert told in said
    assert nystream.load(tmp_path / "m").schema_.columns[chosen] == "time"
    np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize(("header", "options"), [("timestamp", []), ("stand", ["--kind", "stand=time"])])
def test_seconds_since_1970_are_times_where_the_name_or_the_user_says_so(
    tmp_path, capsys, data, expected, scale, header, options
):
    seconds = [int(t.replace(tzinfo=datetime.UTC).timestamp()) * scale for t in data[0]]
    rows = [[str(s), repr(a), repr(b)] for s, a, b in zip(seconds, *data[1:], strict=True)]
    path = write(tmp_path / "a.csv", rows, (header, "x", "y"))
    code, said = run(capsys, path, *options, "-p", str(tmp_path / "p"))
    assert code == 0
    assert f"{seconds[0]} is read as 2023-01-01" in said
    np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-6, atol=1e-6)
    code, said = run(capsys, write(tmp_path / "b.csv", rows, ("account", "x", "y")))
    assert code == 0
    assert "account  number" in said


def test_several_ways_in_one_column_are_read_each_by_itself(tmp_path, capsys, data, expected):
    dates = ["%Y-%m-%d", "%d %B %Y", "%b %d, %Y", "%d.%m.%Y", "%Y/%m/%d"]
    numbers = [repr, us, german, lambda v: f"${us(v)}" if v >= 0 else f"(${us(-v)})"]
    rows = [
        [t.strftime(dates[i % 5]), numbers[i % 4](a), numbers[i % 3](b)]
        for i, (t, a, b) in enumerate(zip(*data, strict=True))
    ]
    code, _ = run(capsys, write(tmp_path / "a.csv", rows, mark=";"), "-p", str(tmp_path / "p"))
    assert code == 0
    np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-6, atol=1e-6)


def test_an_open_order_of_day_and_month_is_told_and_can_be_said(tmp_path, capsys):
    rows = [[f"{1 + i % 12:02}/{1 + i * 5 % 12:02}/23", str(i % 7), str(i / 8)] for i in range(N)]
    path = write(tmp_path / "a.csv", rows)
    code, said = run(capsys, path)
    assert code == 0
    assert "02/06/23 is read as 2023-02-06 (month first is assumed: no date decides; --day-first reads them" in said
    code, said = run(capsys, path, "--day-first", "-f", str(tmp_path / "m"))
    assert code == 0
    assert "02/06/23 is read as 2023-06-02 (day first, as --day-first says)" in said
    columns = nystream.load(tmp_path / "m").schema_.columns_of([{"when": "02/06/23", "x": 1.0}])[0]
    assert columns["when"][0] == np.datetime64("2023-06-02")


def test_dates_in_two_orders_are_told(tmp_path, capsys):
    rows = [[f"{13 + i % 9}/04/2023" if i % 2 else f"04/{13 + i % 9}/2023", str(i / 8)] for i in range(N)]
    code, said = run(capsys, write(tmp_path / "a.csv", rows, ("when", "y")))
    assert code == 0
    assert "dates in two orders, such as 14/04/2023 and 04/13/2023; with --kind when=time" in said


def test_a_date_of_zeros_is_missing(tmp_path, capsys, data):
    rows = [["0000-00-00", *row[1:]] if i % 7 == 3 else row for i, row in enumerate(plain(data))]
    code, said = run(capsys, write(tmp_path / "a.csv", rows), "-f", str(tmp_path / "m"))
    assert code == 0
    assert "15% missing" in said
    assert nystream.load(tmp_path / "m").schema_.columns["when"] == "time"


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([f"2023-01-{1 + i % 28:02}" for i in range(28)], [], "the labels are dates or times (2023-01-01"),
        ([f"K{i}" for i in range(50)], [], "50 of the first 50 labels are different names"),
        ([""] * 30, [], "has a label in the target column 'y', which would tell the task: choose another column"),
        (["low", "high"] * 20, ["--task", "regression"], "are not all finite numbers (low, high)"),
        (["1.5", "inf"] * 20, [], "are not all finite numbers (inf): correct them"),
    ],
)
def test_labels_that_no_task_fits_are_refused(tmp_path, capsys, labels, options, message):
    rows = [[str(i % 7), label] for i, label in enumerate(labels)]
    code, said = run(capsys, write(tmp_path / "a.csv", rows, ("x", "y")), *options)
    assert code == 2
    assert message in said


def test_classes_that_a_saved_model_did_not_know_are_named(tmp_path, capsys):
    path = write(tmp_path / "a.csv", [[str(i % 5), "no" if i % 5 < 2 else "yes"] for i in range(N)], ("x", "y"))
    code, said = run(capsys, path, "-f", str(tmp_path / "m"))
    assert (code, "new class" in said) == (0, False)
    path = write(tmp_path / "b.csv", [["1", "NO"], ["2", "yes"], ["3", "maybe"]], ("x", "y"))
    code, said = run(capsys, path, "-i", str(tmp_path / "m"))
    assert code == 0
    assert "new classes: NO, maybe; the model knew no, yes" in said.splitlines()


def test_the_kind_of_the_target_decides_the_task(tmp_path, capsys):
    rows = [[str(i % 7), f"{10.5 if i % 2 else 20.5}"] for i in range(N)]
    code, said = run(capsys, write(tmp_path / "a.csv", rows, ("x", "y")), "--kind", "y=category")
    assert code == 0
    assert "task: classification, because --kind says that the target is no number" in said


def test_a_place_beyond_the_columns_may_be_a_name_in_the_first_line(tmp_path, capsys):
    path = write(tmp_path / "a.csv", [[str(i % 7), str(i / 8)] for i in range(N)], ("2019", "2020"))
    code, said = run(capsys, path, "-y", "2020")
    assert code == 2
    assert (
        "has no column 2020: it has 2 columns, 0 to 1; if its first line has the names of the columns, say --header"
        in said
    )
    assert run(capsys, path, "-y", "2020", "--header")[0] == 0


def test_a_target_with_thousands_marks_is_a_number(tmp_path, capsys):
    rows = [[str(i % 7), f"{1000.3 + i * i:,.1f}"] for i in range(N)]
    code, said = run(capsys, write(tmp_path / "a.csv", rows, ("x", "y")), "-f", str(tmp_path / "m"))
    assert code == 0
    assert "1,000.3 is read as 1000.3" in said
    model = nystream.load(tmp_path / "m")
    assert (model.task, model.classes) == ("regression", [])


def test_ids_are_listed_and_not_learnt_unless_asked_for(tmp_path, capsys):
    rows = [[f"K{i * 7919 % 100003:05}X", f"word{i % 3}", str(i % 7), str(i % 7 / 2 + 0.1)] for i in range(150)]
    path = write(tmp_path / "a.csv", rows, ("code", "group", "x", "y"))
    code, said = run(capsys, path, "-f", str(tmp_path / "m"))
    assert code == 0
    assert "code    id        K00000X      an id: all values differ, so it is not learnt" in said
    assert "to read a column in another way: --kind NAME=number|boolean|category|time|text|ignored" in said
    model = nystream.load(tmp_path / "m")
    assert model.schema_.names == ["group", "x"]
    assert model.schema_.ids == ["code"]
    assert "code" in str(model.schema_)
    assert "not learnt, because all values differ: code" in model.explain()
    code, said = run(capsys, path, "--kind", "code=category", "-f", str(tmp_path / "m"))
    assert code == 0
    assert "code    category" in said
    assert nystream.load(tmp_path / "m").schema_.names == ["code", "group", "x"]
    rows_in_memory = [dict(zip(("code", "group", "x"), row, strict=False)) for row in rows]
    model = nystream.Model()
    model.run(rows_in_memory, [float(row[3]) for row in rows])
    assert model.schema_.names == ["group", "x"]


def test_the_first_cells_that_do_not_fit_a_kind_are_named(tmp_path, capsys, data):
    rows = plain(data)
    rows[3][1], rows[5][1], rows[9][1], rows[11][1] = "low", "high", "low", "n.a."
    path = write(tmp_path / "a.csv", rows)
    code, said = run(capsys, path, "-q", "--kind", "x=number")
    assert code == 2
    assert said.startswith(
        "nystream: a.csv:5: column 'x' is 'low', which is no finite number (nor is 'high' at a.csv:7, "
    )
    assert "'low' at a.csv:11, and 1 more)" in said
    assert len(said.splitlines()) == 1
    code, said = run(capsys, path, "-q", "--kind", "x=number", "--on-error", "missing")
    assert (code, "Traceback" in said) == (0, False)
    code, said = run(capsys, path, "-q", "--kind", "x=numbr")
    assert code == 2
    assert "kind of x must be one of" in said


# -- headers -----------------------------------------------------------------------------------------------------------
THREE = "1,2,3.5\n2,3,4.5\n3,4,5.5\n"


def test_a_file_without_a_header_is_read_by_every_command(tmp_path, capsys, monkeypatch):
    path = tmp_path / "h.csv"
    path.write_text(THREE)
    code, said = run(capsys, str(path), "-f", str(tmp_path / "m"))
    assert code == 0
    assert said.startswith(
        "h.csv has no header, so columns are named by their places (--header if the first line is one)\n"
    )
    assert nystream.load(tmp_path / "m").schema_.columns == {"0": "number", "1": "number"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(THREE.encode())))
    assert run(capsys, "-", "-q", "-i", str(tmp_path / "m"), "-f", str(tmp_path / "m"))[0] == 0
    assert nystream.load(tmp_path / "m").n_seen == 6
    for content in (THREE, "1,2\n2,3\n3,4\n"):  # with the target, and without it
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        assert call(["predict", "-", "-i", str(tmp_path / "m")]) == 0
        said = capsys.readouterr()
        assert len(said.out.split()) == 4
        assert said.err == ""
    assert call(["explain", "-i", str(tmp_path / "m"), str(path)]) == 0
    assert call(["explain", "-i", str(tmp_path / "m"), str(path), "--importance"]) == 0
    assert call(["race", str(path), "-l", "auto,pkrr", "-j", "1", "--out", str(tmp_path / "race")]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("place", ["0", "-3"])
def test_a_target_by_its_place(tmp_path, capsys, place):
    (tmp_path / "h.csv").write_text("".join(f"{i / 7},{i % 5},{i % 3}\n" for i in range(N)))
    code, _ = run(capsys, str(tmp_path / "h.csv"), "-y", place, "-f", str(tmp_path / "m"))
    assert code == 0
    model = nystream.load(tmp_path / "m")
    assert (model.target, model.schema_.names) == ("0", ["1", "2"])
    (tmp_path / "later.csv").write_text("".join(f"{i % 5},{i % 3}\n" for i in range(9)))  # without the target
    for name in ("h.csv", "later.csv"):
        assert call(["predict", str(tmp_path / name), "-i", str(tmp_path / "m"), "--rows", "9"]) == 0
        told = np.array(capsys.readouterr().out.split()[1:], dtype=float)
        rows = [{"1": float(i % 5), "2": float(i % 3)} for i in range(9)]
        np.testing.assert_allclose(told, model.predict(rows), rtol=1e-6)
    (tmp_path / "short.csv").write_text("1\n2\n")
    assert call(["predict", str(tmp_path / "short.csv"), "-i", str(tmp_path / "m")]) == 2
    assert "rows have 1 columns without names, the schema has 2: 1, 2" in capsys.readouterr().err


def test_a_model_of_names_takes_files_without_them_in_its_order(tmp_path, capsys):
    body = "".join(f"{i % 5},{i % 3},{i / 7}\n" for i in range(N))
    (tmp_path / "a.csv").write_text("a,b,y\n" + body)
    (tmp_path / "h.csv").write_text(body)
    assert run(capsys, str(tmp_path / "a.csv"), "-q", "-f", str(tmp_path / "m"))[0] == 0
    assert run(capsys, str(tmp_path / "h.csv"), "-q", "-i", str(tmp_path / "m"), "-f", str(tmp_path / "twice"))[0] == 0
    model = nystream.load(tmp_path / "twice")
    assert (model.n_seen, model.schema_.names, model.target) == (2 * N, ["a", "b"], "y")
    assert call(["predict", str(tmp_path / "h.csv"), "-i", str(tmp_path / "m")]) == 2
    assert "leave out the target y, or give names to the columns" in capsys.readouterr().err
    (tmp_path / "later.csv").write_text("1,2\n3,4\n")
    assert call(["predict", str(tmp_path / "later.csv"), "-i", str(tmp_path / "m")]) == 0
    said = "nystream: later.csv has no header: its columns are taken in the order of the model, a, b\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("text", "options", "columns"),
    [
        ("red,up\nblue,down\n" * N, ["--no-header"], ["0"]),
        ("1,2\n" + "3,4\n" * N, ["--header"], ["1"]),
        ("name,2019,2020\n" + "5,6,7\n" * N, [], ["name", "2019"]),
        ("0,1,y\n" + "5,6,7\n" * N, [], ["0", "1"]),
        ("$5,2023-01-01,7\n" * N, [], ["0", "1"]),
        (",b,y\n" + "5,6,7\n" * N, [], ["0", "b"]),
    ],
)
def test_headers_are_found_and_can_be_said(tmp_path, capsys, text, options, columns):
    (tmp_path / "a.csv").write_text(text)
    code, said = run(capsys, str(tmp_path / "a.csv"), *options, "-f", str(tmp_path / "m"))
    assert code == 0, said
    assert list(nystream.load(tmp_path / "m").schema_.columns) == columns


@pytest.mark.parametrize("header", [("when", "x", "y"), ()])
def test_a_line_of_a_spreadsheet_may_say_the_delimiter(tmp_path, capsys, data, expected, header):
    path = Path(write(tmp_path / "a.csv", plain(data), header, mark=";"))
    path.write_text("sep=;\n" + path.read_text())
    assert run_quietly(capsys, str(path), "-p", str(tmp_path / "p")) == (0, "")
    np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-9)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:20], "2023-01-01;oops;1.5", *lines[20:]]))
    code, said = run(capsys, str(path))
    assert code == 2
    assert "a.csv:21: column" in said


def test_columns_of_one_name_are_told_apart_in_files_and_in_frames(tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    rows = [(float(i % 5), float(i % 3), i / 7) for i in range(N)]
    (tmp_path / "a.csv").write_text("a,a,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    code, said = run_quietly(capsys, str(tmp_path / "a.csv"), "-f", str(tmp_path / "m"))
    assert (code, said) == (0, "nystream: a.csv: two or more columns have the same name: 'a' is now 'a.2'\n")
    frame = pandas.DataFrame([row[:2] for row in rows], columns=["a", "a"])
    with pytest.warns(UserWarning, match=r"rows: two or more columns have the same name: 'a' is now 'a\.2'"):
        schema = nystream.Schema.of(frame)
    assert list(schema.columns) == list(nystream.load(tmp_path / "m").schema_.columns) == ["a", "a.2"]


# -- archives and JSON -------------------------------------------------------------------------------------------------
def zipped(content, *names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


def zst(content):
    library = pytest.importorskip("zstandard")
    half = len(content) // 2
    return b"".join(library.ZstdCompressor().compress(part) for part in (content[:half], content[half:]))


PACKED = {
    "a.csv.gz": gzip.compress,
    "a.csv.bz2": bz2.compress,
    "a.csv.xz": lzma.compress,
    "a.csv.zst": zst,
    "a.zst": zst,
    "a.csv.zip": lambda content: zipped(content, "a.csv"),
    "a.zip": lambda content: zipped(content, "deep/a.csv", "__MACOSX/._a.csv"),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_files_are_read(tmp_path, capsys, data, expected, name):
    content = Path(write(tmp_path / "plain.csv", plain(data))).read_bytes()
    packed = PACKED[name](content)
    (tmp_path / name).write_bytes(packed)
    assert run_quietly(capsys, str(tmp_path / name), "-p", str(tmp_path / "p")) == (0, "")
    np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-9)
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    code, said = run_quietly(capsys, str(tmp_path / name))
    assert code == 2
    assert len(said.splitlines()) == 1


def test_archives_of_several_files_and_zst_without_its_package_are_refused(tmp_path, capsys, data, monkeypatch):
    content = Path(write(tmp_path / "plain.csv", plain(data))).read_bytes()
    (tmp_path / "two.zip").write_bytes(zipped(content, "a.csv", "b.csv"))
    code, said = run(capsys, str(tmp_path / "two.zip"))
    assert (code, said) == (
        2,
        "nystream: two.zip holds 2 files (a.csv, b.csv); an archive of exactly one is read, so unpack it first\n",
    )
    (tmp_path / "a.csv.zst").write_bytes(zst(content))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    code, said = run(capsys, str(tmp_path / "a.csv.zst"))
    assert code == 2
    assert "pip install 'nystream[zstd]'" in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            zipped(b"<x/>", "[Content_Types].xml", "xl/workbook.xml"),
            "is a spreadsheet or another document; save its table",
        ),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "is a spreadsheet or another document; save its table as CSV first"),
        (b"%PDF-1.4\n%\xe2\xe3" + bytes(range(256)), "it seems to be a binary file, and no table of text"),
        ("a,b,y\n1,\u201cx\u201d,2.5\n".encode("cp1252") * 9, "convert it, as in iconv -f windows-1252 -t utf-8"),
        ("a,gr\u00f6\u00dfe,y\n1,3,2.5\n".encode("latin-1"), "convert it, as in iconv -f latin1 -t utf-8"),
    ],
)
def test_files_that_are_no_text_are_told(tmp_path, capsys, content, message):
    for name in ("a.csv", "a.xlsx"):
        (tmp_path / name).write_bytes(content)
        code, said = run(capsys, str(tmp_path / name))
        assert code == 2
        assert message in said
        assert len(said.splitlines()) == 1


def test_text_of_spreadsheets_in_utf_16_is_read(tmp_path, capsys, data, expected):
    text = Path(write(tmp_path / "plain.csv", plain(data), mark="\t")).read_text()
    for encoding, mark in [("utf-16", ""), ("utf-16-be", "\ufeff"), ("utf-16-be", ""), ("utf-16-le", "")]:
        (tmp_path / "a.txt").write_bytes((mark + text).encode(encoding))
        assert run_quietly(capsys, str(tmp_path / "a.txt"), "-p", str(tmp_path / "p")) == (0, "")
        np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-9)


@pytest.mark.parametrize("form", ["lines", "array", "indented", "one line"])
def test_json_is_read_as_lines_and_as_an_array(tmp_path, capsys, data, expected, form):
    rows = [{"when": t.date().isoformat(), "x": a, "y": b} for t, a, b in zip(*data, strict=True)]
    lines = [json.dumps(row) for row in rows]
    text = {
        "lines": "\n".join(lines),
        "array": "[\n" + ",\n".join(lines) + "\n]\n",
        "indented": json.dumps(rows, indent=2),
        "one line": json.dumps(rows),
    }[form]
    for name in ("a.json", "a.unknown"):
        (tmp_path / name).write_text(text)
        assert run_quietly(capsys, str(tmp_path / name), "-y", "y", "-p", str(tmp_path / "p")) == (0, "")
        np.testing.assert_allclose(predictions(tmp_path / "p"), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "a.json is an empty JSON array"),
        ('[{"a": 1, "y": 2.5}, 3]', "a.json, row 1: is a JSON int; every row must be an object"),
        ('[{"a": 1, "y": 2.5}, {"a": ]', "a.json, row 1: is not JSON"),
        ('[{"a": 1, "y": 2.5},', "a.json, row 1: is not JSON (the array is not closed)"),
        ('{\n "a": 1\n}', "a.json:1: is not JSON"),
    ],
)
def test_bad_json_is_refused_in_one_line(tmp_path, capsys, text, message):
    (tmp_path / "a.json").write_text(text)
    code, said = run_quietly(capsys, str(tmp_path / "a.json"))
    assert code == 2
    assert message in said
    assert len(said.splitlines()) == 1


# -- anything ----------------------------------------------------------------------------------------------------------
def base_files():
    """Small files of the kinds that people have."""
    rng = random.Random(0)
    number = lambda: f"{rng.gauss(0, 900):,.2f}"  # noqa: E731
    quoted = "".join(f'{i},"word {i % 4}, again","{number()}",{number().replace(",", "")}\n' for i in range(40))
    german_rows = "".join(
        f"{1 + i % 28:02}.0{1 + i % 9}.2023;{german(rng.gauss(0, 9000))};{i % 3}\n" for i in range(40)
    )
    lines = "".join(json.dumps({"a": i, "b": f"w{i % 3}", "y": i / 7}) + "\n" for i in range(40))
    return [
        b"n,text,price,y\n" + quoted.encode(),
        b"\xef\xbb\xbfwann;preis;klasse\r\n" + german_rows.replace("\n", "\r\n").encode(),
        "".join(f"{i},{i % 5},{i / 3}\n" for i in range(40)).encode(),
        b"name\tgr\xc3\xb6\xc3\x9fe\ty\n"
        + "".join(f"w{i}\t{i} cm\t{'up' if i % 2 else 'down'}\n" for i in range(40)).encode(),
        lines.encode(),
        b"[" + lines.strip().replace("\n", ",\n").encode() + b"]",
        b"a,b,y\n",
        b"",
    ]


def mutated(content, rng):
    """One of many things that happen to files."""
    data = bytearray(content)
    lines = content.splitlines(keepends=True)
    at = rng.randrange(len(data) + 1)
    kind = rng.randrange(14)
    if kind == 0 and data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[at : at + rng.randrange(1, 30)]
    elif kind == 2:
        data[at:at] = bytes([0]) * rng.randrange(1, 5)
    elif kind == 3:
        data[at:at] = rng.choice([b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"'", b"\\", b"{", b"]"])
    elif kind == 4:
        return data.decode("utf-8", "replace").encode("utf-16")
    elif kind == 5:
        return data.decode("utf-8", "replace").encode("latin-1", "replace") + b"\xe9\xff,1,2\n"
    elif kind == 6 and lines:
        lines[rng.randrange(len(lines))] += b",more,fields\n"
        return b"".join(lines)
    elif kind == 7 and lines:
        return b"".join(line for line in lines if rng.random() < 0.7)
    elif kind == 8:
        data[at:at] = b"x" * rng.choice([5_000, 200_000])
    elif kind == 9:
        return b"".join(rng.sample(lines, len(lines)))
    elif kind == 10:
        data[at:at] = rng.choice(
            ["\u2212", "\u00a0", "\U0001f600", "NaN", "inf", "1e999", "9" * 400, "31/31/2023"]
        ).encode()
    elif kind == 11:
        return rng.choice([gzip.compress, bz2.compress, lzma.compress])(content)[: rng.randrange(1, 400)]
    elif kind == 12:
        return b"\xef\xbb\xbf" + content
    else:
        return content.replace(rng.choice([b",", b";", b"\n", b'"']), rng.choice([b",", b"\t", b"", b"\r", b"|"]))
    return bytes(data)


def test_mutated_files_give_an_answer_or_one_line(tmp_path, capsys):
    """300 files; each is learnt, and predicted with a model of a file that was not mutated."""
    rng = random.Random(0)
    bases = base_files()
    models = []
    for i, content in enumerate(bases[:4]):
        (tmp_path / f"{i}.csv").write_bytes(content)
        models.append(str(tmp_path / f"{i}.nys"))
        assert call(["run", str(tmp_path / f"{i}.csv"), "-q", "-l", "sparse-linear", "-f", models[-1]]) == 0
    codes: Counter[tuple[int, int]] = Counter()
    for i in range(300):
        content = bases[i % len(bases)]
        for _ in range(rng.randrange(1, 3)):
            content = mutated(content, rng)
        path = tmp_path / f"{i}{rng.choice(['.csv', '.json', '.txt', '.tsv', '.zst', '.data'])}"
        path.write_bytes(content)
        capsys.readouterr()
        learnt = call(["run", str(path), "-q", "-l", "sparse-linear"])
        said = capsys.readouterr().err
        assert learnt in (0, 2), said
        asked = call(["predict", str(path), "-i", models[i % 4], "-o", str(tmp_path / "o.csv")])
        said += capsys.readouterr().err
        assert asked in (0, 2), said
        told = said.splitlines()
        assert all(line.startswith("nystream: ") or RESULT.match(line) for line in told), said
        assert len(told) >= (learnt == 2) + (asked == 2), said
        codes[learnt, asked] += 1
    assert codes[0, 0] > 20
    assert codes[2, 2] > 20
    assert sum(count for (learnt, _), count in codes.items() if learnt == 0) > 50
