"""What the command line loads: the help nothing that computes, a command only what it needs."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

from nystream.cli.app import COMMANDS, call

HEAVY = {
    *("numpy", "scipy", "scipy.stats", "matplotlib", "sklearn", "pandas", "polars", "pyarrow", "numba", "river"),
    *("asyncio", "multiprocessing", "nystream.learners", "nystream.model", "nystream.streams"),
}
NOT_FOR_LEARNING = {
    *("matplotlib", "sklearn", "pandas", "polars", "river", "scipy.optimize", "scipy.stats", "scipy.fft", "asyncio"),
    *("nystream.reproduce", "nystream.serve", "nystream.client", "nystream.plot", "nystream.spark", "rich.progress"),
    *("pydantic", "importlib.metadata"),
}


def loaded_by(*arguments: str) -> set[str]:
    """Modules in a fresh interpreter after this command line."""
    code = (
        "import sys\nfrom nystream.cli.app import call\n"
        f"code = call({list(arguments)!r})\n"
        "print('\\n', *sys.modules, sep=' ', file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"]])
def test_help_loads_nothing_that_computes(arguments):
    assert not loaded_by(*arguments) & HEAVY


@pytest.mark.parametrize("options", [["--learner", "fogd"], ["--target", "y"]])
def test_a_run_loads_no_other_command(tmp_path, options):
    path = tmp_path / "ten.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{i / 7}\n" for i in range(10)))
    loaded = loaded_by("run", str(path), "--quiet", *options)
    assert not loaded & NOT_FOR_LEARNING
    assert {name for name in COMMANDS if f"nystream.cli.{COMMANDS[name].home}" in loaded} == {"run"}


def test_what_is_to_be_converted_still_is(tmp_path, capsys):
    path = tmp_path / "ten.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{i / 7}\n" for i in range(10)))
    command = ["run", str(path), "--learner", "fogd", "--metric", "mse", "--metric", "mae"]
    assert call([*command, "--rows", "7", "--sigma", "2.5", "--seed", "3"]) == 0
    told = capsys.readouterr()
    assert "7 rows in" in told.out + told.err
    assert "mae" in told.out + told.err
    assert call([*command, "--rows", "seven"]) == 2
    assert "--rows" in capsys.readouterr().err
    assert call(["run"]) == 2
    assert "source" in capsys.readouterr().err.lower()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_how_its_help_begins(name):
    command = COMMANDS[name]
    function = getattr(importlib.import_module(f"nystream.cli.{command.home}"), command.function)
    assert command.summary == " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
