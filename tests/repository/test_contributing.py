"""The learners that CONTRIBUTING shows, one of each family, and its solver run and keep the laws of rounds."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import reference

from laws import LAWS, Variant
from nystream import KORS, Fourier, Gaussian
from nystream.learners.base import Learner
from nystream.learners.families.expansion import ExpansionLearner
from nystream.learners.families.feature import FeatureLearner

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
TEXT = PAGE.read_text(encoding="utf-8")
SHOWN = ModuleType("shown_in_contributing")  # a module, so that copies find the classes
sys.modules[SHOWN.__name__] = SHOWN
for _number, _block in enumerate(re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE), start=1):
    exec(compile(_block, f"CONTRIBUTING.md, Python block {_number}", "exec"), SHOWN.__dict__)
CLASSES = [kind for kind in vars(SHOWN).values() if isinstance(kind, type) and kind.__module__ == SHOWN.__name__]
LEARNERS = [kind for kind in CLASSES if issubclass(kind, Learner)]
ROUNDS = [name for name, law in LAWS.items() if law.check.__module__ == "laws.rounds"]


def test_every_family_is_shown():
    families = Path(sys.modules["nystream.learners.families.expansion"].__file__).parent
    shown = set(re.findall(r"^\*\*[A-Z][a-z ]+\*\* \(`(\w+)\.py`\)", TEXT, re.MULTILINE))
    parts = {"__init__", "atoms", "averaging", "bulk", "loss", "tabular"}  # of families, not families
    parts.add("sparse")  # has no kernel: the page points at its two learners instead
    assert shown == {file.stem for file in families.glob("*.py")} - parts
    assert len(LEARNERS) == len(shown)


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("law", ROUNDS)
def test_what_is_shown_keeps_the_laws_of_rounds(kind, law, tmp_path):
    variant = Variant(kind(Gaussian(0.7)))
    if LAWS[law].concerns(variant):
        LAWS[law](variant, tmp_path)


class NormalisedDescent(FeatureLearner):
    """The solver that is shown, on a map."""

    multi_output = True

    def __init__(self, features):
        self.features = features

    def _parts(self):
        return self.features._as_parameter(), SHOWN.NormalisedSteps()


@pytest.mark.parametrize("features", [Fourier(Gaussian(0.7), 20, seed=0), KORS(Gaussian(0.7), 0.1, seed=0)])
@pytest.mark.parametrize("law", ROUNDS)
def test_the_solver_that_is_shown_keeps_the_laws_also_on_a_map_that_starts_empty(features, law, tmp_path):
    variant = Variant(NormalisedDescent(features))
    if LAWS[law].concerns(variant):
        LAWS[law](variant, tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in LEARNERS if issubclass(kind, ExpansionLearner)])
def test_compiled_and_written_rounds_agree(kind):
    learner = kind(Gaussian(0.7), budget=15)
    rows = Variant(learner, weights=learner.weighted).stream()
    assert_allclose(rows.into(reference(learner)), rows.into(learner), rtol=1e-12, atol=1e-12)


def test_what_is_shown_learns():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    f = np.sin(3 * X[:, 0]) + X[:, 1]
    for kind in LEARNERS:
        learner = kind(Gaussian(0.5))
        assert isinstance(learner, Learner)
        y = f if learner.labels == "real" else np.sign(f)
        p = learner.run(X, y)
        good = np.mean((p - y)[300:] ** 2) < 0.1 * y.var() if learner.labels == "real" else np.mean(p * y > 0) > 0.85
        assert good, kind.__name__
