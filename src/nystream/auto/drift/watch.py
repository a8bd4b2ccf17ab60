"""All detectors of a stream: on losses, on the loss of the experts that never forget, and on inputs."""

from __future__ import annotations

from nystream._core.auto.drift import watch
from nystream.auto.drift.block import Block
from nystream.auto.drift.detectors import LIMITS, NO_ALERT, RULES, RankDetector
from nystream.auto.drift.history import History
from nystream.auto.drift.inputs import CENTRED, FAR, InputDetector
from nystream.auto.drift.memory import REACH
from nystream.auto.drift.sides import LOG_LEAST
from nystream.auto.ensemble import Ensemble
from nystream.runtime.params import Params

__all__ = ["Detectors"]


class Detectors(Params):
    """The detectors, and one row through all of them in one compiled call: the common case.

    Parameters
    ----------
    classes : bool
    """

    loss_: RankDetector
    """On the loss of what was predicted."""
    steady_: RankDetector
    """On the loss of experts that never forget; while there is one ensemble."""
    inputs_: InputDetector
    refitted_: int
    """The row of the last full refit of the incumbent."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def start(self) -> None:
        self.loss_ = RankDetector(self.classes, REACH)
        self.steady_ = RankDetector(True, REACH, LIMITS.steady_bar)
        self.inputs_ = InputDetector(REACH)
        for one in (self.loss_, self.steady_, self.inputs_):
            one.start()
        self.refitted_ = 0

    def note_refit(self, row: int) -> None:
        """Start the detector on steady experts again after a full refit at this row, which replaces them: they err
        less just after it than long after it.
        """
        if self.refitted_ != row:
            self.refitted_ = row
            self.steady_.start()

    def watch_row(
        self, t: int, old: Ensemble, block: Block, history: History, settled: int, hedges: int
    ) -> tuple[float, int, float, int] | None:
        """Watch row t, which the incumbent alone predicts, and store its losses and predictions.

        Return the evidence of the first two detectors: how near each is to an alarm, and where the bet left 1 that won
        most. None, and nothing done, where more is to be decided: an alarm is raised, the loss may confirm an input
        shift, or the centre of the inputs is computed again after this row. Before row `settled` falling losses are no
        news; before row `hedges` those of steady experts begin no hedge.
        """
        where = self.inputs_.where_
        if where is None or (t + 1) % CENTRED == 0 or t < self.inputs_.alert_[2]:
            return None
        side, scale = block.learnt, None if old.targets_ is None else old.targets_.scale_
        losses = (side.P, side.core, block.admitted, block.alarm_labels, scale, LOG_LEAST, side.steady.item())
        parts = (self.loss_.parts, self.steady_.parts, self.inputs_.ranks_.parts)
        stores = (history.losses_.store_, history.incumbent_.store_)
        found = watch(t, *losses, block.rows.X, where, FAR, parts, RULES, settled, *NO_ALERT, *stores)
        if found is None:
            return None
        history.put_answers(t, block.answers)
        return found if t >= hedges else (*found[:2], 0.0, found[3])

    @property
    def nbytes(self) -> int:
        return self.loss_.nbytes + self.steady_.nbytes + self.inputs_.nbytes
