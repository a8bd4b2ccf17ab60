"""Thousands of changed model files: each loads or is refused with a ValueError, and none takes the process with it."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import nystream
from forgery import mutate_state, mutated, opened, sealed
from nystream import Gaussian, Perceptron

GOLDEN = Path(__file__).parent / "golden/format1"
SAVED = (
    *("aggregate-y", "auto-warming-classes", "auto-warm-numbers", "baseline", "bsgd-merge-softmax"),
    *("classifier-one-versus-rest-hinge-late", "fogd-adam-softmax", "forgetting", "kernel-ridge-weights", "kons"),
    *("map-learned-metric", "metric-auc", "model-fogd-classification", "nolana-warm-gd_ls", "norma-late-class"),
    *("nystrom-pkawv-exact-kors", "ons-kors-4", "pixels-silk", "pkawv-weights", "random-budget-perceptron", "rrf"),
    *("sketched-kons", "sketched-ons", "svmd"),
)
"""Small models of every kind that mutations start from."""
MUTATIONS = 120
"""Of each."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAVED)
def test_a_mutated_file_loads_or_is_refused(name):
    old = (GOLDEN / f"{name}.nys").read_bytes()
    new = nystream.to_bytes(nystream.load(GOLDEN / f"{name}.nys"))
    rng, refusals = random.Random(name), []
    for i in range(MUTATIONS):
        content = mutated(old if i % 5 == 0 else new, rng)
        try:
            nystream.from_bytes(content)
        except ValueError as error:
            refusals.append(str(error))
    assert len(refusals) > MUTATIONS // 2
    assert not [message for message in refusals if "\n" in message or len(message) > 600]


def go_on(names, mutations):
    """Load mutated files and use what loads, whatever it raises; names what it does next. In a process of its own."""
    expected = json.loads((GOLDEN / "expected.json").read_text())
    tables = {name: np.array(table["rows"], table["dtype"]) for name, table in expected["tables"].items()}
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    used = 0
    for name in names:
        content = nystream.to_bytes(nystream.load(GOLDEN / f"{name}.nys"))
        for seed in range(mutations):
            print(name, seed, flush=True)
            header, tensors = opened(content)
            mutate_state(header, tensors, random.Random(f"{name} {seed}"))
            try:
                model = nystream.from_bytes(sealed(header, tensors))
            except ValueError:
                continue
            used += 1
            for call in expected["files"][name]["calls"]:
                signal.setitimer(signal.ITIMER_REAL, 5)  # state that makes no sense may ask for much time
                try:
                    found = model
                    for part in call["name"].split("."):
                        found = getattr(found, part)
                    if "args" in call:
                        found(*(_rows(tables, argument) for argument in call["args"]))
                except (Exception, KeyboardInterrupt):
                    break
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    print("used", used)


def _rows(tables, argument):
    if not isinstance(argument, list):
        return argument
    table, start, stop = argument
    return tables[table][start] if stop is None else tables[table][start:stop]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_state_that_contradicts_itself_does_not_take_the_process_with_it():
    code = f"import test_mutated_files as t; t.go_on({SAVED}, 40)"
    folder = Path(__file__).parent
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, f"{run.stdout.splitlines()[-1:]} {run.stderr[-2000:]}"
    assert int(run.stdout.split()[-1]) > 40 * len(SAVED) // 4


def test_files_that_are_only_sealed_again_load():
    """The mutations above start from files that are right."""
    perceptron = Perceptron(Gaussian(1.0))
    assert nystream.from_bytes(sealed(*opened(perceptron.to_bytes()))).to_bytes() == perceptron.to_bytes()
    header, tensors = opened((GOLDEN / "perceptron.nys").read_bytes())
    assert header["format"] == 1
    assert nystream.from_bytes(sealed(header, tensors)).n_seen
