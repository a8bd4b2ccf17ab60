"""One row through all detectors in one compiled call: the common case."""

from __future__ import annotations

from nystream._core.auto.drift import watch
from nystream.auto.drift.alarm import NO_ALERT, RULES
from nystream.auto.drift.beside import Beside
from nystream.auto.drift.block import Block
from nystream.auto.drift.inputs import CENTRED, FAR
from nystream.auto.drift.replay import LOG_LEAST
from nystream.auto.drift.suspicion import Hottest
from nystream.auto.ensemble import Ensemble

__all__ = ["hottest_in", "watch_one"]


def watch_one(changes: Beside, old: Ensemble, block: Block, settled: int) -> tuple[float, int, float, int] | None:
    """Do what `DriftHandler.follow` does with one row of one ensemble before it looks for a suspicion.

    How near an alarm on its loss and one on steady experts are, and where the bets left 1 that won most. None, and
    nothing done, where more is to be decided: two ensembles, an alarm that sounds, a shift of the inputs that the
    loss may confirm, and rows after which the centre of the inputs is computed again. From row `settled` on falling
    losses and those of steady experts count.
    """
    t, where = changes.count_, changes.inputs_.where_
    if changes.handover_ is not None or changes.coming_ is not None or where is None or (t + 1) % CENTRED == 0:
        return None
    if t < changes.inputs_.alert_[2]:
        return None
    said, scale = block.learnt, None if old.targets_ is None else old.targets_.scale_
    heard = block.admitted if block.heard is None and t < settled else block.heard  # then steady experts do not count
    losses = (said.P, said.core, block.admitted, heard, scale, LOG_LEAST, said.steady.item())
    alarms = (changes.alarm_.parts, changes.steady_.parts, changes.inputs_.alarm_.parts)
    rules = (RULES, settled, *NO_ALERT)
    stores = (changes.losses_.store_, changes.predicted_[0].store_)
    found = watch(t, *losses, block.rows.X, where, FAR, alarms, *rules, *stores)
    if found is not None and changes.answers_ is not None and block.answers is not None:
        changes.answers_.put(t, block.answers.reshape(1, -1))
    return found


def hottest_in(near: tuple[float, int, float, int]) -> Hottest:
    """Return the readings of that row that a suspicion needs."""
    level, left, other, of_other = near
    return ([other], [of_other], [True]) if other > level else ([level], [left], [False])
