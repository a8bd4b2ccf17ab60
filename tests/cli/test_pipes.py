"""A named pipe is read as standard input is: once, every line of it, and nobody waits for more than there is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from children import PATIENCE, started

import nystream
from nystream.cli.app import call
from nystream.cli.rows import open_rows

COMMAND = [sys.executable, "-m", "nystream.cli.main"]
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


def lines(n, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, 3))
    return "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows)


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "rows")
    return tmp_path / "rows"


@pytest.fixture
def filled(pipe):
    """A pipe into which a thread writes 3000 rows."""
    thread = threading.Thread(target=pipe.write_text, args=(lines(3000),), daemon=True)
    thread.start()
    yield pipe
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_no_row_is_lost(filled, capsys):
    assert call(["run", str(filled), "-l", "fogd"]) == 0
    assert any(line.startswith("3000 rows in ") for line in capsys.readouterr().err.splitlines())


def test_it_is_not_read_ahead(filled, tmp_path):
    (tmp_path / "file").write_text(lines(10))
    assert open_rows(str(tmp_path / "file")).ahead
    rows = open_rows(str(filled))
    assert not rows.ahead
    assert sum(len(block) for block, _ in rows.blocks(100)) == 3000


def test_stopping_does_not_wait_for_more_rows(pipe, tmp_path):
    command = [*COMMAND, "run", str(pipe), "-l", "fogd", "--sigma", "1", "-f", "m.nys", "--block", "1"]
    with started(command, cwd=tmp_path, text=True, stderr=subprocess.PIPE) as process, pipe.open("w") as file:
        file.write(lines(1100))  # and more may come
        file.flush()
        seen = process.stderr.readline()
        while seen and " 512 " not in seen:
            seen = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert "(stopped)" in said
    assert nystream.load(tmp_path / "m.nys").n_seen >= 512
