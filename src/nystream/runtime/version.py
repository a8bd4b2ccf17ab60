"""The version of this package that is installed."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

__all__ = ["installed"]


@cache
def installed() -> str:
    """The version, or "unknown": some bundles leave the metadata of packages out.

    It stands in the name of the folder that installers write beside the package; what reads all metadata takes as long
    as a tenth of a short run.
    """
    beside = list(Path(__file__).parents[2].glob("nystream-*.dist-info"))
    if len(beside) == 1 and "_" not in beside[0].stem:
        return beside[0].stem.removeprefix("nystream-")
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("nystream"))
    except metadata.PackageNotFoundError:
        return "unknown"
