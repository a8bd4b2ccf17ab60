"""Load BLAS and LAPACK without the rest of `scipy.linalg`, which halves the start time."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.util import module_from_spec
from pathlib import Path

__all__ = ["load_alone"]

PARTS = ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack")
"""The modules from which compiled code imports BLAS and LAPACK routines."""


def load_alone() -> None:
    """Load the modules `PARTS` under their own names, without the package `scipy.linalg` around them.

    Call it only in a process of the command line, where no other code expects the whole package. If SciPy keeps the
    modules elsewhere, nothing happens, and they are loaded with their package.
    """
    if "scipy.linalg" in sys.modules:
        return
    folder = Path(str(importlib.import_module("scipy").__file__)).parent / "linalg"
    finder = FileFinder(str(folder), (ExtensionFileLoader, EXTENSION_SUFFIXES))
    for name in PARTS:
        spec = finder.find_spec(name)
        if spec is None or spec.loader is None:
            return
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
