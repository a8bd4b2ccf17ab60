"""The lowest versions that requirements allow, as pins: python .ci/lowest.py PYPROJECT EXTRA... [-- REQUIREMENT...]

Of the base dependencies and the extras; REQUIREMENT adds bounds of others, as their metadata state them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

file, *rest = sys.argv[1:]
extras, others = (rest[: rest.index("--")], rest[rest.index("--") + 1 :]) if "--" in rest else (rest, [])
project = tomllib.loads(Path(file).read_text(encoding="utf-8"))["project"]
lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
lowest: dict[str, tuple[int, ...]] = {}
for line in [*lines, *others]:
    name, bound = re.match(r"([\w.-]+)", line), re.search(r">=([\d.]+)", line)
    assert name is not None, line
    if bound is not None and (line in lines or name[1] in lowest):
        lowest[name[1]] = max(lowest.get(name[1], ()), tuple(int(part) for part in bound[1].split(".")))
for package, version in lowest.items():
    exact = [*version, 0, 0][: max(3, len(version))]  # the first of its series that can be had
    print(f"{package}~={'.'.join(map(str, exact))}")
