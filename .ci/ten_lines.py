"""The first block of Python of the README, run with what is installed: python .ci/ten_lines.py README.md

Fails unless the package that answers is the installed one, and unless the model is better than always saying the mean.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

readme = Path(sys.argv[1]).resolve()
block = re.search(r"^```python\n(.*?)^```", readme.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
assert block is not None, f"{readme} has no block of Python"
with tempfile.TemporaryDirectory() as folder:
    home = os.getcwd()
    os.chdir(folder)  # a model is saved there
    names: dict[str, object] = {"__name__": "readme"}
    exec(compile(block[1], str(readme), "exec"), names)
    os.chdir(home)

import nystream  # noqa: E402

place = Path(nystream.__file__).resolve()
assert readme.parent / "src" not in place.parents, f"{place} is the source tree, not what is installed"
p, y = names["p"], names["y"]
assert ((p - y) ** 2).mean() < y.var() / 2  # type: ignore[operator, attr-defined]
print(f"\n{len(block[1].strip().splitlines())} lines of {readme.name} ran with {place.parent}; installed:")
print(", ".join(sorted(f"{each.metadata['Name']} {each.version}" for each in distributions())))
