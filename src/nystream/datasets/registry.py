"""The datasets, by name. Checksums are of the content of files that were examined; counts were made from them."""

from __future__ import annotations

import difflib

from nystream.datasets.entry import Dataset
from nystream.datasets.tables import TABLES
from nystream.datasets.videos import VIDEOS

__all__ = ["DATASETS", "find"]

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in (*TABLES, *VIDEOS)}
"""Every dataset by the name that users type."""


def find(name: str) -> Dataset:
    """The dataset of that name, or a ValueError that lists those there are."""
    if name not in DATASETS:
        close = difflib.get_close_matches(name, DATASETS, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(DATASETS)}"
        raise ValueError(f"no dataset is called {name!r}; {hint}")
    return DATASETS[name]
