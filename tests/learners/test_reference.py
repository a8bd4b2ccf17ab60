"""Compiled rounds of the expansion family against the rounds that the learners write in Python."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import reference

from laws import Variant
from nystream import (
    BSGD,
    ILK,
    NORMA,
    SILK,
    SVMD,
    BudgetPA,
    DualSGD,
    Forgetron,
    Gaussian,
    Linear,
    PassiveAggressive,
    Perceptron,
    Projectron,
    RandomBudgetPerceptron,
    from_bytes,
    to_bytes,
)
from nystream.dictionary.budget import DROPS
from nystream.dictionary.plain import PlainExpansion
from nystream.learners.families.expansion import ExpansionLearner
from nystream.losses import LOSSES, Hinge, StructuredHinge
from variants import VARIANTS
from variants.parts import OwnKernel, OwnLoss

G = Gaussian(0.6)
APART = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
STRUCTURED = StructuredHinge(APART)
SIMILAR = StructuredHinge(APART, np.exp(-APART))
ANY = [*(name for name in LOSSES if name != "structured_hinge"), STRUCTURED, SIMILAR, OwnLoss()]
SOME = ["squared", "hinge", "softmax", SIMILAR]
HINGES = ["hinge", Hinge(0.5), "multiclass_hinge", SIMILAR]


def step_of(loss):
    return {"multiclass": "runner_up"} if isinstance(loss, StructuredHinge) else {}


LEARNERS = [
    *(NORMA(G, loss=loss, budget=20, offset=True, eta=0.2) for loss in ANY),
    *(NORMA(G, loss=loss, budget=20, keep="support", schedule="sqrt", eta=0.2) for loss in SOME),
    *(NORMA(G, loss=loss, nu=0.2, offset=True) for loss in ("hinge", "novelty", "epsilon_insensitive")),
    *(ILK(G, loss=loss, schedule="sqrt", lam=0.1, **step_of(loss)) for loss in ANY),
    *(SILK(G, loss=loss, budget=20, drop=drop, tau=0.05, **step_of(loss)) for loss in SOME for drop in DROPS),
    *(BSGD(G, loss=loss, budget=15, lam=0.01, maintenance=m) for loss in SOME for m in ("merge", "project")),
    *(BSGD(G, loss=loss, budget=15, lam=0.01, maintenance="remove") for loss in ANY),
    *(DualSGD(G, loss=loss, budget=12, dim=20, lam=0.01, evict=3, seed=0) for loss in ANY),
    *(SVMD(G, loss=loss, budget=15) for loss in ANY if not isinstance(loss, OwnLoss)),
    *(Perceptron(kernel, loss=loss) for kernel in (G, Linear()) for loss in HINGES),
    *(RandomBudgetPerceptron(G, loss=loss, budget=9, seed=1) for loss in HINGES),
    *(
        PassiveAggressive(kernel, variant=variant, loss=loss, multiclass=rule, C=0.3)
        for kernel in (G, Linear())
        for variant in (None, "I", "II")
        for loss in ("hinge", "epsilon_insensitive", "multiclass_hinge", STRUCTURED, SIMILAR)
        for rule in (("runner_up",) if loss is SIMILAR else ("exact", "runner_up"))
    ),
    Forgetron(G, budget=9),
    *(Projectron(G, loss=loss, tol=0.3, plus=plus) for loss in HINGES for plus in (False, True)),
    *(Projectron(G, loss=loss, tol=0.05, budget=12, plus=plus) for loss in HINGES for plus in (False, True)),
    *(BudgetPA(G, loss=loss, budget=12, variant=variant) for loss in HINGES for variant in ("S", "NN", "P")),
    NORMA(OwnKernel(), budget=20),
    SILK(OwnKernel(), budget=12, drop="project"),
    BudgetPA(OwnKernel(), budget=9, variant="P"),
]
MERGES = 1e-5  # a golden section, to 1e-6, ends on either side of a place where values differ by rounding


def assert_same(learner, n=110):
    """Predictions, the model after them, its mean, and whatever else the learner keeps."""
    rows = Variant(learner, weights=learner.weighted).stream(n)
    compiled, written = learner.clone(), reference(learner)
    P, Q = rows.into(compiled), rows.into(written)
    merges = "merge" in (getattr(learner, "drop", ""), getattr(learner, "maintenance", ""))
    known = np.isfinite(P)
    close = {"rtol": 0, "atol": (MERGES if merges else 1e-12) * max(1.0, float(np.abs(P[known]).max()))}
    assert isinstance(written.expansion_, PlainExpansion)
    assert_array_equal(np.isfinite(Q), known)
    assert_allclose(Q[known], P[known], **close)
    assert_allclose(written.predict(rows.X), compiled.predict(rows.X), **close)
    assert_allclose(written.averaged(rows.X), compiled.averaged(rows.X), **close)
    if not isinstance(learner.kernel, Linear):  # there corrections add up to weights, and no points are stored
        assert written.size == compiled.size
    for name in ("offset_", "level_", "ledger_", "meta_", "W_"):
        if hasattr(written, name):
            assert_allclose(getattr(written, name), getattr(compiled, name), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_compiled_rounds_are_those_written_in_python(learner):
    assert_same(learner)


EXPANSIONS = {
    f"{learner}: {name}": variant
    for learner, variants in VARIANTS.items()
    for name, variant in variants.items()
    if isinstance(variant.pattern, ExpansionLearner)
}


@pytest.mark.parametrize("name", EXPANSIONS)
def test_compiled_rounds_are_those_written_in_python_for_every_variant_of_the_laws(name):
    assert_same(EXPANSIONS[name].pattern, 60)


def test_every_learner_of_the_family_is_compared():
    def leaves(kind):
        subclasses = [sub for sub in kind.__subclasses__() if sub.__module__.startswith("nystream.")]  # not of tests
        return set().union(*map(leaves, subclasses)) if subclasses else {kind}

    ours = {kind for kind in leaves(ExpansionLearner) | {ILK} if kind._loop is not ExpansionLearner._loop}
    assert {type(learner) for learner in LEARNERS} == ours


def test_a_reference_learns_step_by_step_too_and_takes_more_columns_and_classes():
    model = NORMA(G, loss="softmax", budget=20, keep="support")
    compiled, written = model.clone(), reference(model)
    rows = Variant(model).stream(60)
    for learner in (compiled, written):
        rows[:30].step_into(learner)
        learner.widen(4)
        learner.run(np.hstack([rows.X[30:], rows.X[30:, :1]]), rows.Y[30:])
    wide = np.hstack([rows.X, rows.X[:, :1]])
    assert_allclose(written.predict(wide), compiled.predict(wide), rtol=1e-12, atol=1e-12)


def test_a_reference_is_a_learner_of_its_own():
    model = SILK(G, budget=5)
    rows = Variant(model).stream(20)
    rows.into(reference(model))
    assert model.n_seen == 0
    assert reference(model).clone()._in_python is False


class Written(NORMA):
    """NORMA without compiled rounds."""

    _loop = ExpansionLearner._loop


def test_a_learner_without_compiled_rounds_learns_in_python_and_is_copied_and_restored():
    model, compiled = Written(G, budget=20), NORMA(G, budget=20)
    rows = Variant(compiled).stream(60)
    assert_allclose(rows[:40].into(model), rows[:40].into(compiled), rtol=1e-12, atol=1e-12)
    assert isinstance(model.expansion_, PlainExpansion)
    assert model.nbytes >= model.size * 8
    assert_array_equal(rows[40:].into(copy.deepcopy(model)), rows[40:].into(model))
    restored = from_bytes(to_bytes(model.expansion_))
    assert_array_equal(restored.predict(rows.X), model.expansion_.predict(rows.X))
    assert (restored.rounds, restored.scale) == (model.expansion_.rounds, model.expansion_.scale)
