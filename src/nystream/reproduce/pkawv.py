"""Projected Vovk-Azoury-Warmuth regression (PKAWV)."""

from __future__ import annotations

from nystream.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = ()
