"""Public datasets by name: their sources, their files on this machine, and their rows as streams."""

from nystream.datasets.entry import Dataset, File
from nystream.datasets.loading import frames, load, stream, truth
from nystream.datasets.registry import DATASETS, find
from nystream.datasets.store import cache_folder, check, data_folder, fetch, locate

__all__ = [
    "DATASETS",
    "Dataset",
    "File",
    "cache_folder",
    "check",
    "data_folder",
    "fetch",
    "find",
    "frames",
    "load",
    "locate",
    "stream",
    "truth",
]
