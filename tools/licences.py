"""Write docs/start/licences.md: the licences of everything that nystream and its extras need.

    python tools/licences.py           # from the metadata of what is installed (make install has every extra)
    python tools/licences.py --check   # exit with 1 if a direct dependency is not on the page

A package that is needed only on other systems or Pythons than this one may be missing.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "start" / "licences.md"
LEFT_OUT = ("dev", "docs", "all")
"""Extras of people who work on nystream, and the one that has all others."""
KNOWN = {"sktime": "BSD-3-Clause"}
"""Licences of packages that the extra `dev` does not install."""
HEAD = """# Licences

nystream is under the BSD 3-Clause licence. Nothing of others is copied into it. It needs the packages of this page,
each under its own licence. `python tools/licences.py` made the table from the metadata of the installed packages: those
that nystream or one of its extras names, and those that these need.

| package | licence | needed by |
|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    if given.check:
        page = PAGE.read_text()
        missing = [name for name in direct(project) if f"| {name} |" not in page]
        if missing:
            sys.exit(f"{PAGE.relative_to(ROOT)} has no {', '.join(missing)}: run python tools/licences.py")
        return
    PAGE.write_text(HEAD + "\n".join(rows(project)) + "\n")
    print(PAGE.relative_to(ROOT))


def groups(project: dict) -> dict[str, list[str]]:
    """Return the requirements of the base and of each extra that users install."""
    extras = project["optional-dependencies"]
    return {"nystream": project["dependencies"]} | {name: extras[name] for name in extras if name not in LEFT_OUT}


def direct(project: dict) -> list[str]:
    """Return the names of the packages that pyproject.toml names and that this Python needs."""
    found = {}
    for lines in groups(project).values():
        for line in map(Requirement, lines):
            if line.name != "nystream" and (line.marker is None or line.marker.evaluate()):
                found[canonicalize_name(line.name)] = True
    return sorted(found)


def rows(project: dict) -> list[str]:
    users: dict[str, set[str]] = {}
    for group, lines in groups(project).items():
        label = group if group == "nystream" else f"`{group}`"
        for line in lines:
            walk(Requirement(line), label, users)
    return [f"| {name} | {licence(name)} | {', '.join(sorted(users[name]))} |" for name in sorted(users)]


def walk(line: Requirement, label: str, users: dict[str, set[str]]) -> None:
    """Note the package and what it needs, on this system, for one extra."""
    name = canonicalize_name(line.name)
    if name == "nystream" or (line.marker is not None and not line.marker.evaluate({"extra": ""})):
        return
    if label in users.setdefault(name, set()) and not line.extras:
        return
    try:
        found = distribution(name)
    except PackageNotFoundError:
        if name not in KNOWN:
            sys.exit(f"{name} is not installed; make install, or add it to KNOWN")
        users[name].add(label)
        return
    users[name].add(label)
    for needed in map(Requirement, found.requires or []):
        chosen = needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in ("", *line.extras))
        if chosen:
            needed.marker = None
            walk(needed, label, users)


def licence(name: str) -> str:
    """Return the licence as the metadata state it: the expression, else the classifiers, else a line of the text."""
    try:
        metadata = distribution(name).metadata
    except PackageNotFoundError:
        return KNOWN[name]
    if metadata.get("License-Expression"):
        return metadata["License-Expression"]
    marks = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]
    marks = [mark for mark in marks if mark != "OSI Approved"]
    text = (metadata.get("License") or "").strip()
    line = text.splitlines()[0] if text else ""
    return re.sub(r"\s*\|\s*", "/", "; ".join(marks) or line or "not stated")


if __name__ == "__main__":
    main()
