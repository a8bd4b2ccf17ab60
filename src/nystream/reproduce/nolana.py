"""Adaptive Nystrom (NOLANA)."""

from __future__ import annotations

from nystream.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = ()
