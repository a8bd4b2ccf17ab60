"""Check that no compiled module uses private attributes of Python objects: `make lint` runs it.

A compiled module takes arrays and numbers, or objects of compiled classes. The private attributes of a compiled class
belong to the core. Those of a Python object belong to its own module: a rename there would break the core at run time
alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CORE = Path(__file__).parents[1] / "src" / "nystream" / "_core"
CLASS = re.compile(r"^cdef class (\w+)", re.MULTILINE)
USE = re.compile(r"(?<![\w.])((?:\w+\.)*\w+)\._(?!_)\w+")
TEXT = re.compile(r'"""(?:.|\n)*?"""|"[^"\n]*"|#[^\n]*')


def find_private_uses(text: str, declared: str, classes: set[str]) -> list[tuple[int, str]]:
    """List the line and the text of every use of a private attribute whose owner is not of a compiled class.

    text : source of a module; declared : its source and declarations, in which types of variables are looked up.
    """
    kinds = "|".join(sorted(classes))
    code = TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    uses = []
    for found in USE.finditer(code):
        owner = found[1].split(".")[-1]
        if owner in {"self", "nystream", "numpy"} or found[1].startswith("nystream."):
            continue
        if re.search(rf"\b(?:{kinds})\s+(?:\w+(?:\s*=[^,\n]*)?,\s*)*{owner}\b", declared):
            continue
        uses.append((code.count("\n", 0, found.start()) + 1, found[0]))
    return uses


def main() -> int:
    """Print every private use and return 1 if there is one."""
    sources = {path: path.read_text() for path in sorted(CORE.rglob("*.pyx")) + sorted(CORE.rglob("*.pxd"))}
    classes = {name for text in sources.values() for name in CLASS.findall(text)}
    bad = 0
    for path, text in sources.items():
        declared = text + sources.get(path.with_suffix(".pxd"), "")
        for line, use in find_private_uses(text, declared, classes):
            place = f"{path.relative_to(CORE.parents[2])}:{line}"
            print(f"{place}: {use} is private to a Python object; pass its value instead")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
