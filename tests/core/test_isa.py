"""NYSTREAM_ISA: the instruction set of the compiled kernels, lowered on request."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nystream._core import LEVELS


def told(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_misspelt_level_is_refused_at_import_and_the_message_names_those_there_are():
    program = """
import os
for wrong in ("avx", "AVX2", "avx512 ", "native"):
    os.environ["NYSTREAM_ISA"] = wrong
    try:
        import nystream._core
    except ValueError as error:
        print(error)
os.environ["NYSTREAM_ISA"] = ""
import nystream._core
"""
    for wrong, line in zip(("avx", "AVX2", "avx512 ", "native"), told(program), strict=True):
        expected = "NYSTREAM_ISA must be one of plain, base, avx2, avx512, or unset for the best there is; got "
        assert line == expected + repr(wrong)


WHICH = "from nystream._core.kernels import isa; print(isa())"


@pytest.fixture(scope="module")
def native():
    (level,) = told(WHICH, NYSTREAM_ISA="")
    return level


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_lowers_the_choice_and_never_raises_it(level, native):
    assert told(WHICH, NYSTREAM_ISA=level) == [min(level, native, key=LEVELS.index)]
