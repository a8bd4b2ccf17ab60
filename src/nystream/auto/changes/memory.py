"""What two generations take in bytes together, and the recipe of a young one that memory suffices for."""

from __future__ import annotations

from nystream.auto.bank import Bank
from nystream.auto.generation import Generation
from nystream.auto.memory import SLACK, in_memory, most_bytes
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack
from nystream.scaling.ring import Ring

__all__ = ["beside", "together"]

SMALLEST = 0.4
"""Landmarks of a young generation over those of the old one, at least; with fewer it would not catch up."""


def beside(old: Generation, recipe: Recipe, budget: float, more: int) -> Recipe | None:
    """The largest recipe of this shape for a generation beside the old one; None: the budget does not suffice."""
    d, outputs, codes = old.d_, old.outputs_, old.classes
    try:
        young = in_memory(recipe, budget - _held(old, d, outputs, more), d, outputs, codes=codes, more=more)
    except ValueError:
        return None
    while together(old, young, d, outputs, more) > budget:
        young = young.scaled(0.8, 0.8)
        if young.landmarks < SMALLEST * old.bank_.recipe.landmarks:
            return None
    return young if young.landmarks >= SMALLEST * old.bank_.recipe.landmarks else None


def together(old: Generation, young: Recipe, d: int, outputs: int, more: int) -> float:
    """Bytes of both at their largest. Rows are kept once; only one of them is rebuilt or refreshed at a time."""
    codes, r = old.classes, old.bank_.recipe
    rebuilt = _held(old, d, outputs, more) + most_bytes(young, d, outputs, codes=codes, more=more)
    refreshed = Bank.refresh_nbytes(r, d, outputs, codes=codes) + Stack.nbytes_for(
        len(r.living) + more, outputs, codes=codes
    )
    refreshed += Bank.racing_nbytes(young, d, outputs, codes=codes)
    refreshed += Ring.nbytes_for(max(r.ring, young.warmup), 2 * d + 3 * (1 if codes else outputs) + 2)
    return max(rebuilt, SLACK * refreshed)


def _held(old: Generation, d: int, outputs: int, more: int) -> float:
    """Bytes of a generation between its refreshes, without rows; in the warm-up at its largest."""
    r, codes = old.bank_.recipe, old.classes
    if not old.warm:
        return most_bytes(r, d, outputs, codes=codes, more=more)
    stack = Stack.nbytes_for(len(r.living) + more, outputs, codes=codes)
    return SLACK * (Bank.held_nbytes(r, d, outputs, codes=codes) + stack)
