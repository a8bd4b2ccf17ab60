"""The command line loses no work and says what it did: each case is an input, what is printed, and an exit code."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from children import PATIENCE, started

import nystream as ny
from nystream.cli.app import COMMANDS, call
from nystream.data.task import choose_task

COMMAND = [sys.executable, "-m", "nystream.cli.main"]
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals and pipes are POSIX here")


def rows(n=3000, seed=0):
    """A header and lines x, z, y."""
    X = np.random.default_rng(seed).normal(size=(n, 3)).round(4)
    y = (np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.1 * X[:, 2]).round(4)
    return ["x,z,y", *(f"{a},{b},{t}" for (a, b), t in zip(X[:, :2].tolist(), y.tolist(), strict=True))]


def written(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def shell(command, folder, **options):
    """A pipeline of bash, with the exit code of its first command."""
    line = f"{command.replace('nystream ', ' '.join(COMMAND) + ' ')}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False, timeout=300, **options
    )


# -- bad cells -------------------------------------------------------------------------------------------------------
BAD = "bad.csv:1200: column 'z' is 'oops', which is no finite number"


@pytest.fixture
def bad(tmp_path):
    """A file whose line 1200 has a word in a column of numbers."""
    lines = rows()
    lines[1199] = "0.5,oops,0.25"
    return written(tmp_path / "bad.csv", lines)


def test_a_bad_cell_saves_what_was_learnt_and_names_file_row_column_value_and_option(tmp_path, bad, capsys):
    model = tmp_path / "m.nys"
    assert call(["run", bad, "-q", "-f", str(model)]) == 2
    result, saved, refused = capsys.readouterr().err.splitlines()
    assert result.startswith("1198 rows in ")
    assert "(stopped)" in result
    assert saved == f"saved {model} with the 1,198 rows learnt before the end"
    assert refused == (
        f"nystream: {BAD}; correct it, or choose --on-error missing (the cell counts as missing) or --on-error skip "
        "(its row is left out)"
    )
    frame = pd.read_csv(bad, nrows=1198)
    alone = ny.Model(schema=ny.Schema(["x", "z"], "y", "regression"))
    alone.run(frame[["x", "z"]].astype(float), frame["y"])
    kept = ny.load(model)
    assert kept.n_seen == alone.n_seen == 1198
    X = np.random.default_rng(1).normal(size=(50, 2))
    np.testing.assert_allclose(kept.predict(X), alone.predict(X), rtol=1e-6, atol=1e-9)  # fmt: skip


def test_a_run_goes_on_after_the_bad_cell(tmp_path, bad):
    lines = Path(bad).read_text().splitlines()
    assert call(["run", bad, "-q", "-f", str(tmp_path / "m")]) == 2
    rest = written(tmp_path / "rest.csv", [lines[0], "0.5,0.1,0.25", *lines[1200:]])
    assert call(["run", rest, "-q", "-i", str(tmp_path / "m"), "-f", str(tmp_path / "m")]) == 0
    assert ny.load(tmp_path / "m").n_seen == 3000


@pytest.mark.parametrize(
    ("policy", "learnt", "line"),
    [
        ("missing", 3000, f"1 cell does not fit its column and counts as missing; the first: {BAD}"),
        ("skip", 2999, f"1 row was skipped; the first: {BAD}"),
    ],
)
def test_a_bad_cell_can_be_missing_or_its_row_be_skipped(tmp_path, bad, capsys, policy, learnt, line):
    model = str(tmp_path / "m")
    assert call(["run", bad, "-q", "--on-error", policy, "-f", model]) == 0
    assert line in capsys.readouterr().err.splitlines()
    assert ny.load(model).n_seen == learnt
    out = tmp_path / "o.csv"
    assert call(["predict", bad, "-i", model, "--on-error", policy, "-o", str(out), "--keep", "x"]) == 0
    assert line in capsys.readouterr().err.splitlines()
    found = pd.read_csv(out)
    assert len(found) == learnt
    kept = pd.read_csv(bad)["x"].drop(index=[1198] if policy == "skip" else [])
    np.testing.assert_array_equal(found["x"], kept)


def test_predict_writes_the_rows_before_a_bad_cell(tmp_path, bad, capsys):
    good = written(tmp_path / "good.csv", rows(300))
    assert call(["run", good, "-q", "-f", str(tmp_path / "m")]) == 0
    assert call(["predict", bad, "-i", str(tmp_path / "m"), "-o", str(tmp_path / "o.csv")]) == 2
    assert f"nystream: {BAD}; correct it" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "o.csv")) == 1198


def test_a_race_shows_its_table_before_it_refuses_a_bad_cell(tmp_path, bad, capsys):
    arguments = ["race", bad, "-l", "fogd,pkrr", "--out", str(tmp_path), "-j", "1"]
    assert call(arguments) == 2
    said = capsys.readouterr()
    assert "1198/?" in said.out
    assert re.search(r"^pkrr +0\.\d+", said.out, re.MULTILINE)
    assert f"nystream: {BAD}; correct it" in said.err
    assert call([*arguments, "--on-error", "skip"]) == 0
    assert f"1 row was skipped; the first: {BAD}" in capsys.readouterr().err


def test_a_bad_label_is_a_bad_cell_too(tmp_path, capsys):
    lines = rows(1500)
    lines[1100] = "1,2,much"
    path = written(tmp_path / "a.csv", lines)
    assert call(["run", path, "-q", "-f", str(tmp_path / "m")]) == 2
    assert "a.csv:1101: column 'y' is 'much', which is no finite number" in capsys.readouterr().err
    assert ny.load(tmp_path / "m").n_seen == 1099
    assert call(["run", path, "-q", "--on-error", "missing", "-f", str(tmp_path / "m")]) == 0
    model = ny.load(tmp_path / "m")
    assert (model.n_seen, model.n_unlabelled) == (1499, 1)


def test_a_fraction_among_classes_is_a_bad_cell(tmp_path, capsys):
    lines = ["a,y", *(f"{i % 7},{i % 3}" for i in range(1500))]
    lines[1200] = "1,1.5"
    path = written(tmp_path / "a.csv", lines)
    assert call(["run", path, "-q", "-f", str(tmp_path / "m"), "-l", "pkrr"]) == 2
    assert "a.csv:1201: column 'y' is" in capsys.readouterr().err
    assert ny.load(tmp_path / "m").n_seen == 1199
    assert call(["run", path, "-q", "--on-error", "skip", "-f", str(tmp_path / "m"), "-l", "pkrr"]) == 0
    assert ny.load(tmp_path / "m").classes == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("a.csv", "1,2,3,4", "a.csv:1300: has 4 fields, expected 3"),
        ("a.jsonl", "{oops", "a.jsonl:1300: is not JSON"),
    ],
)
def test_a_row_that_cannot_be_read_loses_no_other_row(tmp_path, capsys, name, line, message):
    lines = rows(2000)
    if name == "a.jsonl":
        numbers = [list(map(float, row.split(","))) for row in lines[1:]]
        lines = [json.dumps(dict(zip("xzy", row, strict=True))) for row in numbers]
    lines[1299] = line
    before = 1298 + (name == "a.jsonl")
    path = written(tmp_path / name, lines)
    model = str(tmp_path / "m")
    assert call(["run", path, "-q", "-f", model]) == 2
    said = capsys.readouterr().err
    assert f"nystream: {message}" in said
    assert "choose --on-error skip (the row is left out)" in said
    assert ny.load(model).n_seen == before
    assert call(["run", path, "-q", "-f", model, "--on-error", "skip"]) == 0
    assert f"1 row was skipped; the first: {message}" in capsys.readouterr().err
    assert ny.load(model).n_seen == len(lines) - 1 - (name == "a.csv")


def test_a_file_that_is_cut_off_saves_the_rows_before_the_end(tmp_path, capsys):
    lines = rows(20_000)
    whole = gzip.compress(("\n".join(lines) + "\n").encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) * 2 // 3])
    assert call(["run", str(tmp_path / "a.csv.gz"), "-q", "-l", "fogd", "-f", str(tmp_path / "m")]) == 2
    assert "a.csv.gz is damaged or cut off" in capsys.readouterr().err
    assert ny.load(tmp_path / "m").n_seen > 10_000


def test_nothing_is_overwritten_where_nothing_was_learnt(tmp_path, capsys):
    (tmp_path / "m").write_text("precious")
    path = written(tmp_path / "a.csv", ["x,y", "oops,1.5", *["1,1.5"] * 30])
    assert call(["run", path, "-f", str(tmp_path / "m")]) == 2
    assert "a.csv:2: column 'x' is 'oops'" in capsys.readouterr().err
    assert (tmp_path / "m").read_text() == "precious"


# -- signals ---------------------------------------------------------------------------------------------------------
def fed(folder, lines, *arguments, stop=None, after=" 1,024 "):
    """A run on standard input; with `stop`, the signal is sent after a line of progress, and more rows may come."""
    command = [*COMMAND, "run", "-", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, cwd=folder, text=True, **pipes) as process:
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        said = ""
        if stop is not None:
            while after not in said:
                line = process.stderr.readline()
                assert line, said
                said += line
            process.send_signal(stop)
        said += process.communicate(timeout=PATIENCE)[1]
    return process.returncode, said


@POSIX
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_that_goes_on_is_the_run_without_a_stop(tmp_path, stop):
    lines = rows(2000)
    options = ["--block", "64"]
    code, said = fed(tmp_path, lines, "-f", "first.nys", *options, stop=stop)
    assert code == 128 + stop, said
    learnt = ny.load(tmp_path / "first.nys").n_seen
    assert 1024 <= learnt <= 2000
    assert f"\n{learnt} rows in " in said
    assert "(stopped)" in said
    assert f"saved first.nys with the {learnt:,} rows learnt before the end" in said
    rest = [lines[0], *lines[1 + learnt :], lines[1]]
    code, said = fed(tmp_path, rest, "-q", "-i", "first.nys", "-f", "both.nys", *options)
    assert code == 0, said
    code, said = fed(tmp_path, [*lines, lines[1]], "-q", "-f", "whole.nys", *options)
    assert code == 0, said
    both, whole = ny.load(tmp_path / "both.nys"), ny.load(tmp_path / "whole.nys")
    assert both.n_seen == whole.n_seen == 2001
    X = np.random.default_rng(1).normal(size=(200, 2))
    np.testing.assert_allclose(both.predict(X), whole.predict(X), rtol=1e-9, atol=1e-12)


@POSIX
def test_labels_on_their_way_are_learnt_when_a_run_is_stopped(tmp_path):
    code, said = fed(tmp_path, rows(1500), "-f", "m.nys", "-l", "fogd", "--delay", "7", stop=signal.SIGINT)
    assert code == 130, said
    fed_rows = int(re.search(r"^(\d+) rows in ", said, re.MULTILINE)[1])
    assert ny.load(tmp_path / "m.nys").n_seen == fed_rows


# -- closed pipes ----------------------------------------------------------------------------------------------------
@POSIX
@pytest.mark.parametrize(
    "command",
    [
        "nystream list | head -1",
        "nystream list auto | head -1",
        "nystream datasets | head -1",
        "nystream --help | head -1",
        "nystream --version -v | head -1",
        "nystream run a.csv -q -p - | head -1",
        "nystream run a.csv -p - -f m2 2>&1 | head -1",
        "nystream race a.csv -l fogd --rows 400 | head -1",
        "nystream predict a.csv -i m | head -1",
        "nystream predict a.csv -i m --format jsonl | head -1",
        "nystream explain -i m | head -1",
        "nystream explain a.csv -i m --rows 500 | head -1",
        "nystream bench fogd | head -1",
        "nystream reproduce | head -1",
    ],
)
def test_a_closed_pipe_is_no_error_in_any_command(tmp_path, command):
    written(tmp_path / "a.csv", rows(3000))
    assert call(["run", str(tmp_path / "a.csv"), "-q", "-l", "fogd", "-f", str(tmp_path / "m")]) == 0
    done = shell(command, tmp_path)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1


# -- columns ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def model(tmp_path):
    assert call(["run", written(tmp_path / "a.csv", rows(300)), "-q", "-f", str(tmp_path / "m")]) == 0
    return str(tmp_path / "m")


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        (["x,z", "1,2"], 0, []),
        (["z,x,y", "1,2,9"], 0, []),
        (["x", *["1"] * 3000], 0, ["nystream: b.csv lacks 1 of the 2 columns of the model, which count as missing: z"]),
        (["x,z,q,w", *["1,2,3,4"] * 3000], 0, ["nystream: the model does not know columns q, w: not used"]),
        (
            ["X,z", "1,2"],
            0,
            [
                "nystream: b.csv lacks 1 of the 2 columns of the model, which count as missing: x",
                "nystream: the model does not know column X: not used",
            ],
        ),
        (["q,w", "1,2"], 2, ["nystream: b.csv has none of the columns of the model (x, z); its columns are q, w"]),
    ],
)
def test_predict_names_columns_that_are_missing_or_unknown_once(tmp_path, model, capsys, lines, code, said):
    path = written(tmp_path / "b.csv", lines)
    capsys.readouterr()
    assert call(["predict", path, "-i", model, "-o", str(tmp_path / "o.csv")]) == code
    assert capsys.readouterr().err.splitlines() == said
    if code == 0:
        assert len(pd.read_csv(tmp_path / "o.csv")) == len(lines) - 1
    assert call(["run", path, "-t", "-q", "-i", model]) in (0, 2)


def test_a_model_warns_of_columns_that_no_row_has_and_refuses_rows_with_none():
    model = ny.Model()
    model.run([{"a": float(i % 5), "b": float(i)} for i in range(60)], [i / 2 for i in range(60)])
    with pytest.warns(UserWarning, match="rows lack columns of the model, which count as missing: 'b'"):
        model.predict(pd.DataFrame({"a": [1.0, 2.0]}))
    model.predict(pd.DataFrame({"a": [1.0, 2.0]}))  # once
    ny.from_bytes(model.to_bytes()).predict({"a": 1.0})  # one dict says what is known, and the rest is missing
    with pytest.raises(ValueError, match=r"none of the model's columns \('a', 'b'\); they have 'c'"):
        model.predict(pd.DataFrame({"c": [1.0]}))


# -- the task --------------------------------------------------------------------------------------------------------
TASKS = [
    (["0.5", "1.5"] * 30, "regression", "the labels are numbers with fractions (0.5, 1.5)"),
    (["0", "1"] * 30, "classification", "the labels are the whole numbers 0 to 1"),
    (["1", "2", "3"] * 20, "classification", "the labels are the whole numbers 1 to 3"),
    ([str(i % 20) for i in range(80)], "classification", "the labels are the whole numbers 0 to 19"),
    ([str(i % 21) for i in range(84)], "regression", "the labels are more than 20 distinct whole numbers"),
    (["0", "2"] * 30, "regression", "the labels are whole numbers, but not 0 to 1 or 1 to 2 (0, 2)"),
    (["10", "20", "30"] * 20, "regression", "the labels are whole numbers, but not 0 to 2 or 1 to 3 (10, 20, 30)"),
    (["7"] * 60, "regression", "all labels are 7"),
    (["1.0", "2.0"] * 30, "regression", "the labels are decimal numbers (1.0, 2.0)"),
    (["up", "down"] * 30, "classification", "the labels are names (up, down)"),
    (["true", "false"] * 30, "classification", None),
]


@pytest.mark.parametrize(("labels", "task", "reason"), TASKS)
def test_one_rule_chooses_the_task_and_says_why(tmp_path, capsys, labels, task, reason):
    path = written(tmp_path / "a.csv", ["a,b,y", *(f"{i},{i % 7},{y}" for i, y in enumerate(labels))])
    for command in (["run", path, "-l", "pkrr"], ["race", path, "-l", "pkrr", "--out", str(tmp_path)]):
        assert call(command) == 0
        said = "".join(capsys.readouterr()).replace("\n", " ")
        assert f"a.csv: {task}, " in said
        if reason is not None:
            assert f"task: {task}, because {reason}; --task says otherwise" in said
    other = "regression" if task == "classification" else "classification"
    numbers = labels[0] not in ("up", "true") and "0.5" not in labels
    if numbers:
        assert call(["run", path, "-l", "pkrr", "--task", other]) == 0
        said = capsys.readouterr().err
        assert f"a.csv: {other}, " in said
        assert "because" not in said


PYTHON = [
    ([0.5, 1.5] * 20, "regression"),
    ([1.0, 2.0] * 20, "regression"),
    ([0, 1] * 20, "classification"),
    ([1, 2, 3] * 20, "classification"),
    ([5] * 20, "regression"),
    ([5, 9] * 20, "regression"),
    (["a", "b"] * 20, "classification"),
    ([True, False] * 20, "classification"),
]


@pytest.mark.parametrize(("labels", "task"), PYTHON)
def test_model_prequential_and_schema_choose_as_the_command_line_does(tmp_path, labels, task):
    table = [{"a": float(i), "b": float(i % 3)} for i in range(len(labels))]
    assert choose_task([labels]).task == task
    pattern = ny.PKRR(ny.features.WithConstant())
    model = ny.Model(pattern)
    model.run(table, labels)
    assert model.task == task
    evaluated = ny.Model(pattern)
    ny.prequential((table, labels), evaluated)
    assert evaluated.task == task
    frame = pd.DataFrame(table).assign(y=labels)
    assert ny.Schema.of(frame, target="y").task == task
    frame.to_parquet(tmp_path / "a.parquet")
    assert call(["run", str(tmp_path / "a.parquet"), "-q", "-l", "pkrr", "-f", str(tmp_path / "m")]) == 0
    assert ny.load(tmp_path / "m").task == task


def test_the_server_chooses_the_task_by_the_same_rule():
    learning = pytest.importorskip("nystream.serve.learning")
    for labels, task in PYTHON:
        table = [{"a": float(i)} for i in range(len(labels))]
        assert learning.opened({}, table, labels)[0].task == task


def test_a_task_can_be_given_to_a_model():
    assert ny.Model(task="classification").task == "classification"
    model = ny.Model(task="classification")
    assert model.step({"a": 1.0}, 3) is None
    assert model.classes == [3]
    assert ny.Model().step({"a": 1.0}, 3) == 0.0  # one whole number by itself is a quantity
    assert model.clone().get_params()["task"] == "classification"
    assert ny.from_bytes(model.to_bytes()).task == "classification"
    with pytest.raises(ValueError, match="contradicts the schema"):
        ny.Model(None, ny.Schema(["a"], task="regression"), "classification")
    with pytest.raises(ValueError, match="task must be one of"):
        ny.Model(task="ranking")


def test_labels_that_are_all_missing_ask_for_the_task(tmp_path, capsys):
    path = written(tmp_path / "a.csv", ["a,y", *["1,"] * 30])
    assert call(["run", path]) == 2
    said = capsys.readouterr().err
    assert "none of the first 30 rows of a.csv has a label in the target column 'y'" in said
    assert "choose another column with --target, or say the task with --task (regression" in said
    with pytest.raises(ValueError, match=r'say it, as in Model\(task="regression"\)'):
        ny.prequential(([{"a": 1.0}] * 30, [None] * 30), ny.Model())


def test_movielens_ratings_are_regression(capsys):
    path = SHARED / "tables" / "movielens.csv.xz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    arguments = ["run", str(path), "--rows", "1200", "-l", "pkrr"]
    assert call(arguments) == 0
    said = capsys.readouterr().err
    assert "movielens.csv.xz: regression, " in said
    assert "task: regression, because the labels are decimal numbers (3.0, 5.0, 4.0, ...)" in said


def test_novelty_needs_no_target(tmp_path, capsys):
    lines = rows(600)
    path = written(tmp_path / "a.csv", lines)
    scores = tmp_path / "p"
    assert call(["run", path, "--task", "novelty", "-q", "-p", str(scores), "-f", str(tmp_path / "m")]) == 0
    assert capsys.readouterr().err.startswith("600 rows in ")
    assert len(scores.read_text().split()) == 600
    assert ny.load(tmp_path / "m").schema_.names == ["x", "z", "y"]
    odd = [f"{line},{int(i % 40 == 39)}" for i, line in enumerate(lines[1:])]
    odd = [f"9,{line.partition(',')[2]}" if line.endswith(",1") else line for line in odd]
    path = written(tmp_path / "b.csv", ["x,z,y,odd", *odd])
    for learner in ([], ["-l", "silk"]):
        assert call(["run", path, "--task", "novelty", "-q", "-y", "odd", *learner]) == 0
        assert float(re.search(r"auc ([\d.]+)", capsys.readouterr().err)[1]) > 0.9
    assert call(["run", path, "--task", "novelty", "-l", "pkrr"]) == 2
    assert "pkrr learns from labels, and novelty detection has none" in capsys.readouterr().err


# -- one headline error ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_run_race_and_prequential_agree_to_the_digit_and_count_no_row_before_the_first_label(tmp_path, task):
    lines = rows(700)
    if task == "classification":
        lines = [lines[0], *(f"{line.rpartition(',')[0]},{'no' if ',-' in line[-8:] else 'yes'}" for line in lines[1:])]
    for i in (1, 2, 50):  # the first two rows have no label
        lines[i] = lines[i].rpartition(",")[0] + ","
    path = written(tmp_path / "a.csv", lines)
    predictions = tmp_path / "p"
    shown = {"regression": ["mse", "of_mean", "of_last"], "classification": ["accuracy"]}[task]
    asked = [word for name in shown for word in ("-m", name)]
    assert call(["run", path, "-q", *asked, "-p", str(predictions), "--result", str(tmp_path / "run.json")]) == 0
    assert call(["race", path, "-l", "auto", "--out", str(tmp_path)]) == 0
    one = json.loads((tmp_path / "run.json").read_text())["columns"]
    raced = json.loads((tmp_path / "a.json").read_text())["results"][0]["columns"]
    frame = pd.read_csv(path)
    model = ny.Model(schema=ny.Schema(["x", "z"], task=task))
    here = ny.prequential((frame[["x", "z"]], frame["y"]), model, shown)
    for name in shown:
        assert one[name][-1] == raced[name][-1] == here.final[name]
    there = frame["y"].notna().to_numpy()
    counted = there & (np.cumsum(there) > 1)  # not the first label, which nothing was known before
    if task == "classification":
        P = np.array(predictions.read_text().split())
        assert here.final["accuracy"] == np.mean(P[counted] == frame["y"][counted])
        return
    P, y = np.loadtxt(predictions), frame["y"].to_numpy()
    errors = np.square(P - y)[counted]
    assert here.final["mse"] == pytest.approx(errors.mean(), rel=1e-7)
    known = y[there]
    means = np.array([known[:t].mean() for t in range(1, len(known))])
    assert here.final["of_mean"] == pytest.approx(errors.sum() / np.square(known[1:] - means).sum(), rel=1e-7)
    assert here.final["of_last"] == pytest.approx(errors.sum() / np.square(np.diff(known)).sum(), rel=1e-7)


# -- small -----------------------------------------------------------------------------------------------------------
def test_quiet_keeps_the_result(tmp_path, capsys):
    assert call(["run", written(tmp_path / "a.csv", rows(100)), "-q"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"100 rows in [\d.]+ s: mse [\d.]+; [\d,]+ bytes", line)


def test_list_name_describes_every_parameter_of_every_learner(capsys):
    assert call(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name, record in found.items():
        assert set(record["descriptions"]) == set(record["parameters"]), name
        assert all(record["descriptions"].values()), name
    assert call(["list", "fogd"]) == 0
    assert "Number of features, two per" in capsys.readouterr().out


def test_shells_complete_commands_and_options(tmp_path):
    def completed(words):
        environment = {**os.environ, "_NYSTREAM_COMPLETE": "complete_bash", "COMP_WORDS": words}
        environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
        code = "import sys; sys.argv = ['nystream']; from nystream.cli.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert completed("nystream ") == list(COMMANDS)
    assert completed("nystream pre") == ["predict"]
    assert completed("nystream run --on") == ["--on-error"]
    told = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # tests run without a shell
    command = [*COMMAND, "--show-completion", "bash"]
    shown = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert "complete -o default -F" in shown.stdout


def test_a_report_of_many_parts_has_a_legend_and_no_warning(tmp_path, capsys):
    path = written(tmp_path / "a.csv", rows(400))
    assert call(["run", path, "-q", "--report", str(tmp_path / "r.html")]) == 0
    assert len(capsys.readouterr().err.splitlines()) == 1
    columns = {"n": np.array([1, 2]), **{f"weights[part {i}]": np.full(2, 1 / 60) for i in range(60)}}
    figure = ny.plot.weights_chart(ny.evaluate.Result("many", "many", columns))
    assert len(figure.axes[0].get_legend().get_texts()) == 60


@pytest.mark.parametrize(
    ("learner", "ability"),
    [
        (ny.FOGD(ny.Gaussian(1.0)), "probabilities"),
        (ny.Auto(), "probabilities"),
        (ny.Auto(task="classification"), "predict_interval"),
        (ny.compose.Standardized(ny.FOGD(ny.Gaussian(1.0))), "probabilities"),
    ],
)
def test_a_missing_ability_never_recommends_the_learner_itself(learner, ability):
    with pytest.raises(ny.Unable) as refused:
        learner._require(ability)
    able = re.search(r"learners with `\w+` are (.*?)(?: and \d+ more)?$|no other learner", str(refused.value))
    assert able is not None
    named = (able[1] or "").split(", ")
    assert not {"FOGD", "Standardized"} & set(named) if "FOGD" in repr(learner) else "Auto" not in named
