"""`import nystream` loads next to nothing; every public name is there on first use, and for type checkers."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from releases import release

import nystream

SLOW = {
    *("concurrent.futures", "importlib.metadata", "matplotlib", "multiprocessing", "numpy", "pandas", "river"),
    *("pyspark", "safetensors", "scipy", "sklearn"),
}
SLOWEST = {
    *("matplotlib", "pandas", "polars", "pyarrow", "river", "scipy.integrate", "scipy.interpolate", "scipy.optimize"),
    *("pyspark", "scipy.signal", "scipy.sparse.csgraph", "scipy.spatial", "scipy.stats", "sklearn", "typer", "rich"),
}


NOT_TO_START = {
    *(
        "concurrent.futures",
        "logging",
        "matplotlib",
        "multiprocessing",
        "nystream.datasets",
        "nystream.plot",
        "numpy.f2py",
    ),
    *("numpy.testing", "pandas", "polars", "pyarrow", "rich", "scipy.linalg", "scipy.optimize", "scipy.sparse"),
    *("scipy.special", "sklearn", "ssl", "unittest"),
}
if release("scipy") < (1, 16):  # of which scipy.linalg itself loads it
    SLOWEST -= {"scipy.sparse.csgraph"}
if release("typer") < (0, 19):  # which loads the package of rich
    NOT_TO_START -= {"rich"}
if release("typer") < (0, 17):  # which loads all that rich needs for the help
    NOT_TO_START -= {"logging"}


def loaded_after(code: str) -> set[str]:
    """Modules in a fresh interpreter that has run the code."""
    code += "\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_import_alone_loads_neither_scipy_nor_any_part():
    loaded = loaded_after("import nystream")
    assert not loaded & SLOW
    assert {name for name in loaded if name.startswith("nystream")} == {"nystream"}


def test_all_public_names_together_load_no_optimiser_and_no_extra():
    loaded = loaded_after("import nystream\nfor name in nystream.__all__: getattr(nystream, name)")
    assert {"scipy.linalg.cython_blas", "nystream.auto.learner"} <= loaded
    assert not loaded & SLOWEST


@pytest.mark.parametrize("learner", [(), ("--learner", "fogd")])
def test_a_run_of_the_command_line_loads_only_what_ten_rows_need(tmp_path, learner):
    path = tmp_path / "ten.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i / 7},{i % 5 / 3}\n" for i in range(10)))
    command = ["run", str(path), "--quiet", *learner]
    loaded = loaded_after(f"from nystream.cli.app import call\nassert call({command!r}) == 0")
    assert {"numpy", "nystream.model", "scipy.linalg.cython_blas"} <= loaded
    assert not loaded & NOT_TO_START


def test_the_help_loads_not_even_numpy():
    code = "from nystream.cli.app import call\nassert call(['--help']) == 0"
    assert not loaded_after(code) & {"numpy", "scipy", "nystream._core", "nystream.cli.run"}


def test_what_is_loaded_before_its_package_is_found_by_all_who_ask_for_it_later():
    code = """
from nystream.cli.blas import PARTS, load_alone
load_alone()
import sys
assert "scipy.linalg" not in sys.modules
parts = [sys.modules[name] for name in PARTS]
import nystream._core.linear, nystream._core.linalg
assert "scipy.linalg" not in sys.modules
import scipy.linalg, scipy.optimize, scipy.sparse.linalg, scipy.stats
from scipy.linalg import cython_blas, cython_lapack
assert [cython_blas, cython_lapack] == parts
assert abs(scipy.linalg.solve([[2.0]], [4.0])[0] - 2.0) < 1e-12
load_alone()
assert [sys.modules[name] for name in PARTS] == parts
"""
    assert "scipy.stats" in loaded_after(code)


def test_every_public_name_is_there_and_listed():
    assert len(set(nystream.__all__)) == len(nystream.__all__)
    for name in nystream.__all__:
        assert getattr(nystream, name) is getattr(nystream, name)
    assert {*nystream.__all__, "__version__"} <= set(dir(nystream))
    names: dict[str, object] = {}
    exec("from nystream import *", names)
    assert set(nystream.__all__) <= set(names)


def test_type_checkers_see_the_names_where_they_are_found():
    tree = ast.parse(Path(nystream.__file__).read_text())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {}
    for node in branch.body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else []:
            names = importlib.import_module(node.module).__all__ if alias.name == "*" else [alias.name]
            seen |= dict.fromkeys(names, node.module)
    modules = {name for name, module in seen.items() if module == "nystream"}
    assert modules == nystream._MODULES
    homes = nystream._list_homes()
    assert set(homes) == set(seen) - modules - {"ABILITIES", "Abilities"}
    for name, module in homes.items():
        assert f"{module}.".startswith(f"{seen[name]}.") or f"{seen[name]}.".startswith(f"{module}.")
    assert set(nystream.__all__) == {*homes, *nystream._MODULES} - {"plot"}


def test_modules_need_no_import_of_their_own():
    names = sorted(nystream._MODULES - {"plot"})  # which is an extra
    loaded = loaded_after(f"import nystream\nfor name in {names}: getattr(nystream, name)")
    assert {f"nystream.{name}" for name in names} <= loaded


def test_spark_is_imported_by_its_own_part_alone_and_not_before_a_name_of_it_is_used():
    folder = Path(nystream.__file__).parent
    importing = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if imports(path, "pyspark", "py4j")
    }
    assert importing
    assert {name.partition("/")[0] for name in importing} == {"spark"}
    assert "nystream.spark" in loaded_after("import nystream.spark")
    assert not {"pyspark", "py4j"} & loaded_after("import nystream.spark")


def imports(path: Path, *packages: str) -> bool:
    """Whether a file imports one of these, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if any(name.partition(".")[0] in packages for name in names):
            return True
    return False


def test_a_name_that_is_not_there_is_the_usual_error():
    for module in (nystream, nystream.streams):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'Nothing'"):
            _ = module.Nothing
        assert not hasattr(module, "__path_hooks__")
    assert {"Adversary", "greedy_adversary", "csv"} <= set(dir(nystream.streams))
