"""Other compilers: what is not standard C stands behind a fence (simd/isa.h), and what is left without it compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SIMD = Path(__file__).parents[2] / "src" / "nystream" / "_core" / "simd"
HEADERS = sorted(
    path.name for path in SIMD.glob("*.h") if not path.name.endswith("_body.h") and "corner" not in path.name
)
COMPILERS = [
    name
    for name in ("gcc", "clang", "musl-gcc", "x86_64-w64-mingw32-gcc", "aarch64-linux-gnu-gcc")
    if shutil.which(name)
]
GNU = re.compile(r"__attribute__|__builtin|vector_size|typeof|__asm|immintrin")

pytestmark = pytest.mark.skipif(not SIMD.exists() or not COMPILERS, reason="needs the C sources and a compiler")


def compiled(compiler, header, *options):
    """The errors and warnings of one header, alone."""
    line = [
        compiler,
        *options,
        "-Wall",
        "-Wno-unused-function",
        "-Wno-unknown-pragmas",
        "-fsyntax-only",
        "-x",
        "c",
        header,
    ]
    return subprocess.run(line, cwd=SIMD, capture_output=True, text=True, check=False).stderr


def own_lines(compiler, header, *options):
    """What the compiler keeps of our headers after its conditionals, macros not yet replaced."""
    line = [compiler, *options, "-std=c11", "-E", "-fdirectives-only", "-x", "c", header]
    text = subprocess.run(line, cwd=SIMD, capture_output=True, text=True, check=True).stdout
    ours = False
    for row in text.splitlines():
        mark = re.match(r'# \d+ "([^"]*)"', row)
        if mark:
            ours = not mark[1].startswith(("/", "<"))
        elif ours:
            yield row


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_header_compiles_alone_with_the_fence_and_without(compiler):
    for header in HEADERS:
        assert compiled(compiler, header, "-std=gnu11", "-Wno-psabi") == "", header
        assert compiled(compiler, header, "-std=c11", "-pedantic-errors", "-DNYSTREAM_PLAIN_C") == "", header


@pytest.mark.skipif("gcc" not in COMPILERS, reason="needs gcc")
def test_nothing_of_gnu_c_is_left_behind_the_fence():
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout
    if "Free Software Foundation" not in version:
        pytest.skip("gcc is another compiler here, which cannot keep macros as they are")
    assert any(
        GNU.search(row) for header in HEADERS for row in own_lines("gcc", header)
    )  # the search finds what there is
    left = [
        (header, row) for header in HEADERS for row in own_lines("gcc", header, "-DNYSTREAM_PLAIN_C") if GNU.search(row)
    ]
    assert left == []
