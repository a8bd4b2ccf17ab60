"""All datasets by name. Checksums and counts come from files that were examined."""

from __future__ import annotations

import difflib

from nystream.datasets.entry import Dataset
from nystream.datasets.tables import TABLES
from nystream.datasets.videos import VIDEOS

__all__ = ["DATASETS", "find"]

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in (*TABLES, *VIDEOS)}
"""Every dataset by the name that users type."""


def find(name: str) -> Dataset:
    """Return the dataset of that name, or raise a ValueError that lists all names."""
    if name not in DATASETS:
        close = difflib.get_close_matches(name, DATASETS, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(DATASETS)}"
        raise ValueError(f"no dataset is called {name!r}; {hint}")
    return DATASETS[name]
