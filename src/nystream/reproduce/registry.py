"""The experiments by name."""

from __future__ import annotations

from nystream.reproduce import (
    ilk_digits,
    ilk_drifting,
    ilk_shaking,
    ilk_video,
    kons_alternating,
    kons_regret,
    nolana_figure1,
    nolana_figure2,
    nolana_figure3,
    nolana_figure4,
    nolana_table1,
    nolana_table2,
    pkawv_adversary,
    pkawv_figure1,
    pkawv_streams,
    pkawv_theory,
)
from nystream.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS", "find"]

_EXPERIMENTS = (
    nolana_table1.TABLE1,
    nolana_table2.TABLE2,
    nolana_figure1.FIGURE1,
    nolana_figure2.FIGURE2,
    nolana_figure3.FIGURE3,
    nolana_figure4.FIGURE4,
    ilk_drifting.EXPERIMENT,
    ilk_video.EXPERIMENT,
    ilk_shaking.EXPERIMENT,
    ilk_digits.EXPERIMENT,
    *pkawv_theory.EXPERIMENTS,
    pkawv_figure1.EXPERIMENT,
    *pkawv_streams.EXPERIMENTS,
    pkawv_adversary.EXPERIMENT,
    kons_alternating.EXPERIMENT,
    kons_regret.EXPERIMENT,
)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _EXPERIMENTS}
"""Every experiment, by the name that `nystream reproduce` takes, paper by paper: NOLANA, ILK, PKAWV, KONS."""


def find(name: str) -> Experiment:
    """Return the experiment of that name, or raise an error that lists all names."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
