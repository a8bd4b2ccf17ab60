"""`nystream race`, `list` and `bench`."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys

import numpy as np
import pytest

import nystream
from nystream.cli.app import call
from nystream.learners import FOGD
from nystream.learners.families.feature import FeatureLearner
from nystream.registry import LEARNERS
from nystream.runtime.processes import FORK


def test_a_race_prints_a_table_and_draws_a_chart(tmp_path, capsys):
    learners = "baseline,pkrr,kernel-awv,fogd"
    assert call(["race", "friedman", "--rows", "600", "-l", learners, "--dim", "60", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in learners.split(","):
        assert name in said
    for column in ("mse", "of mean", "of last", "regret", "size", "bytes", "rows/s"):
        assert column in said
    assert (tmp_path / "friedman.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "friedman.svg").read_text()
    readings = json.loads((tmp_path / "friedman.json").read_text())["results"]
    assert [r["name"] for r in readings] == learners.split(",")
    assert all(r["columns"]["of_mean"][-1] < 1.0 for r in readings)


@pytest.mark.skipif(not FORK, reason="processes cannot be forked here")
def test_learners_that_race_in_processes_have_the_same_readings(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("nystream.cli.race._chart", lambda *_: "no chart")
    learners = ["pkrr", "kernel-awv", "aggregate"]
    race = ["race", "friedman", "--rows", "400", "-l", ",".join(learners), "--dim", "40", "--every", "100"]
    found = []
    for jobs in ("1", "2"):
        out = tmp_path / jobs
        assert call([*race, "--out", str(out), "--jobs", jobs]) == 0
        found.append({r["name"]: r["columns"] for r in json.loads((out / "friedman.json").read_text())["results"]})
    assert "rows/CPU s" in capsys.readouterr().out
    for name in learners:
        for column, values in found[0][name].items():
            assert column == "rows_per_second" or found[1][name][column] == values, (name, column)
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(not FORK, reason="processes cannot be forked here")
def test_a_learner_that_fails_in_its_process_is_one_line_and_exit_code_2(tmp_path, capsys, monkeypatch):
    def full(self, X, Y, weights):
        if self.n_seen_ < 100:
            return FeatureLearner._run(self, X, Y, weights)
        raise ValueError("there is no room")

    monkeypatch.setattr(FOGD, "_run", full)
    race = ["race", "friedman", "--rows", "400", "-l", "pkrr,fogd", "--dim", "40", "--every", "50"]
    told = []
    for jobs in ("1", "2"):
        assert call([*race, "--out", str(tmp_path), "-j", jobs]) == 2
        told.append(capsys.readouterr().err)
    assert (
        told[0] == told[1] == "nystream: fogd: there is no room (in the block that starts at row 100 of the stream)\n"
    )
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("classes", [False, True])
def test_race_and_run_give_the_same_error_for_the_same_learner(tmp_path, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1, 100, 1e4]
    y = 1000 + 50 * np.sin(X[:, 0]) + X[:, 1]
    labels = np.where(y > 1000, "up", "down") if classes else y
    rows = [",".join(map(str, [*x, label])) for x, label in zip(X.tolist(), labels.tolist(), strict=True)]
    (tmp_path / "s.csv").write_text("\n".join(["a,b,c,y", *rows]))
    names = "auto,pkrr,ons,fogd,svmd" if not classes else "auto,pkrr,fogd"
    assert call(["race", str(tmp_path / "s.csv"), "-l", names, "--out", str(tmp_path / "o")]) == 0
    raced = {r["name"]: r["columns"] for r in json.loads((tmp_path / "o" / "s.json").read_text())["results"]}
    metric = "accuracy" if classes else "mse"
    for name in names.split(","):
        assert call(["run", str(tmp_path / "s.csv"), "-q", "-l", name, "--result", str(tmp_path / "r.json")]) == 0
        alone = json.loads((tmp_path / "r.json").read_text())["columns"]
        assert alone[metric][-1] == pytest.approx(raced[name][metric][-1], rel=1e-9), name
        assert classes or alone["of_mean"][-1] < 1.0, name


def test_missing_values_are_raced_on_by_those_who_take_them(tmp_path, capsys):
    rows = [f"{'' if i % 4 == 0 else i % 7},{i % 5},{i % 7 + 0.1 * (i % 5)}" for i in range(120)]
    (tmp_path / "h.csv").write_text("a,b,y\n" + "\n".join(rows))
    arguments = ["race", str(tmp_path / "h.csv"), "--out", str(tmp_path), "-l"]
    assert call([*arguments, "auto,pkrr,fogd"]) == 2
    said = capsys.readouterr()
    assert "h.csv:2: column 'a' is missing; not taken by pkrr, fogd: fill or remove such rows" in said.err
    assert "nan" not in said.out  # no reading was made
    assert call([*arguments, "auto"]) == 0


def test_targets_without_a_deviation_are_refused(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = np.c_[X, 1e160 * X[:, 0]]
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header="a,b,c,y", comments="")
    assert call(["race", str(tmp_path / "a.csv"), "--out", str(tmp_path)]) == 2
    assert "too large for their deviation; divide them first" in capsys.readouterr().err


def test_classes_are_raced_on_accuracy(tmp_path, capsys):
    rows = [f"{i % 7 / 7},{i % 5 / 5},{'red' if (i % 7) > (i % 5) else 'blue'}" for i in range(400)]
    (tmp_path / "c.csv").write_text("a,b,colour\n" + "\n".join(rows))
    assert call(["race", str(tmp_path / "c.csv"), "-l", "pkrr,fogd", "--dim", "60", "--out", str(tmp_path)]) == 0
    assert "accuracy" in capsys.readouterr().out
    results = json.loads((tmp_path / "c.json").read_text())["results"]
    assert all(r["columns"]["accuracy"][-1] > 0.8 for r in results)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["race"], "name a file"),
        (["race", "friedman"], "--rows"),
        (["race", "friedman", "--rows", "50", "-l", "nobody"], "no learner is called 'nobody'"),
        (["race", "no-such-generator"], "no-such-generator"),
        (["bench", "nobody"], "no learner is called 'nobody'"),
        (["fly"], "No such command 'fly'"),
        (["race", "friedman", "--rows", "50", "-l", "pkrr,PKRR"], "pkrr is named twice"),
        (["race", "friedman", "--rows", "50", "--task", "ranking"], "--task is regression, classification or novelty"),
        (["race", "friedman", "--rows", "50", "--every", "0"], "--every"),
        (["race", "friedman", "--rows", "50", "--out", __file__], "File exists"),
        (["bench", "fogd", "--repeats", "0"], "--repeats"),
        (["race", "friedman", "--rows", "50", "--jobs", "0"], "--jobs"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert call(arguments) == 2
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert refusal.startswith("nystream: ")
    assert message in refusal


def test_list_shows_every_learner(capsys):
    assert call(["list", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == set(LEARNERS)
    assert all(row["summary"].endswith(".") and row["paper"] for row in shown.values())
    assert call(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80  # nothing wrapped, nothing cut
    assert "kernel-awv               R C   t^2             regret (k)  short streams" in [
        line.rstrip() for line in lines
    ]


def test_list_of_one_learner_shows_its_parameters_and_of_a_task_those_that_take_it(capsys):
    assert call(["list", "SILK"]) == 0
    shown = capsys.readouterr().out
    assert "budget      128" in shown
    assert "kernel      Gaussian()" in shown
    assert call(["list", "--task", "novelty"]) == 0
    shown = capsys.readouterr().out
    assert "silk" in shown
    assert "pkrr" not in shown
    assert call(["list", "silk", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["silk"]
    assert (record["defaults"]["budget"], record["tasks"][-1], record["merges"]) == (128, "novelty", False)
    assert call(["list", "pkrr", "--task", "novelty"]) == 2
    assert "pkrr is for regression and classification, not for 'novelty'" in capsys.readouterr().err
    assert call(["list", "--task", "ranking"]) == 2


def test_bench_measures_what_it_is_asked_to(capsys):
    assert call(["bench", "fogd", "--repeats", "1"]) == 0
    assert "fogd" in capsys.readouterr().out


def test_the_version_is_told(capsys, monkeypatch):
    monkeypatch.setenv("NYSTREAM_THREADS", "3")
    assert call(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"nystream {nystream.__version__}")
    assert call(["--version", "-v"]) == 0
    told = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines()[1:])
    assert told["numpy"] == np.__version__
    assert told["instruction set"] in ("plain", "base", "avx2", "avx512")
    assert told["linear algebra"]
    assert told["linear algebra of NumPy"]
    assert told["processors"].endswith("threads: 3")
    assert told["NYSTREAM_THREADS"] == "3"
    assert call(["-v"]) == 2


def test_without_a_command_there_is_the_help_and_no_empty_complaint(capsys):
    assert call([]) == 2
    said = capsys.readouterr()
    assert "Usage:" in said.out + said.err
    assert "nystream:  (see" not in said.err


def test_without_matplotlib_only_the_chart_is_missing(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from nystream.cli.app import call\n"
        "assert call(['list']) == 0\n"
        "assert call(['run', 'sine', '--rows', '50', '-q']) == 0\n"
        "sys.exit(call(['race', 'sine', '--rows', '50', '-l', 'pkrr', '--dim', '20', '--out', 'o']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no chart: nystream.plot needs matplotlib; install it with: pip install 'nystream[plot]'" in done.stdout
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["sine.json"]
