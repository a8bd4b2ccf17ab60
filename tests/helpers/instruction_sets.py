"""What code finds in a process of its own that runs at another instruction set."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

LEVELS = ("plain", "base", "avx2", "avx512")


def found_at(level: str, code: str) -> dict[str, np.ndarray]:
    """The arrays that the code writes to standard output by `np.savez`, among them `isa`, the level that it ran at.

    Skips the test where this machine does not have the level.
    """
    environment = {**os.environ, "NYSTREAM_ISA": level}
    there = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True)
    with np.load(io.BytesIO(there.stdout)) as file:
        found = dict(file)
    if str(found["isa"]) != level:
        pytest.skip(f"this machine has {found['isa']}, not {level}")
    return found
