"""The experiments by name."""

from __future__ import annotations

from nystream.reproduce import ilk, kons, nolana, pkawv
from nystream.reproduce.experiment import Experiment

__all__ = ["EXPERIMENTS", "find"]

EXPERIMENTS: dict[str, Experiment] = {e.name: e for module in (nolana, ilk, pkawv, kons) for e in module.EXPERIMENTS}
"""Every experiment, by the name that `nystream reproduce` takes."""


def find(name: str) -> Experiment:
    """Return the experiment of that name, or raise an error that lists all names."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
