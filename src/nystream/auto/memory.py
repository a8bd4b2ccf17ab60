"""What the automatic learner takes in bytes, as its parts tell beforehand, and the recipe that a budget buys."""

from __future__ import annotations

import math
from typing import NamedTuple

from nystream.auto.bank import Bank
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack
from nystream.scaling.ring import Ring

__all__ = ["Need", "growing", "in_memory", "most_bytes"]

SLACK = 1.3
"""What the allocator and small things take beside the arrays that are counted."""
FEW = 20
"""Classes up to which they are no reason for a budget to be too small."""
SHRINK = (
    (1.0, 1.0),
    (0.75, 1.0),
    (0.6, 1.0),
    (0.5, 1.0),
    (0.4, 1.0),
    (0.35, 1.0),
    (0.3, 0.9),
    (0.3, 0.8),
    (0.4, 0.8),
    (0.3, 0.65),
    (0.25, 0.5),
    (0.2, 0.4),
    (0.15, 0.3),
    (0.1, 0.2),
    (0.06, 0.12),
    (0.03, 0.06),
    (0.015, 0.03),
)
"""Parts of the rows kept and of the landmarks that are tried against a budget; landmarks matter more."""
YOUNG = 0.6
"""Part of the landmarks that a second model needs at least, beside one that warms up."""
ROUGH = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Parts of the landmarks of rough kernels that are tried against what the other experts leave."""
LEFT = (1.0, 0.95, 0.9)
"""Parts of these landmarks that are tried where everything is to be fitted once more on more rows."""


class Need(NamedTuple):
    """What a model is for, and the bytes that it may take."""

    budget: float
    d: int
    """Columns."""
    outputs: int
    """Targets or, with `codes`, classes."""
    codes: bool = False
    more: int = 0
    """Inputs of the stackers beside the experts."""
    share: float = 1.0
    """Of the budget."""
    young: bool = False
    """Whether rough kernels leave room for a second model without them, of YOUNG times the landmarks."""

    def bytes_of(self, recipe: Recipe) -> float:
        """Of the model at its largest."""
        return most_bytes(recipe, self.d, self.outputs, codes=self.codes, more=self.more)

    def fits(self, recipe: Recipe) -> bool:
        """Whether it stays within the share, with that room."""
        room = 0.0
        if self.young:
            second = recipe.resized(rough=0, change=0).scaled(YOUNG, YOUNG)
            room = SLACK * Bank.racing_nbytes(second, self.d, self.outputs, codes=self.codes)
        return room + self.bytes_of(recipe) <= self.share * self.budget


def in_memory(recipe: Recipe, need: Need) -> Recipe:
    """The largest recipe of this shape whose model stays within memory. Whether it may grow is not asked.

    Rebuilds are spread over rows where that, too, fits beside the smallest rough kernels.
    """
    plain = tuple(name for name in recipe.experts if name != "lin.95") or recipe.experts
    narrow = recipe.resized(full=0, experts=plain)  # without any matrix of the columns' number squared
    for shape in (recipe, narrow):
        for rows, landmarks in SHRINK:
            smaller = shape.scaled(rows, landmarks).resized(rough=0, change=0, spread=False)
            least = need.bytes_of(smaller) / need.share
            if least > need.budget:
                continue
            for spread in (True, False) if shape.spread else (False,):
                for part in (*ROUGH, 0.0):
                    large = {"rough": int(part * shape.rough), "change": int(part * shape.change)}
                    whole = smaller.resized(spread=spread, **large)
                    if need.fits(whole):
                        return whole
            return smaller
    what = f"rows of {need.d} columns"
    if need.codes and need.outputs > FEW:
        what += f" and {need.outputs} classes"
    raise ValueError(f"memory is too small for {what}: at least memory='{math.ceil(least / 1e6)}MB' is needed")


def growing(recipe: Recipe, need: Need) -> Recipe:
    """The recipe, which grows as far as memory suffices.

    Where it does not suffice for more landmarks, everything is fitted once more with as many, or a few rough ones less.
    """
    more = recipe.growing_while(need.fits)
    if more.grows or not recipe.grows:
        return more
    for part in LEFT:
        large = {"rough": int(part * recipe.rough), "change": int(part * recipe.change)}
        same = recipe.resized(grows=recipe.grows[:1], growth=1.0, **large)
        if need.fits(same.grown()):
            return same
    return more


def most_bytes(recipe: Recipe, d: int, outputs: int, *, codes: bool = False, more: int = 0) -> float:
    """Bytes of the model at its largest, the end of the warm-up, with what computing it needs for a moment."""
    labels, targets = 1 if codes else outputs, outputs + codes
    row = d + labels + 1  # of the buffer: inputs, labels, weight
    stack = Stack.nbytes_for(len(recipe.living) + more, outputs, codes=codes)
    rebuild = Bank.frozen_nbytes(recipe, d, outputs, codes=codes)
    rebuild += Ring.nbytes_for(recipe.warmup + recipe.late, row + targets) + max(
        Bank.fit_nbytes(recipe, d, outputs, codes=codes),
        Bank.racing_nbytes(recipe, d, outputs, codes=codes) + stack,
    )
    refresh = Ring.nbytes_for(recipe.ring + recipe.late, 2 * row + targets)  # a buffer, and what is copied from it
    refresh += Bank.refresh_nbytes(recipe, d, outputs, codes=codes) + stack
    return SLACK * max(rebuild, refresh)
