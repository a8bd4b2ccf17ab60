"""What the automatic learner consists of once it has started, and the memory that its parts may take."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.auto.bank import Bank
from nystream.auto.budget import Need, bytes_of, growing, in_memory, largest_bytes
from nystream.auto.changes import Changes
from nystream.auto.changes.catching_up import CatchingUp
from nystream.auto.changes.memory import Afforded, beside, reach_of
from nystream.auto.changes.novice import Novice
from nystream.auto.generation import Generation
from nystream.auto.guard import Guard
from nystream.auto.noise import Noise
from nystream.auto.recalibration import Recalibration
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack
from nystream.auto.steady import Steady
from nystream.auto.tables import SHARE
from nystream.auto.tails import Tails
from nystream.auto.targets import Targets
from nystream.learners.families.tabular import TabularLearner
from nystream.learners.translator import Translator
from nystream.runtime.lock import Gate
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["Parts"]

NOVICE, MOST = 0.015, 300
"""Of the memory: what the rows may take that a novice learns after a change; and how many they are at most."""
REGIMES = 0.08
"""Of the memory: what models of regimes that were left may take, and no more than the old generation leaves."""


class Parts(TabularLearner):
    """Generations, what is around them, and how much of the memory each may take."""

    memory: Any
    task: str
    changes: bool
    seed_: int

    sized_: Recipe
    """The recipe that the budgets led to at the start."""
    old_: Generation
    """What predicts, where there is no young generation beside it."""
    changes_: Changes | None
    """Alarms, and at times a young generation. None: the stream is not watched."""
    intervals_: Noise | None
    """Quantiles of the residuals; of regression only."""
    tails_: Tails | None
    """What labels with long tails are told as; of regression only."""
    guard_: Guard | None
    """Of labels that hardly ever change; none without lags."""
    steady_: Steady
    """What predicts rows that are not the next one."""
    recalibration_: Recalibration | None
    """Of classes only."""
    buffer_: list[Ring]
    """Inputs, labels or targets, and weights: all rows of a warm-up, or the last ones."""
    count_: int
    """Rows learnt; those of weight 0 are not."""
    _turns: Gate
    """Predictions of other threads come between blocks and what falls on row counts after them."""
    _whole: Gate
    """Copies that go on come between rows, when all that falls on them is done."""
    translator_: Translator | None = None
    """Of tables and sparse rows: what makes numbers of them. None: rows are numbers."""
    kinds_: dict[str, str] | None = None
    """Of tables: the kind of every column, by name."""

    @property
    def _classes(self) -> bool:
        return self.task == "classification"

    @property
    def bank_(self) -> Bank:
        """Experts of the old generation."""
        return self.old_.bank_

    @property
    def stack_(self) -> Stack:
        """That combines them."""
        return self.old_.stack_

    @property
    def targets_(self) -> Targets | None:
        """Scale and fences of its labels; of regression only."""
        return self.old_.targets_

    @property
    def _young(self) -> Generation | None:
        return None if self.changes_ is None else self.changes_.young_

    @property
    def _coming(self) -> CatchingUp | None:
        return None if self.changes_ is None else self.changes_.coming_

    @property
    def _generations(self) -> list[Generation]:
        changes = self.changes_
        return [self.old_] if changes is None or changes.young_ is None else [self.old_, changes.young_]

    @property
    def _usual(self) -> Array:
        """(2, K) what labels usually lie within, of any generation; see `Targets.usual_`."""
        if self._young is None and self.old_.targets_ is not None:  # the common round
            return self.old_.targets_.usual_
        ranges = [generation.targets_.usual_ for generation in self._generations if generation.targets_ is not None]
        return np.array([np.min([low for low, _ in ranges], axis=0), np.max([high for _, high in ranges], axis=0)])

    @property
    def _dense(self) -> int:
        """Columns that the experts see."""
        return self.d_ if self.translator_ is None else self.translator_.width

    # -- memory ------------------------------------------------------------------------------------------------------
    @property
    def _share(self) -> float:
        """The part of the memory that is not the translator's."""
        return 1.0 if self.translator_ is None else 1.0 - SHARE

    @property
    def _more(self) -> int:
        """Inputs of the stackers beside the experts."""
        return 0 if self.translator_ is None else len(self.translator_.titles)

    def _affordable(self, recipe: Recipe, d: int, outputs: int) -> Recipe:
        """The largest recipe of this shape that memory suffices for; whether it may grow is not asked."""
        return in_memory(recipe, self._need(d, outputs))

    def _growing(self, recipe: Recipe, d: int, outputs: int) -> Recipe:
        """The recipe, which grows as far as memory suffices."""
        return growing(recipe, self._need(d, outputs))

    def _need(self, d: int, outputs: int) -> Need:
        memory = bytes_of(self.memory)
        return Need(memory, d, outputs, self._classes, self._more, self._share, young=self.changes)

    def _beside(self, old: Generation) -> Afforded | None:
        """The young generation that memory suffices for beside this one."""
        return beside(old, self.sized_, self._for_generations, self._more)

    @property
    def _for_generations(self) -> float:
        """Bytes that two generations may take."""
        assert self.changes_ is not None
        young = 0 if self._young is None else self._young.nbytes
        regimes = 0 if self.changes_.regimes_ is None else self.changes_.regimes_.nbytes
        return self._share * bytes_of(self.memory) - (self.changes_.nbytes - young - regimes)

    def _reach(self, outputs: int) -> tuple[int, int]:
        """Rows back, and rows after an alarm: see `nystream.auto.changes.memory.reach_of`."""
        recipe = self.old_.bank_.recipe
        return reach_of(recipe, bytes_of(self.memory), self.old_.d_, outputs, codes=self._classes, more=self._more)

    def _new_changes(self, outputs: int) -> Changes:
        more, columns = self._more, 1 if self._classes and outputs == 2 else outputs
        few = Novice.affordable(NOVICE * bytes_of(self.memory) / 8, self.old_.d_, outputs)
        few = max(1, min(few, MOST))
        most = largest_bytes(self.sized_.largest, self.old_.d_, outputs, codes=self._classes, more=more)
        room = int(max(0.0, min(REGIMES * bytes_of(self.memory), self._share * bytes_of(self.memory) - most)))
        reach, late = self._reach(outputs)
        changes = Changes(self._classes, reach, self.sized_.rows_at_once(outputs), few, room, late)
        changes.start(outputs, (more, columns) if more else None)
        return changes
