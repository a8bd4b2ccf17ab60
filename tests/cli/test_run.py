"""`nystream run` as people use it: files, pipes, resuming, testing, stopping, and clear refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from children import PATIENCE, started

import nystream
from nystream.cli.app import call

COMMAND = [sys.executable, "-m", "nystream.cli.main"]


REALS = "a,b,y\n" + "".join(f"{i},{i % 7},{i / 8 + 0.1}\n" for i in range(50))


def write_csv(path, n=400, classes=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    y = np.where(f > 0, "up", "down") if classes else f
    lines = ["a,b,c,y", *(f"{r[0]},{r[1]},{r[2]},{t}" for r, t in zip(X, y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return X, y


def nystream_run(*arguments, **options):
    return subprocess.run(
        [*COMMAND, "run", *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


def test_a_file_is_learnt_and_progress_comes_at_powers_of_two(tmp_path, capsys):
    write_csv(tmp_path / "a.csv")
    assert call(["run", str(tmp_path / "a.csv")]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    table, lines = said.err.splitlines()[:6], said.err.splitlines()[6:]
    assert [line.split()[1] for line in table[:5]] == ["kind", "number", "number", "number", "target"]
    assert table[5].startswith("to read a column in another way: --kind NAME=number|boolean|")
    assert "regression, Auto()" in lines[0]
    assert lines[1].startswith("task: regression, because the labels are numbers with fractions (")
    assert [line.split()[0] for line in lines[3:13]] == ["1", "2", "4", "8", "16", "32", "64", "128", "256", "400"]
    assert lines[3].split()[1] == "-"  # nothing was known before the first label
    assert float(lines[12].split()[1]) < 1.0  # the target's variance is about 1.5
    assert lines[13].startswith("400 rows in ")
    relative = r"Squared error relative to always predicting the mean: [\d.]+%; relative to repeating the last value: "
    assert re.fullmatch(relative + r"[\d.]+%\.", lines[14])
    assert re.fullmatch(r"relies on ([^;]+ \d+%; ){4}\.\.\.", lines[15])
    assert len(lines) == 16


def test_predictions_equal_those_of_the_library(tmp_path):
    X, y = write_csv(tmp_path / "a.csv")
    arguments = [
        "run",
        str(tmp_path / "a.csv"),
        "-q",
        "-p",
        str(tmp_path / "p"),
        "-l",
        "kernel-ridge",
        "--sigma",
        "1.5",
        "--no-standardize",
    ]
    assert call([*arguments, "--set", "lam=0.3"]) == 0
    expected = nystream.KernelRidge(nystream.Gaussian(1.5), lam=0.3).run(X, y)
    np.testing.assert_allclose(np.loadtxt(tmp_path / "p"), expected, rtol=1e-8, atol=1e-9)


def test_resuming_gives_the_predictions_of_one_run(tmp_path):
    write_csv(tmp_path / "whole.csv", classes=True)
    lines = (tmp_path / "whole.csv").read_text().splitlines()
    (tmp_path / "first.csv").write_text("\n".join(lines[:251]))
    # the second half begins with the other class: classes keep their numbers by name, not by order
    second = sorted(lines[251:], key=lambda line: line.endswith(lines[1].rpartition(",")[2]))
    (tmp_path / "second.csv").write_text("\n".join([lines[0], *second]))
    (tmp_path / "both.csv").write_text("\n".join([*lines[:251], *second]))
    for name, extra in [("both", []), ("first", ["-f", "m.nys"]), ("second", ["-i", "m.nys", "-f", "m2.nys"])]:
        done = nystream_run(f"{name}.csv", "-q", "-p", f"{name}.txt", *extra, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    once = (tmp_path / "both.txt").read_text()
    assert (tmp_path / "first.txt").read_text() + (tmp_path / "second.txt").read_text() == once
    assert set(once.split()) == {"?", "up", "down"}
    assert once.split().count("?") == 1  # of the very first row no class was known


def test_the_seed_can_be_a_setting_too(tmp_path):
    write_csv(tmp_path / "a.csv")
    told = []
    for words in (["--seed", "3"], ["--set", "seed=3"], ["--seed", "4"]):
        assert call(["run", str(tmp_path / "a.csv"), "-q", "-l", "fogd", "-p", str(tmp_path / "p"), *words]) == 0
        told.append((tmp_path / "p").read_text())
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        (["-0.5", "1.25"], "regression"),
        (["0.5"], "regression"),
        (["0.5", "1.5"] * 20, "regression"),
        (["0", "1"], "classification"),
        (["1", "2", "3.5"], "regression"),
    ],
)
def test_a_few_fractions_are_numbers_and_a_few_whole_numbers_classes(tmp_path, capsys, targets, task):
    rows = [f"{i},{i % 3},{target}" for i, target in enumerate(targets)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    assert call(["run", str(tmp_path / "a.csv")]) == 0
    assert f"a.csv: {task}, Auto(" in capsys.readouterr().err


def test_testing_learns_nothing(tmp_path):
    write_csv(tmp_path / "a.csv")
    assert call(["run", str(tmp_path / "a.csv"), "-q", "-f", str(tmp_path / "m")]) == 0
    before = (tmp_path / "m").read_bytes()
    assert call(["run", str(tmp_path / "a.csv"), "-q", "-t", "-i", str(tmp_path / "m"), "-p", str(tmp_path / "p")]) == 0
    assert (tmp_path / "m").read_bytes() == before
    model = nystream.load(tmp_path / "m")
    X = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)[:, :3]
    np.testing.assert_allclose(np.loadtxt(tmp_path / "p"), model.predict(X), rtol=1e-8)


def test_a_pipe_is_read_and_predictions_are_written_to_one(tmp_path):
    write_csv(tmp_path / "a.csv", classes=True)
    done = nystream_run("-", "-q", "-p", "-", input=(tmp_path / "a.csv").read_text(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 400
    assert re.fullmatch(r"400 rows in [\d.]+ s: accuracy [\d.]+; [\d,]+ bytes\n", done.stderr)


def test_a_reader_that_goes_away_is_no_error_and_the_model_is_saved(tmp_path):
    write_csv(tmp_path / "a.csv", n=30_000)
    command = f"{' '.join(COMMAND)} run a.csv -q -l fogd -p - -f m.nys | head -n 2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    result, saved = done.stderr.splitlines()
    rows = nystream.load(tmp_path / "m.nys").n_seen
    assert 0 < rows < 30_000
    assert result.startswith(f"{rows} rows in ")
    assert saved == f"saved m.nys with the {rows:,} rows learnt before the end"


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX here")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopping_saves_what_was_learnt(tmp_path, stop):
    command = [*COMMAND, "run", "-", "-f", "m.nys", "--block", "1"]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    rng = np.random.default_rng(0)
    with started(command, cwd=tmp_path, text=True, **pipes) as process:
        process.stdin.write("a,b,y\n")
        for row in rng.normal(size=(1200, 3)):
            process.stdin.write(",".join(map(str, row)) + "\n")
        process.stdin.flush()
        seen = process.stderr.readline()
        while seen and " 512 " not in seen:
            seen = process.stderr.readline()
        process.send_signal(stop)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + stop, said
    assert "(stopped)" in said
    model = nystream.load(tmp_path / "m.nys").learner_
    assert model.n_seen >= 512
    # whole blocks were learnt, and they are what was counted
    assert any(line.startswith(f"{model.n_seen} rows in ") for line in said.splitlines())


def test_signals_mean_afterwards_what_they_did_before(tmp_path):
    write_csv(tmp_path / "a.csv")
    before = [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)]
    for arguments in (["-q"], ["-q", "-p", str(tmp_path / "absent" / "p")]):
        call(["run", str(tmp_path / "a.csv"), "-l", "fogd", *arguments])
        assert [signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)] == before


def test_empty_cells_are_missing_values_to_the_default_learner(tmp_path):
    X, y = write_csv(tmp_path / "a.csv")
    X[::5, 1] = np.nan
    rows = zip(X.tolist(), y.tolist(), strict=True)
    cells = [",".join("" if v != v else repr(v) for v in (*x, t)) for x, t in rows]
    (tmp_path / "holes.csv").write_text("\n".join(["a,b,c,y", *cells]))
    np.save(tmp_path / "holes.npy", np.column_stack([X, y]))
    expected = nystream.Auto().run(X, y)
    for name in ("holes.csv", "holes.npy"):
        assert call(["run", str(tmp_path / name), "-q", "-p", str(tmp_path / "p"), "-f", str(tmp_path / "m")]) == 0
        np.testing.assert_allclose(np.loadtxt(tmp_path / "p"), expected, rtol=1e-8, atol=1e-9)
    assert np.isfinite(nystream.load(tmp_path / "m").predict(X)).all()


def test_memory_and_deadline_are_settings_of_the_default_learner(tmp_path):
    write_csv(tmp_path / "a.csv", classes=True)
    arguments = ["run", str(tmp_path / "a.csv"), "-q", "-f", str(tmp_path / "m")]
    assert call([*arguments, "--set", "memory=2MB", "-s", "deadline=1s", "-s", "lags=false"]) == 0
    learner = nystream.load(tmp_path / "m").learner_
    assert repr(learner) == "Auto(memory='2MB', deadline='1s', lags=False, task='classification')"
    assert learner.nbytes < 2e6


def test_weights_are_read_beside_the_usual_metric(tmp_path, capsys):
    write_csv(tmp_path / "a.csv")
    arguments = ["run", str(tmp_path / "a.csv"), "-m", "weights", "--result", str(tmp_path / "r.json")]
    assert call(arguments) == 0
    assert ["rows", "mse", "size", "rows/s"] in [line.split() for line in capsys.readouterr().err.splitlines()]
    columns = json.loads((tmp_path / "r.json").read_text())["columns"]
    shares = [values for name, values in columns.items() if name.startswith("weights[")]
    np.testing.assert_allclose(np.sum(shares, axis=0), 1.0)


def test_readings_are_saved_as_json(tmp_path):
    write_csv(tmp_path / "a.csv")
    assert (
        call(["run", str(tmp_path / "a.csv"), "-q", "--result", str(tmp_path / "r.json"), "-m", "mse", "-m", "mae@100"])
        == 0
    )
    saved = json.loads((tmp_path / "r.json").read_text())
    assert saved["meta"]["rows"] == 400
    assert len(saved["columns"]["mae@100"]) == len(saved["columns"]["n"]) == 10


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "no file 'in.csv'"),
        ("", [], "empty"),
        ("a,b,y\n1,2,3\n1,2\n", [], "2 fields"),
        ("a,b,y\n1,2,3\n1,x,4\n", ["--kind", "b=number"], "in.csv:3: column 'b' is 'x', which is no finite number"),
        ("a,b,y\n1,2,3\n1,,4\n", ["-l", "pkrr"], "in.csv:3: column 'b' is missing, and PKRR takes no missing values"),
        (REALS, ["--set", "lags=perhaps"], "lags must be yes or no, got 'perhaps'"),
        (REALS, ["--kind", "b"], "--kind takes name=kind, got 'b'"),
        (REALS, ["--kind", "b=float"], "kind of b must be one of 'number'"),
        (REALS, ["--drop", "z"], "there is no column 'z'"),
        (REALS, ["--drop", "a,b"], "none that is not ignored"),
        (REALS, ["--columns", "a,y"], "column 'y' is both a target and an input"),
        (REALS, ["--columns", "a,z"], "there is no column 'z'"),
        (REALS, ["-l", "perceptron"], "perceptron learns classes, and the target is a number; use auto, pkrr"),
        (
            REALS,
            ["-l", "bsgd", "-s", "loss=hinge"],
            "bsgd with loss='hinge' learns classes, and the target is",
        ),
        (REALS, ["-y", "a", "-y", "b", "--task", "classification"], "several targets are regression; in.csv has 2"),
        (REALS, ["--set", "memory=many"], "memory must be '64MB' or a number of bytes, got 'many'"),
        (REALS, ["--set", "lam=1"], "auto has no parameter 'lam'; it has memory, deadline, lags"),
        ("a,b,y\n1,2,3\n", ["--target", "z"], "z"),
        ("a,b,y\n1,2,3\n", ["--learner", "kernal-ridge"], "did you mean 'kernel-ridge'"),
        ("a,b,y\n1,2,3\n", ["-l", "pkrr", "--set", "lam=-1"], "lam must be a number greater than 0, got -1"),
        ("a,b,y\n1,2,3\n", ["-l", "pkrr", "--set", "lamb=1"], "no parameter 'lamb'"),
        ("a,b,y\n1,2,3\n", ["-l", "pkrr", "--sigma", "0"], "sigma must be"),
        ("a,b,y\n1,2,3\n", ["--set", "lam"], "--set takes name=value"),
        ("a,b,y\n1,2,3\n", ["--task", "ranking"], "--task is regression, classification or novelty"),
        ("a,b,y\n1,2,3\n", ["--metric", "acuracy"], "did you mean 'accuracy'"),
        ("a,b,y\n1,2,3\n", ["-t"], "--test needs a model"),
        ("a,b,y\n1,2,3\n", ["-i", "missing.nys"], "No such file"),
        ("a,b,y\n1,2,3\n", ["--rows", "many"], "--rows"),
        ("a,b,y\n1,2,3\n", ["--no-such-option"], "No such option"),
        ("a,b,y\n1,2,3\n", ["--rows", "0"], "--rows"),
        ("a,b,y\n1,2,3\n", ["--block", "0"], "--block"),
        ("a,b,y\n1,2,3\n", ["--delay", "-1"], "--delay"),
        ("a,b,y\n1,2,3\n", ["--sigma", "2"], "--sigma is the kernel width of a learner that is named with --learner"),
        ("a,b,y\n1,2,3\n", ["-f", "absent/m.nys"], "absent: No such folder"),
        ("a,b,y\n1,2,3\n", ["--result", "r.xls"], "cannot tell the format of 'r.xls'"),
        ("a,b,y\n1,2,3\n", ["--result", "absent/r.json"], "absent: No such folder"),
        ("a,b,y\n1,2,up\n", ["--task", "regression"], "the targets of in.csv are not all finite numbers (up)"),
        ("a,b,y\n1,2,up\n", ["-m", "mse"], "mse cannot be read from Auto"),
        (REALS, ["--task", "classification"], "in.csv has 50 different targets among its first 50"),
        (REALS, ["-l", "ons", "-s", "loss=softmax"], "ONS has one output, softmax needs one per class"),
        (REALS, ["-l", "fogd", "-s", "kernel=3"], "Fourier needs a shift-invariant kernel, got 3"),
        (REALS, ["-l", "fogd", "-s", "dim=1000000000000"], "8,000.0 GB of memory, this machine has"),
        (REALS, ["-l", "pkrr", "-s", "features__dim=9000000"], "9000000 features takes 324,000.3 GB of memory"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(tmp_path, monkeypatch, capsys, content, arguments, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "in.csv").write_text(content)
    assert call(["run", "in.csv", *arguments]) == 2
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert refusal.startswith("nystream: ")
    assert message in refusal


def test_nothing_is_learnt_before_it_is_known_that_the_model_can_be_saved(tmp_path, capsys):
    write_csv(tmp_path / "a.csv")
    assert call(["run", str(tmp_path / "a.csv"), "-f", str(tmp_path / "absent" / "m.nys")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_regression_model_refuses_classes(tmp_path, capsys):
    write_csv(tmp_path / "a.csv")
    write_csv(tmp_path / "c.csv", classes=True)
    assert call(["run", str(tmp_path / "a.csv"), "-q", "-f", str(tmp_path / "m")]) == 0
    assert call(["run", str(tmp_path / "c.csv"), "-q", "-i", str(tmp_path / "m")]) == 2
    assert "are not all finite numbers (up, down): correct them, or begin a new model" in capsys.readouterr().err


def test_a_slow_pipe_is_answered_row_by_row(tmp_path):
    write_csv(tmp_path / "a.csv")
    assert call(["run", str(tmp_path / "a.csv"), "-q", "-f", str(tmp_path / "m")]) == 0
    command = [*COMMAND, "run", "-", "-q", "-i", "m", "-p", "-", "--block", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(command, cwd=tmp_path, text=True, bufsize=1, **pipes) as process:
        process.stdin.write("a,b,c,y\n1,2,3,4\n")  # the first two lines tell the format
        for row in ("1,0,0,1", "0,1,0,1"):
            first = process.stdout.readline()  # would wait for ever if anything was held back
            assert np.isfinite(float(first))
            process.stdin.write(row + "\n")
        process.stdin.close()
        assert len(process.stdout.readlines()) == 1
    assert process.returncode == 0


def test_libsvm_comes_through_a_pipe(tmp_path):
    rows = "\n".join(f"{1 if i % 3 else -1} 1:{i % 3} 3:{i % 5}" for i in range(60))
    assert "--columns" in nystream_run("-", input=rows).stderr
    done = nystream_run("-", "--columns", "3", "-p", "-", input=rows)
    assert done.returncode == 0
    assert set(done.stdout.split()) == {"?", "1", "-1"}


def test_a_file_that_is_no_model_is_refused(tmp_path, capsys):
    write_csv(tmp_path / "a.csv")
    (tmp_path / "m").write_text("not a model")
    assert call(["run", str(tmp_path / "a.csv"), "-i", str(tmp_path / "m")]) == 2
    nystream.save(nystream.Gaussian(1.0), tmp_path / "m")
    assert call(["run", str(tmp_path / "a.csv"), "-i", str(tmp_path / "m")]) == 2
    nystream.FOGD(nystream.Gaussian(1.0)).save(tmp_path / "m")
    assert call(["run", str(tmp_path / "a.csv"), "-i", str(tmp_path / "m")]) == 2
    first, second, third = capsys.readouterr().err.splitlines()
    assert "not a nystream model" in first
    assert "holds a Gaussian, which is not a learner" in second
    assert "holds a FOGD that learns classes without their names" in third


def test_a_column_that_the_file_lacks_is_missing_and_an_unknown_one_is_told_once(tmp_path, capsys):
    write_csv(tmp_path / "a.csv")
    assert call(["run", str(tmp_path / "a.csv"), "-q", "-f", str(tmp_path / "m")]) == 0
    (tmp_path / "b.csv").write_text((tmp_path / "a.csv").read_text().replace("a,b,c", "b,a,d"))
    assert call(["run", str(tmp_path / "b.csv"), "-q", "-i", str(tmp_path / "m")]) == 0
    said = capsys.readouterr().err
    assert said.count("b.csv lacks 1 of the 3 columns of the model, which count as missing: c\n") == 1
    assert said.count("the model does not know column d: not used\n") == 1
    (tmp_path / "b.csv").write_text((tmp_path / "a.csv").read_text().replace("a,b,c", "d,e,f"))
    assert call(["run", str(tmp_path / "b.csv"), "-q", "-i", str(tmp_path / "m")]) == 2
    refused = "b.csv has none of the columns of the model (a, b, c); its columns are d, e, f"
    assert refused in capsys.readouterr().err


def test_strings_dates_booleans_decimal_commas_and_missing_labels_are_learnt_and_predicted(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["when;city;open;temp;load"]
    for i in range(120):
        city, warm, free = rng.choice(["Oslo", "Rome"]), 10 * rng.random(), bool(rng.random() < 0.5)
        load = "" if i % 40 == 7 else f"{2 * warm + 9 * (city == 'Oslo') + 3 * free:.3f}"
        lines.append(f"2026-01-{1 + i // 24:02d} {i % 24:02d}:00;{city};{free};{warm:.2f};{load}".replace(".", ","))
    Path("t.csv").write_text("\n".join(lines) + "\n")
    assert call(["run", "t.csv", "--target", "load", "-f", "m.nys"]) == 0
    said = capsys.readouterr().err
    assert "3 rows without a label were predicted and not learnt" in said
    Path("new.csv").write_text("\n".join(line.rsplit(";", 1)[0] for line in lines[:4]) + "\n")
    assert call(["predict", "new.csv", "-i", "m.nys", "--interval", "0.9"]) == 0
    answers = capsys.readouterr().out.splitlines()
    assert answers[0] == "prediction,prediction_low,prediction_high"
    for answer in answers[1:]:
        p, low, high = map(float, answer.split(","))
        assert low <= p <= high
    assert len(answers) == 4
    assert call(["predict", "new.csv", "-i", "m.nys", "--interval", "0.9", "--ahead", "1"]) == 0
    following = capsys.readouterr().out.splitlines()
    assert following[0] == answers[0]
    assert following[1:] != answers[1:]
    assert call(["predict", "new.csv", "-i", "m.nys", "--ahead", "2"]) == 2
    assert "--ahead must be 1 (the next row) or left out (some later row), got 2" in capsys.readouterr().err
    assert call(["run", "t.csv", "--target", "load", "--learner", "pkrr"]) == 0
    assert "t.csv: regression, Encoded(Standardized(PKRR(" in capsys.readouterr().err


@pytest.mark.parametrize("learner", [None, "sparse-linear", "gaussian-filter", "fogd"])
def test_a_wide_libsvm_file_stays_sparse_is_saved_resumed_and_predicted(tmp_path, monkeypatch, capsys, learner):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(120):
        places = np.unique(rng.integers(1, 10**6, size=8))
        lines.append(f"{rng.integers(2)} " + " ".join(f"{place}:{rng.integers(1, 5)}" for place in places))
    Path("a.svm").write_text("\n".join([*lines, "1 1:1 1000000:2"]) + "\n")
    Path("b.svm").write_text("\n".join(lines[:7]) + "\n")
    named = [] if learner is None else ["--learner", learner]
    assert call(["run", "a.svm", "-q", "-f", "m.nys", *named]) == 0
    assert call(["run", "b.svm", "-q", "-i", "m.nys", "-f", "m.nys"]) == 0
    assert call(["predict", "b.svm", "-i", "m.nys"]) == 0
    answers = capsys.readouterr().out.splitlines()
    assert len(answers) == 8
    assert set(answers[1:]) <= {"0", "1", "0.0", "1.0"}
    assert call(["race", "a.svm", "-l", "auto,fogd,sparse-linear", "--out", "race"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-l", "kons", "-m", "regret"], "-m regret is not for this learner, Standardized(StandardizedTarget(KONS))"),
        (["-l", "kons", "-m", "regret", "--no-standardize"], "regret_against(values, Y)"),
        (["-l", "kons", "-m", "regret_bound", "--no-standardize"], "depends on the norm of the comparator"),
        (["-l", "pkawv", "-m", "mse", "-m", "regret"], "--no-standardize keeps them as they are"),
        (["-l", "fogd", "-m", "regret_bound"], "-m regret_bound is not for this learner"),
    ],
)
def test_a_regret_that_the_learner_does_not_know_is_refused_and_not_a_column_of_nan(tmp_path, capsys, options, message):
    write_csv(tmp_path / "a.csv")
    assert call(["run", str(tmp_path / "a.csv"), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_regret_that_the_learner_knows_is_shown_with_its_bound(tmp_path, capsys):
    write_csv(tmp_path / "a.csv")
    options = ["-l", "pkawv", "-m", "regret", "-m", "regret_bound", "--no-standardize"]
    assert call(["run", str(tmp_path / "a.csv"), *options]) == 0
    lines = [line.split() for line in capsys.readouterr().err.splitlines()]
    rows = [line for line in lines if len(line) == 5 and line[0].isdigit()]
    assert len(rows) == 10
    assert all(float(row[1]) <= float(row[2]) for row in rows)
