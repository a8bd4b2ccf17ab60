"""Every case: a learner, a random stream, and its slow definition. A new learner of the registry needs one here."""

from __future__ import annotations

from nystream.registry import LEARNERS
from oracles.cases import budget, expansions, features, labels, other, second, sparse
from oracles.cases.base import Case

__all__ = ["CASES", "PARTS", "chosen"]

PARTS = ("second", "first", "other")
"""The second-order family; the first-order, implicit and budget family; what follows drifts, and the defaults."""

CASES: list[Case] = sorted(
    [
        *second.CASES,
        *expansions.CASES,
        *budget.CASES,
        *features.CASES,
        *labels.CASES,
        *other.CASES,
        *sparse.CASES,
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
