"""Every case: a learner, a random stream, and its slow definition. A new learner of the registry needs one here."""

from __future__ import annotations

import oracle_cases_budget
import oracle_cases_expansions
import oracle_cases_features
import oracle_cases_labels
import oracle_cases_other
import oracle_cases_second
import oracle_cases_sparse
from nystream.registry import LEARNERS
from oracle_cases_base import Case

__all__ = ["CASES", "PARTS", "chosen"]

PARTS = ("second", "first", "other")
"""The second-order family; the first-order, implicit and budget family; what follows drifts, and the defaults."""

CASES: list[Case] = sorted(
    [
        *oracle_cases_second.CASES,
        *oracle_cases_expansions.CASES,
        *oracle_cases_budget.CASES,
        *oracle_cases_features.CASES,
        *oracle_cases_labels.CASES,
        *oracle_cases_other.CASES,
        *oracle_cases_sparse.CASES,
    ],
    key=lambda case: (PARTS.index(case.part), case.learner, case.variant),
)


def chosen(part: str | None, names: list[str]) -> list[Case]:
    """The cases of that part and those learners; a ValueError for a name that has none.

    Names are those of classes or of the registry, case and dashes aside.
    """
    known = {_plain(case.learner): case.learner for case in CASES}
    known |= {_plain(entry.name): entry.cls.__name__ for entry in LEARNERS.values()}
    wrong = [name for name in names if _plain(name) not in known]
    if wrong:
        raise ValueError(f"no case of {wrong[0]!r}; there are {', '.join(sorted(set(known.values())))}")
    wanted = {known[_plain(name)] for name in names}
    return [case for case in CASES if part in (None, case.part) and (not names or case.learner in wanted)]


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
