"""The bytes that two ensembles take together, and the sizes of a candidate that the budget allows."""

from __future__ import annotations

from typing import NamedTuple

from nystream.auto.budget import SLACK, Need, in_memory, largest_bytes, resting_bytes, update_bytes, warmup_bytes
from nystream.auto.ensemble import Ensemble
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack
from nystream.scaling.ring import Ring

__all__ = ["REACH", "Afforded", "beside", "fit_together", "reach_of"]

REACH = 1700
"""An estimated change point, where a candidate begins, is at most so many rows back."""
PAST = 0.03
"""Part of the memory for predictions of the last rows, which a candidate begins with."""

SMALLEST = 0.4
"""Landmarks of a candidate, as a part of those that the incumbent has or had before it grew, at least. With fewer it
would not catch up."""


class Afforded(NamedTuple):
    """The sizes that the budget allows."""

    recipe: Recipe
    """Sizes of the candidate."""
    refreshes: bool
    """Whether the incumbent can be refitted while there is a candidate; if not, its refits wait."""


def beside(old: Ensemble, recipe: Recipe, budget: float, more: int) -> Afforded | None:
    """Return the largest sizes of this shape for a candidate beside the incumbent; None if the budget is too small."""
    d, outputs, codes = old.d_, old.outputs_, old.classes
    held = _held(old, d, outputs, more) if old.warm or old.begun_ else SLACK * old.nbytes  # between two full refits
    try:
        candidate = in_memory(recipe, Need(budget - held, d, outputs, codes, more))
    except ValueError:
        return None
    rebuilt = old.begun_ > 0 and (old.growing_ or not old.warm)
    if rebuilt and _during_refit(old, candidate, d, outputs, more) > budget:
        candidate = candidate.resized(rough=0, change=0)
    while rebuilt and _during_refit(old, candidate, d, outputs, more) > budget and candidate.landmarks > 1:
        candidate = candidate.scaled(0.8, 0.8)
    if candidate.landmarks < SMALLEST * min(recipe.landmarks, old.expert_set_.recipe.landmarks):
        return None
    return Afforded(candidate, _during_refit(old, candidate, d, outputs, more) <= budget)


def reach_of(recipe: Recipe, memory: float, d: int, outputs: int, *, codes: bool, more: int) -> tuple[int, int]:
    """Return how many past rows of inputs and predictions to keep, and for how many rows after an alarm a warm start
    can still use them.
    """
    ahead, columns = recipe.rows_at_once(outputs), 1 if codes and outputs == 2 else outputs
    each = (2 if codes else 4) * outputs + more * columns
    room = int(PAST * memory) // (8 * each) - ahead
    reach = max(1, min(REACH, recipe.ring - min(ahead, recipe.every(d, outputs)), room))
    return reach, max(0, min(recipe.late, room - reach))


def fit_together(old: Ensemble, candidate: Recipe, d: int, outputs: int, budget: float, more: int) -> bool:
    """Return whether both ensembles fit with so many columns and classes, while the incumbent is not refitted."""
    return _held(old, d, outputs, more) + largest_bytes(candidate, d, outputs, codes=old.classes, more=more) <= budget


def _during_refit(old: Ensemble, candidate: Recipe, d: int, outputs: int, more: int) -> float:
    """Return the bytes of both while the incumbent is refitted and the candidate is largest. They share kept rows."""
    codes, r = old.classes, old.expert_set_.recipe
    beside = SLACK * (warmup_bytes(candidate, d, outputs, codes=codes) + _stack(candidate, outputs, more, codes))
    if old.growing_ or not old.warm:
        r = old.larger if old.growing_ else r
        return largest_bytes(r, d, outputs, codes=codes, more=more) + beside
    refreshed = update_bytes(r, d, outputs, codes=codes) + _stack(r, outputs, more, codes)
    refreshed += Ring.nbytes_for(max(r.ring, candidate.warmup) + r.late, 2 * d + 3 * (1 if codes else outputs) + 2)
    return SLACK * refreshed + beside


def _held(old: Ensemble, d: int, outputs: int, more: int) -> float:
    """Return the bytes of an ensemble between its refits, without rows."""
    r, codes = old.expert_set_.recipe, old.classes
    held = resting_bytes if old.warm else warmup_bytes
    return SLACK * (held(r, d, outputs, codes=codes) + _stack(r, outputs, more, codes))


def _stack(recipe: Recipe, outputs: int, more: int, codes: bool) -> float:
    return Stack.nbytes_for(len(recipe.living) + more, outputs, codes=codes)
