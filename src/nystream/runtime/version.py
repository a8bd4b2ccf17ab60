"""The version of this package that is installed."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

__all__ = ["installed_version"]


@cache
def installed_version() -> str:
    """Return the version, or "unknown" if a bundle left out the metadata of packages.

    It is read from the name of the metadata folder beside the package. Reading all metadata would take a tenth of the
    time of a short run.
    """
    beside = list(Path(__file__).parents[2].glob("nystream-*.dist-info"))
    if len(beside) == 1 and "_" not in beside[0].stem:
        return beside[0].stem.removeprefix("nystream-")
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("nystream"))
    except metadata.PackageNotFoundError:
        return "unknown"
