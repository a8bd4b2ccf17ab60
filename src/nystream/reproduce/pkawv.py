"""Projected Vovk-Azoury-Warmuth regression (PKAWV)."""

from __future__ import annotations

from nystream.reproduce import pkawv_adversary, pkawv_figure1, pkawv_streams, pkawv_theory
from nystream.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = (
    *pkawv_theory.EXPERIMENTS,
    pkawv_figure1.EXPERIMENT,
    *pkawv_streams.EXPERIMENTS,
    pkawv_adversary.EXPERIMENT,
)
