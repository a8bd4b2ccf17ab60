"""Thousands of changed model files: each loads or is refused with a ValueError, and none takes the process with it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest
from forgery import mutate_state, mutated, opened, sealed

import nystream
from nystream import Gaussian, Perceptron

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
from write import every_case

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


@cache
def saved_cases():
    """The models of `SAVED` by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {case.name: case for case in every_case() if case.name in SAVED}
    assert set(found) == set(SAVED)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAVED)
def test_a_mutated_file_loads_or_is_refused(name):
    content = nystream.to_bytes(saved_cases()[name].model)
    rng, refusals = random.Random(name), []
    for _ in range(MUTATIONS):
        try:
            nystream.from_bytes(mutated(content, rng))
        except ValueError as error:
            refusals.append(str(error))
    assert len(refusals) > MUTATIONS // 2
    assert not [message for message in refusals if "\n" in message or len(message) > 600]


def go_on(names, mutations):
    """Load mutated files and use what loads, whatever it raises; names what it does next. In a process of its own."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    used = 0
    for name in names:
        case = saved_cases()[name]
        content = nystream.to_bytes(case.model)
        for seed in range(mutations):
            print(name, seed, flush=True)
            header, tensors = opened(content)
            mutate_state(header, tensors, random.Random(f"{name} {seed}"))
            try:
                model = nystream.from_bytes(sealed(header, tensors))
            except ValueError:
                continue
            used += 1
            for call in case.calls:
                signal.setitimer(signal.ITIMER_REAL, 5)  # state that makes no sense may ask for much time
                try:
                    call.on(model)
                except (Exception, KeyboardInterrupt):
                    break
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    print("used", used)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_state_that_contradicts_itself_does_not_take_the_process_with_it():
    folder = Path(__file__).parent
    code = f"import sys; sys.path.append('../helpers'); import test_mutated_files as t; t.go_on({SAVED}, 40)"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, f"{run.stdout.splitlines()[-1:]} {run.stderr[-2000:]}"
    assert int(run.stdout.split()[-1]) > 40 * len(SAVED) // 4


def test_files_that_are_only_sealed_again_load():
    """The mutations above start from files that are right."""
    perceptron = Perceptron(Gaussian(1.0))
    assert nystream.from_bytes(sealed(*opened(perceptron.to_bytes()))).to_bytes() == perceptron.to_bytes()
