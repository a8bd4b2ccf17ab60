"""Second-order kernel learning (KONS)."""

from __future__ import annotations

from nystream.reproduce import kons_alternating, kons_regret
from nystream.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = (kons_alternating.EXPERIMENT, kons_regret.EXPERIMENT)
