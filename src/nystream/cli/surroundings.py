"""What a bug report needs: versions, processor, instruction set, linear algebra."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

import numpy as np

from nystream._core.kernel_rows import isa

__all__ = ["surroundings"]

PACKAGES = (
    *("numpy", "scipy", "safetensors", "typer", "rich", "matplotlib", "scikit-learn", "river", "pandas", "pyarrow"),
    *("starlette", "uvicorn", "httpx", "imageio", "av"),
)
SETTINGS = ("NYSTREAM_ISA", "NYSTREAM_DATA", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_CORETYPE")


def surroundings() -> dict[str, str]:
    """Name -> value; packages that are not installed are left out."""
    found = {
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": platform.platform(),
        "processors": f"{platform.machine()}, {os.cpu_count()}",
        "instruction set": isa(),
        "linear algebra": _blas(),
    }
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found | {name: os.environ[name] for name in SETTINGS if name in os.environ}


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    of = config.get("Build Dependencies", {}).get("blas", {})
    return " ".join(str(of.get(key, "")) for key in ("name", "version", "openblas configuration")).strip() or "unknown"
