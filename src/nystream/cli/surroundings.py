"""Facts for bug reports: versions, processor, instruction set, linear algebra."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from importlib import metadata
from typing import Any

import numpy as np
import scipy

from nystream._core.kernels import isa
from nystream.runtime.threads import threads

__all__ = ["surroundings"]

PACKAGES = (
    *("numpy", "scipy", "safetensors", "typer", "rich", "matplotlib", "scikit-learn", "river", "pandas", "pyarrow"),
    *("polars", "starlette", "uvicorn", "httpx", "imageio", "av", "pyspark"),
)
SETTINGS = (
    *("NYSTREAM_ISA", "NYSTREAM_THREADS", "NYSTREAM_DATA"),
    *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_CORETYPE"),
)


def surroundings() -> dict[str, str]:
    """Name -> value; packages that are not installed are left out."""
    found = {
        "python": f"{platform.python_version()} ({platform.python_implementation()}{_lock()})",
        "system": platform.platform(),
        "processors": f"{platform.machine()}, {os.cpu_count()}, threads: {threads()}",
        "instruction set": isa(),
        "linear algebra": _blas(scipy),
        "linear algebra of NumPy": _blas(np),
    }
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found | {name: os.environ[name] for name in SETTINGS if name in os.environ}


def _lock() -> str:
    """Say whether a free-threaded Python runs without its lock."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return ""
    enabled: Any = getattr(sys, "_is_gil_enabled", lambda: True)
    return ", free-threaded, " + ("lock on" if enabled() else "lock off")


def _blas(library: Any) -> str:
    """Return the BLAS of a library; the compiled core calls SciPy's."""
    config: Any = library.show_config(mode="dicts")
    of = config.get("Build Dependencies", {}).get("blas", {})
    return " ".join(str(of.get(key, "")) for key in ("name", "version", "openblas configuration")).strip() or "unknown"
