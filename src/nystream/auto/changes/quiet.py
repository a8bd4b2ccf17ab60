"""The common round: one row, one generation, and no alarm near."""

from __future__ import annotations

from nystream._core.auto.alarms import quiet
from nystream.auto.changes.alarm import RULES
from nystream.auto.changes.beside import Beside
from nystream.auto.changes.block import Block
from nystream.auto.changes.inputs import FAR, PLACED
from nystream.auto.changes.replay import LOG_LEAST
from nystream.auto.changes.suspicion import HINT
from nystream.auto.generation import Generation

__all__ = ["quiet_round"]


def quiet_round(changes: Beside, old: Generation, block: Block, falls_from: int) -> bool:
    """`Changes.follow` of one row in one call, after which what the old generation predicted is shown.

    False, and nothing done, if anything is to be decided: two generations, a suspicion, an alarm that sounds or is
    near, and rows after which it is computed anew where inputs lie.
    """
    t, where = changes.count_, changes.inputs_.where_
    alone = changes.handover_ is None and changes.coming_ is None and changes.suspicion_.mixture_ is None
    if not alone or where is None or (t + 1) % PLACED == 0:
        return False
    said, scale = block.learnt, None if old.targets_ is None else old.targets_.scale_
    alarms = (changes.alarm_.parts, changes.steady_.parts, changes.inputs_.alarm_.parts)
    losses = (said.P, said.core, block.admitted, scale, LOG_LEAST, said.steady.item())
    distance = (block.rows.X, where, FAR)
    rules = (RULES, falls_from, *changes.inputs_.alert_[1:], HINT)
    calm = quiet(t, *losses, *distance, alarms, *rules, changes.losses_.store_, changes.predicted_[0].store_)
    if calm:
        changes.count_ += 1
        if changes.answers_ is not None and block.answers is not None:
            changes.answers_.put(t, block.answers.reshape(1, -1))
    return calm
