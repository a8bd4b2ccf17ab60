"""Make the table of layers in docs/design/001-architecture.md from pyproject.toml and the packages' docstrings.

    python tools/layers.py           # write the table into the page
    python tools/layers.py --check   # exit with 1 if the page is not current

Only the standard library is needed.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "design" / "001-architecture.md"
BEGIN, END = "<!-- layers: made by tools/layers.py -->\n", "<!-- end of layers -->\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is not current")
    given = parser.parse_args()
    text = PAGE.read_text()
    current = replace_table(text, make_table(read_layers()))
    if given.check:
        if text != current:
            sys.exit(f"{PAGE.relative_to(ROOT)} is not current: run python tools/layers.py")
    elif text != current:
        PAGE.write_text(current)


def read_layers() -> list[list[str]]:
    """Return the layers of the import contract, from the bottom up, each with its rooms."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = next(c for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    return [[room.strip() for room in layer.split("|")] for layer in reversed(contract["layers"])]


def make_table(layers: list[list[str]]) -> str:
    """Return a Markdown table: one row for each room, its layer counted from the bottom."""
    lines = ["| layer | room | content |", "|---|---|---|"]
    for number, rooms in enumerate(layers, 1):
        lines += [f"| {number} | {show(room)} | {describe(room)} |" for room in rooms]
    return "\n".join(lines) + "\n"


def show(room: str) -> str:
    return f"`{room}.py`" if find(room).name != "__init__.py" else f"`{room}/`"


def find(room: str) -> Path:
    """Return the file whose docstring describes a room."""
    package = ROOT / "src" / "nystream" / room / "__init__.py"
    return package if package.exists() else ROOT / "src" / "nystream" / f"{room}.py"


def describe(room: str) -> str:
    """Return the first paragraph of a room's docstring, on one line."""
    text = ast.get_docstring(ast.parse(find(room).read_text())) or ""
    if not text:
        sys.exit(f"{find(room).relative_to(ROOT)} needs a docstring that says what the room holds")
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def replace_table(page: str, table: str) -> str:
    """Return the page with the table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or not after:
        sys.exit(f"{PAGE.relative_to(ROOT)} must have the marks {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


if __name__ == "__main__":
    main()
