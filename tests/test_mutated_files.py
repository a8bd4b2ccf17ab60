"""Thousands of changed model files: each loads or is refused with a ValueError, and none takes the process with it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import nystream
from forgery import mutated, opened, sealed
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


def test_files_that_are_only_sealed_again_load():
    """The mutations above start from files that are right."""
    perceptron = Perceptron(Gaussian(1.0))
    assert nystream.from_bytes(sealed(*opened(perceptron.to_bytes()))).to_bytes() == perceptron.to_bytes()
    header, tensors = opened((GOLDEN / "perceptron.nys").read_bytes())
    assert header["format"] == 1
    assert nystream.from_bytes(sealed(header, tensors)).n_seen
