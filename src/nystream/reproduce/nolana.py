"""Adaptive Nystrom (NOLANA): tables 1 and 2, figures 1 to 4."""

from __future__ import annotations

from nystream.reproduce.experiment import Experiment
from nystream.reproduce.nolana_figure1 import FIGURE1
from nystream.reproduce.nolana_figure2 import FIGURE2
from nystream.reproduce.nolana_figure3 import FIGURE3
from nystream.reproduce.nolana_figure4 import FIGURE4
from nystream.reproduce.nolana_table1 import TABLE1
from nystream.reproduce.nolana_table2 import TABLE2

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = (TABLE1, TABLE2, FIGURE1, FIGURE2, FIGURE3, FIGURE4)
