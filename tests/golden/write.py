"""Write golden files: `python tests/golden/write.py FOLDER`.

Each is a small model in the middle of its stream, as `nystream.save` writes it; `expected.json` has the inputs, and
the values that every model must give once it is loaded. The files of a released format are written once, by the code of
that release: later code has to read them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import learner_cases
import numpy as np
import part_cases
import series_cases
import wrapper_cases
from case import TABLES, Call, Case, Rows

import nystream
from nystream.runtime.params import Params


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


def every_case() -> Iterator[Case]:
    for module in (learner_cases, wrapper_cases, part_cases, series_cases):
        yield from module.cases()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("error")
    files = {case.name: write(case, folder) for case in every_case()}
    (folder / "expected.json").write_text(expected_text(files))
    print(f"{len(files)} files, {sum(path.stat().st_size for path in folder.iterdir()):,} bytes")


if __name__ == "__main__":
    main()
