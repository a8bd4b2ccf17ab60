"""All of nystream.spark through a server of Spark Connect that a process of its own starts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
for needed in ("grpc", "grpc_status", "zstandard"):
    pytest.importorskip(needed, reason=f"Spark Connect needs {needed}: pip install 'nystream[spark-connect]'")

pytestmark = pytest.mark.exhaustive  # a server and its workers take a while to start
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What on_connect.py prints."""
    folders = [str(HERE), str(HERE.parent), str(HERE.parent / "helpers")]
    paths = [*folders, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(HERE / "on_connect.py"), str(tmp_path_factory.mktemp("connect"))]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **threads, **own}, timeout=1100)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.strip().splitlines()[-1])


def test_frames_are_learnt_and_predicted_as_on_one_machine(found):
    assert found["session"] == "pyspark.sql.connect.session"
    assert found["fit"] < 1e-10
    assert found["dictionary"] == found["auto"] == 600
    assert found["predict"] < 1e-12


def test_estimators_work_in_pipelines_and_are_saved(found):
    assert found["estimator"]["error"] < 0.2
    assert found["estimator"]["loaded"] == 0.0


def test_streams_are_learnt_by_key_and_into_one_model(found):
    assert found["evaluated"] == {"all": 600, "k0": 200, "k1": 200, "k2": 200}
    assert found["keys"] == {"k0": 200, "k1": 200, "k2": 200}
    assert found["models"] == ["000000.nys", "000001.nys"]
    assert found["stream"] < 1e-10


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("null", r"ValueError: column 'x0', a feature, is void, not a number"),
        ("stream with a null", r"ValueError: batch 0 \(file 0.parquet\): .*column 'x0' is missing, and PKRR takes"),
        ("no checkpoint", r"ValueError: checkpoint='.*' is no checkpoint of a per_key stream"),
        ("Java", r"WorkerError: Spark could not run this: \[USER_RAISED_EXCEPTION\] b"),
    ],
)
def test_what_goes_wrong_is_one_line(found, what, message):
    assert re.match(message, found[what])
    assert "\n" not in found[what]
