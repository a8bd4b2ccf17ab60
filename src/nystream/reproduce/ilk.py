"""Implicit updates (ILK, SILK): figures 1 to 4."""

from __future__ import annotations

from nystream.reproduce import ilk_digits, ilk_drifting, ilk_shaking, ilk_video
from nystream.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = (
    ilk_drifting.EXPERIMENT,
    ilk_video.EXPERIMENT,
    ilk_shaking.EXPERIMENT,
    ilk_digits.EXPERIMENT,
)
