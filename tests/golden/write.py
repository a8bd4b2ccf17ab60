"""Write the golden files: `python tests/golden/write.py FOLDER`.

Each is a small model in the middle of its stream, as `nystream.save` writes it; `expected.json` has the inputs, and
what every model must give once it is loaded; `classes.json` names every class that occurs in a file.

The files of a format are written once, by the code of that format, and never again: later code has to read them.
Those of format 1 come from commit 0231efc, where this program imported the same things under their names of then.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import learner_cases
import numpy as np
import part_cases
import wrapper_cases
from case import TABLES, Call, Case, Rows

import nystream
from nystream.params import Params

NEVER = {
    **dict.fromkeys(("Pair", "CompiledKernel", "ScalarLoss", "Mean", "_Confusion", "Growing"), "a base"),
    **dict.fromkeys(("LandmarkLearner", "ClassLearner", "Calibration"), "a base"),
    **dict.fromkeys(("Adrift", "_Unheeded"), "of one experiment, which saves no model"),
    "_Remembered": "replaces a kernel while a block lasts",
}
"""Classes with parameters that no file has, and why."""


def plain(value: Any) -> Any:
    """As JSON has it; numbers keep every digit."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.astype(np.float64).tolist() if value.dtype == np.float32 else value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return None if isinstance(value, Params) else value  # of a method that returns its object


def described(call: Call, gives: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": call.name}
    if call.args is not None:
        entry["args"] = [[a.table, a.start, a.stop] if isinstance(a, Rows) else a for a in call.args]
    return {**entry, "gives": plain(gives)}


def write(case: Case, folder: Path) -> dict[str, Any]:
    """Save the model, then let it go on; a copy that was loaded must give the same, to the last bit."""
    path = folder / f"{case.name}.nys"
    if path.exists():
        raise RuntimeError(f"two cases are called {case.name}")
    nystream.save(case.model, path)
    calls = [described(call, call.on(case.model)) for call in case.calls]
    loaded = nystream.load(path, trust=case.trust)
    again = [described(call, call.on(loaded)) for call in case.calls]
    if json.dumps(again) != json.dumps(calls) or nystream.to_bytes(loaded) != nystream.to_bytes(case.model):
        raise RuntimeError(f"{case.name} does not go on from its file as it would have without")
    entry: dict[str, Any] = {"learner": case.learner}
    if case.tolerance is not None:
        entry |= {"tolerance": case.tolerance, "reason": case.reason}
    if case.trust:
        entry["trust"] = case.trust
    return {**entry, "calls": calls}


def classes_in(path: Path) -> set[str]:
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["nystream"])
    return set(_classes(header["model"]))


def _classes(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        if "$class" in tree:
            yield tree["$class"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _classes(part)


def every_class() -> dict[str, type[Params]]:
    """All classes with parameters in the package, by module and name."""
    for module in pkgutil.walk_packages(nystream.__path__, "nystream."):
        importlib.import_module(module.name)
    found, waiting = {}, [Params]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            name = f"{kind.__module__}.{kind.__qualname__}"
            if name.startswith("nystream.") and name not in found:
                found[name] = kind
                waiting.append(kind)
    return found


def compare_classes(used: set[str]) -> bool:
    """Print the classes that occur in files, and those that never do; whether each of these has a reason."""
    print(*sorted(used), sep="\n")
    complete, known = True, every_class()
    print(f"\n{len(used)} classes occur; {len(known)} have parameters. Never occurring:")
    for name in sorted(set(known) - used):
        kind = known[name]
        base = bool(kind.__subclasses__()) and "NotImplementedError" in inspect.getsource(kind)
        reason = NEVER.get(kind.__name__) or ("a base" if base or kind.__init__ is object.__init__ else None)
        complete &= reason is not None
        print(f"  {name}: {reason or 'WITHOUT A REASON'}")
    return complete


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def expected_text(files: dict[str, Any]) -> str:
    """JSON with one line for every table and every call."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    tables = {name: {"dtype": str(table.dtype), "rows": table.tolist()} for name, table in TABLES.items()}
    lines = ["{", f'"commit": "{commit}",', f'"version": "{nystream.__version__}",', '"tables": {']
    lines += [",\n".join(f"{_dumped(name)}: {_dumped(table)}" for name, table in tables.items()), "},"]
    entries = []
    for name, entry in sorted(files.items()):
        head = ", ".join(f"{_dumped(k)}: {_dumped(v)}" for k, v in entry.items() if k != "calls")
        calls = ",\n  ".join(_dumped(call) for call in entry["calls"])
        entries.append(f'{_dumped(name)}: {{{head}, "calls": [\n  {calls}]}}')
    return "\n".join([*lines, '"files": {', ",\n".join(entries), "}", "}"]) + "\n"


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("error")
    files, used = {}, set()
    for module in (learner_cases, wrapper_cases, part_cases):
        for case in module.cases():
            files[case.name] = write(case, folder)
            used |= classes_in(folder / f"{case.name}.nys")
    (folder / "expected.json").write_text(expected_text(files))
    (folder / "classes.json").write_text(
        json.dumps([name.rpartition(".")[::2] for name in sorted(used)], indent=0) + "\n"
    )
    complete = compare_classes(used)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    print(f"\n{len(files)} files, {sum(sizes.values()):,} bytes; the largest:")
    for name in sorted(sizes, key=sizes.__getitem__)[-8:]:
        print(f"  {name}: {sizes[name]:,}")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
