"""Load BLAS and LAPACK without the rest of `scipy.linalg`, which halves the start time."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.util import module_from_spec
from pathlib import Path

__all__ = ["load_alone"]

PARTS = ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack")
"""What compiled code asks for by these names."""


def load_alone() -> None:
    """Load them under their own names, but not the package that they are in: that is loaded when something asks for it.

    For a process that is this program's own: in it nobody else is surprised by parts of a package that came before it.
    Where SciPy keeps them elsewhere nothing happens, and they are loaded in the usual way.
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
