"""The line that says how far long work has come: on a terminal only, after a while, erased before other lines."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys

import numpy as np
import pytest
from children import started

from nystream.cli import progress
from nystream.cli.progress import Bar, bar_of, estimated_rows


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that goes on by `step` seconds whenever it is read."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def monotonic(self):
        self.now += self.step
        return self.now


def seen(total, *, step=1.5, file=None, **options):
    """What a bar of five blocks of 100 rows writes."""
    file = Terminal() if file is None else file
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "time", Clock(step))
        bar = Bar(total, file=file, **options)
        assert list(bar.watch([100] * 5, lambda block: block)) == [100] * 5
    return file.getvalue()


def test_a_bar_shows_the_share_the_speed_and_the_time_left():
    lines = seen(500).split("\r\x1b[K")
    assert len(lines) == 7
    assert lines[0] == lines[-1] == ""  # nothing before, and erased at the end
    assert lines[2] == "[############                  ] 40%, 200 rows, 67 rows/s, 4 s left"
    assert lines[5] == f"[{'#' * 30}] 100%, 500 rows, 67 rows/s, 0 s left"
    assert "about 99%" in seen(500, about=True).split("\r\x1b[K")[5]  # an estimate is never sure of the end
    assert seen(None).split("\r\x1b[K")[3] == "300 rows, 67 rows/s"
    assert "2 h 04 min left" in seen(500_000).split("\r\x1b[K")[1]


def test_nothing_is_shown_for_short_work_in_files_or_when_quiet():
    assert seen(500, step=0.01) == ""
    assert seen(500, quiet=True) == ""
    assert seen(500, file=io.StringIO()) == ""


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_of_text_files_are_estimated(ending, tmp_path):
    path = tmp_path / f"rows.{ending}"
    with path.open("w") as file:
        for i in range(40_000):
            file.write(f"{i % 100},{i % 7},some text\n")
    assert estimated_rows(str(path)) == pytest.approx(40_000, rel=0.05)
    assert estimated_rows(str(tmp_path / "none.csv")) is None
    assert estimated_rows("-") is None
    (tmp_path / "rows.csv.gz").write_bytes(path.read_bytes())
    assert estimated_rows(str(tmp_path / "rows.csv.gz")) is None
    assert bar_of(str(path), None, limit=10).line(1.0).startswith("[")


AT_ONCE = """
from nystream.cli import main, progress
progress.PATIENCE = progress.PAUSE = 0.0
main.main()
"""
"""The command with a bar that is shown at once, however fast the machine is."""


def on_a_terminal(words, folder):
    """What a command writes to standard error while that is a terminal."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", AT_ONCE, *words]
    with started(program, cwd=folder, stderr=theirs, stdout=subprocess.DEVNULL) as running:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    assert running.returncode == 0, b"".join(parts)
    return b"".join(parts).decode()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of Unix")
def test_run_and_predict_show_a_bar_on_a_terminal(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 8))
    lines = [",".join(f"{v:.4f}" for v in row) for row in np.column_stack([X, np.sin(X[:, 0])])]
    (tmp_path / "rows.csv").write_text("a,b,c,d,e,f,g,h,y\n" + "\n".join(lines) + "\n")
    learnt = on_a_terminal(["run", "rows.csv", "-f", "m.nys", "--learner", "auto"], tmp_path)
    assert "\r\x1b[K[#" in learnt
    assert "about " in learnt
    whole = [line.rpartition("\x1b[K")[2] for line in learnt.replace("\r\n", "\n").split("\n")]
    assert any(line.split()[:1] == ["2,048"] for line in whole)  # lines of the table stand by themselves
    assert any(line.startswith(("3000 rows in ", "3,000 rows in ")) for line in whole)
    quiet = on_a_terminal(["run", "rows.csv", "-q", "--rows", "500"], tmp_path)
    assert "[#" not in quiet
    said = on_a_terminal(["predict", "rows.csv", "-i", "m.nys", "-o", "said.csv", "--block", "64"], tmp_path)
    assert len((tmp_path / "said.csv").read_text().splitlines()) == 3_001
    assert "\r\x1b[K[#" in said
    assert said.endswith("\r\x1b[K")
