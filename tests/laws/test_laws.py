"""Every law over every learner and its variants; in the quick set, one variant of each kind for each law.

That set has all laws on the example of every learner, on every other variant one law, another for each, and every law
on every kind of stream (labels, targets, weights) that it is for. The rest of the grid is marked `exhaustive`.
"""

from __future__ import annotations

import pytest

from laws import LAWS
from nystream.registry import LEARNERS
from variants import VARIANTS

Case = tuple[str, str, str]
"""Law, learner, variant."""


def grid() -> tuple[list[Case], set[Case]]:
    """All cases, and those of the quick set."""
    cases: list[Case] = []
    quick: set[Case] = set()
    turn = 0
    for learner, variants in VARIANTS.items():
        for i, (name, variant) in enumerate(variants.items()):
            own = [(law, learner, name) for law, rule in LAWS.items() if rule.concerns(variant)]
            quick.update(own if i == 0 else [own[turn % len(own)]])
            turn += i > 0
            cases += own
    covered = {(case[0], kind(case)) for case in quick}
    for case in cases:
        if (case[0], kind(case)) not in covered:
            covered.add((case[0], kind(case)))
            quick.add(case)
    return cases, quick


def kind(case: Case) -> tuple[str, int, bool]:
    return VARIANTS[case[1]][case[2]].kind


CASES, QUICK = grid()


def parameter(case: Case) -> object:
    return pytest.param(*case, id="-".join(case), marks=[] if case in QUICK else [pytest.mark.exhaustive])


@pytest.mark.parametrize(("law", "learner", "variant"), [parameter(case) for case in CASES])
def test_law(law, learner, variant, tmp_path):
    LAWS[law](VARIANTS[learner][variant], tmp_path)


def test_every_learner_of_the_registry_is_held_to_the_laws():
    assert set(LEARNERS) <= set(VARIANTS)


def test_the_quick_set_has_every_law_and_every_variant():
    assert {case[0] for case in QUICK} == set(LAWS)
    assert {case[1:] for case in QUICK} == {case[1:] for case in CASES}
