"""Print the size and the shape of the package: files, lines, constants, and how far a row travels.

    python tools/house.py                 # tables of this checkout
    python tools/house.py --json now.json # the same as JSON
    python tools/house.py --names         # also the names of the classes and containers that are counted
    python tools/house.py --before old.json   # two columns: an earlier JSON beside this checkout

Only the standard library is imported here. The walks run in processes of their own, with the package that
`python` finds (`--python` names another interpreter).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "nystream"

Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the figures to this file too")
    parser.add_argument("--before", metavar="FILE", help="show the figures of this file beside those of the checkout")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs the walks")
    parser.add_argument("--names", action="store_true", help="name the classes and containers that are counted")
    parser.add_argument("--no-walks", action="store_true", help="leave the walks out: nothing of the package is run")
    given = parser.parse_args()
    figures = measure_sources(given.names)
    if not given.no_walks:
        figures |= measure_walks(given.python)
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=1) + "\n")
    before = json.loads(Path(given.before).read_text()) if given.before else None
    print_figures(figures, before)


def print_figures(now: Figures, before: Figures | None) -> None:
    names = list(dict.fromkeys([*(before or {}), *now]))
    width = max(len(name) for name in names)
    for name in names:
        columns = [now.get(name, "-")] if before is None else [before.get(name, "-"), now.get(name, "-")]
        print(f"{name:{width}}", *(f"{show(value):>16}" for value in columns))


def show(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def measure_sources(names: bool = False) -> Figures:
    """Count files, lines, constants, classes and names in the sources. `names`: print what is counted, where short."""
    figures: Figures = {"entries at the top level": len(list_entries(SOURCE))}
    for name, folder, endings in KINDS:
        files = [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in endings and is_source(path)]
        figures[f"{name}: files"] = len(files)
        figures[f"{name}: lines"] = sum(count_lines(path) for path in files)
    for folder in sorted(path for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"):
        files = [path for path in folder.rglob("*") if path.suffix in SOURCE_ENDINGS]
        figures[f"{folder.name}/: lines"] = sum(count_lines(path) for path in files)
    modules = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
    numbers, others = {}, 0
    for path, tree in modules.items():
        numbers[path], rest = count_constants(tree)
        others += rest
    figures["module constants"] = sum(numbers.values()) + others
    figures["module constants: numbers"] = sum(numbers.values())
    figures["module constants: numbers in auto/"] = sum(
        count for path, count in numbers.items() if path.is_relative_to(SOURCE / "auto")
    )
    figures["module constants: tables, names, patterns, types"] = others
    single, splitters = find_single_bases(modules)
    containers = find_containers(modules)
    figures["classes with exactly one subclass"] = len(single)
    figures["classes with exactly one subclass, used for nothing else"] = len(splitters)
    figures["containers for rows"] = len(containers)
    if names:
        print("classes with exactly one subclass:", *single, "used for nothing else:", *splitters, sep="\n  ")
        print("containers for rows:", *containers, sep="\n  ")
    figures["files that mention Projectron"] = sum(
        "rojectron" in path.read_text(errors="replace")
        for folder in ("src", "tests", "docs", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".pyx", ".pxd", ".pyi", ".h", ".md", ".json", ".toml"} and is_source(path)
    )
    return figures


SOURCE_ENDINGS = {".py", ".pyx", ".pxd", ".pyi", ".h"}
KINDS = (
    ("Python", "src", {".py"}),
    ("Cython", "src", {".pyx"}),
    ("Cython declarations", "src", {".pxd"}),
    ("stubs of compiled modules", "src", {".pyi"}),
    ("C headers", "src", {".h"}),
    ("tests", "tests", {".py"}),
    ("benchmarks", "benchmarks", {".py"}),
    ("docs", "docs", {".md"}),
)
GENERATED = {"__pycache__", "_generated", "gallery", "out", "build"}


def is_source(path: Path) -> bool:
    return path.is_file() and not GENERATED & set(path.relative_to(ROOT).parts)


def list_entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != "__pycache__" and path.suffix != ".so"]


def count_lines(path: Path) -> int:
    with path.open(errors="replace") as lines:
        return sum(1 for _ in lines)


def count_constants(tree: ast.Module) -> tuple[int, int]:
    """Count assignments to names in capitals at the level of a module: of single numbers, and of anything else.

    Only a single number can be a threshold or a size without a reason. `A, B, C = range(3)` names columns, and the
    others are tables, words, patterns and types.
    """
    numbers = others = 0
    for statement in tree.body:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            pairs = [(statement.target, statement.value)]
        for target in statement.targets if isinstance(statement, ast.Assign) else []:
            if isinstance(target, ast.Tuple):
                several = isinstance(statement.value, ast.Tuple)
                values = statement.value.elts if several else [statement.value] * len(target.elts)
                pairs += zip(target.elts, values, strict=True)
            else:
                pairs.append((target, statement.value))
        for name, value in pairs:
            if isinstance(name, ast.Name) and name.id.isupper():
                numbers += is_number(value)
                others += not is_number(value)
    return numbers, others


def is_number(value: ast.expr) -> bool:
    """Whether an expression is a number, or arithmetic with one."""
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return is_number(value.left) or is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def find_single_bases(modules: dict[Path, ast.Module]) -> tuple[list[str], list[str]]:
    """Return the classes from which exactly one other class of the package inherits.

    The second list has those of them that no line mentions, except to inherit from them: they only split a class.
    A name means the class of this name in the same module, or the one that the module imports.
    """
    homes = {module_name(path): find_names(path, tree) for path, tree in modules.items()}

    def origin(module: str, name: str) -> tuple[str, str]:
        found = homes.get(module, {}).get(name)
        return (module, name) if found is None or found == (module, name) else origin(*found)

    classes: list[tuple[str, str]] = []
    bases: Counter[tuple[str, str]] = Counter()
    uses: Counter[tuple[str, str]] = Counter()
    for path, tree in modules.items():
        module, inherited = module_name(path), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes.append((module, node.name))
                for base in node.bases:
                    plain = base.value if isinstance(base, ast.Subscript) else base
                    inherited.add(plain)
                    if isinstance(plain, ast.Name):
                        bases[origin(module, plain.id)] += 1
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node not in inherited:
                uses[origin(module, node.id)] += 1
    single = [name for name in classes if bases[name] == 1]
    public = public_names(modules)
    splitters = [name for name in single if not uses[name] and name[1] not in public]
    return [":".join(name) for name in single], [":".join(name) for name in splitters]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def find_names(path: Path, tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return the classes of a module and the names that it imports, each with its module and its name there."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names[node.name] = (module_name(path), node.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return names


def public_names(modules: dict[Path, ast.Module]) -> set[str]:
    """Return the words of the public names' table, and the classes of the registry."""
    texts = [modules[SOURCE / "__init__.py"], modules[SOURCE / "registry.py"]]
    words = [node.value for tree in texts for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {word for text in words if isinstance(text, str) for word in text.replace(":", " ").split()}


ROWS = {"Table", "Columns", "RawBlock", "Chunks", "SparseRows", "Batch", "Rows", "Block", "Chunk"}
"""Names under which rows on their way in have been kept."""
OTHERS = {
    "auto/drift/block.py",  # a block that was learnt, with its predictions
    "compose/columns.py",  # learners, one for each target
    "dictionary/rows.py",  # the stored points of a dictionary
    "reproduce/outcome.py",  # a table of figures for printing
}
"""Files with a class of such a name that holds something else."""


def find_containers(modules: dict[Path, ast.Module]) -> list[str]:
    return [
        f"{path.relative_to(SOURCE)}:{node.name}"
        for path, tree in modules.items()
        if str(path.relative_to(SOURCE)) not in OTHERS
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in ROWS
    ]


def measure_walks(python: str) -> Figures:
    """Count the files of the package that a call enters, and the calls that go from one file to another."""
    figures: Figures = {}
    for name, code in WALKS.items():
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [python, "-c", TRACER + code], cwd=folder, capture_output=True, text=True, env=dict(os.environ)
            )
        told = [line for line in done.stdout.splitlines() if line.startswith("WALK ")]
        if done.returncode or not told:
            figures[f"walk of {name}"] = "failed"
            print(f"{name}: {done.stderr.strip().splitlines()[-1:] or done.stdout[-300:]}", file=sys.stderr)
            continue
        files, jumps = told[-1].split()[1:]
        figures[f"walk of {name}: files"], figures[f"walk of {name}: jumps"] = int(files), int(jumps)
    return figures


TRACER = """
import sys, threading
import numpy as np
files, jumps, recording = set(), 0, False
def trace(frame, event, _):
    global jumps
    optimized = 1  # a flag that functions have, bodies of modules and classes not
    if not recording or event != "call" or not frame.f_code.co_flags & optimized:
        return
    name = frame.f_code.co_filename
    if "/nystream/" not in name:
        return
    files.add(name)
    caller = frame.f_back
    while caller is not None and "/nystream/" not in caller.f_code.co_filename:
        caller = caller.f_back
    if caller is not None and caller.f_code.co_filename != name:
        jumps += 1
def record(on):
    global recording
    recording = on
sys.setprofile(trace); threading.setprofile(trace)
def tell():
    print("WALK", len(files), jumps, flush=True)
"""

WALKS = {
    "PKAWV.run, 500 rows": """
import nystream
X, y = nystream.streams.friedman(1000, seed=0)
model = nystream.PKAWV(nystream.Fourier(nystream.Gaussian(4.0), 100, seed=0), lam=0.1)
model.run(X[:500], y[:500]); record(True); model.run(X[500:], y[500:]); record(False); tell()
""",
    "Auto.step, one row": """
import nystream
X, y = nystream.streams.friedman(1001, seed=0)
model = nystream.Auto()
model.run(X[:1000], y[:1000]); record(True); model.step(X[1000], y[1000]); record(False); tell()
""",
    "Auto.run, 500 rows": """
import nystream
X, y = nystream.streams.friedman(1500, seed=0)
model = nystream.Auto()
model.run(X[:1000], y[:1000]); record(True); model.run(X[1000:], y[1000:]); record(False); tell()
""",
    "nystream run, 80 rows": """
import nystream
X, y = nystream.streams.friedman(80, seed=0)
names = [f"x{j}" for j in range(X.shape[1])]
with open("rows.csv", "w") as out:
    print(*names, "y", sep=",", file=out)
    for x, label in zip(X, y):
        print(*x, label, sep=",", file=out)
sys.argv = ["nystream", "run", "rows.csv", "--target", "y"]
from nystream.cli.main import main
record(True)
try:
    main()
except SystemExit:
    pass
record(False); tell()
""",
    "POST of one row": """
import json, os, socket, time, urllib.request
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
def send(method, path, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method
    )
    return urllib.request.urlopen(request, timeout=60).read()
def ask():
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).read()
            break
        except OSError:
            time.sleep(0.1)
    send("PUT", "/models/m", {"columns": ["a", "b"], "target": "y", "task": "regression", "learner": "pkrr"})
    row = {"rows": [{"a": 1.0, "b": 2.0}], "labels": [3.0]}
    for _ in range(3):
        send("POST", "/models/m/learn", row)
    record(True)
    send("POST", "/models/m/learn", row)
    time.sleep(0.5)
    record(False); tell()
    os._exit(0)
threading.Thread(target=ask, daemon=True).start()
sys.argv = ["nystream", "serve", "models", "--port", str(port)]
from nystream.cli.main import main
main()
""",
}


if __name__ == "__main__":
    main()
