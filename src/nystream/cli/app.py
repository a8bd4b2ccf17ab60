"""The commands, and how their failures are told."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any, TextIO

import typer

import nystream
from nystream.cli.bench import bench
from nystream.cli.datasets import datasets
from nystream.cli.explain import explain
from nystream.cli.listing import show
from nystream.cli.main import silence_stdout
from nystream.cli.predict import predict
from nystream.cli.push import push
from nystream.cli.race import race
from nystream.cli.reproduce import reproduce
from nystream.cli.run import run
from nystream.cli.serve import serve
from nystream.cli.surroundings import surroundings
from nystream.cli.video import video
from nystream.learners.abilities import Unable

__all__ = ["app", "call"]

UsageError: Any = typer.BadParameter.__bases__[0]
"""Base of everything a command line can be wrong with; newer versions of typer bring their own click."""

app = typer.Typer(
    name="nystream",
    help="Online kernel learning: models that learn one example at a time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run)
app.command("predict")(predict)
app.command("explain")(explain)
app.command("race")(race)
app.command("list")(show)
app.command("bench")(bench)
app.command("video")(video)
app.command("datasets")(datasets)
app.command("reproduce")(reproduce)
app.command("serve")(serve)
app.command("push")(push)


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --version: also what a bug report needs.")
    ] = False,
) -> None:
    if version:
        print(f"nystream {nystream.__version__}")
        if verbose:
            print("\n".join(f"{name}: {value}" for name, value in surroundings().items()))
        raise typer.Exit
    if verbose:
        raise typer.BadParameter("-v goes with --version")


def call(arguments: list[str]) -> int:
    """Run one command line; the exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _tell
        return _called(arguments)


def _called(arguments: list[str]) -> int:
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except typer.Exit as stop:
        return stop.exit_code
    except UsageError as error:
        if not error.format_message():
            return 2  # no command: the help was printed
        return _refuse(error.format_message(), hint=f"{error.ctx.command_path} --help" if error.ctx else None)
    except BrokenPipeError:
        silence_stdout()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("stopped", code=0)
    except MemoryError as error:
        return _refuse(f"not enough memory: {_one_line(error)}")
    except (ImportError, OSError, ValueError, Unable) as error:
        return _refuse(_one_line(error))


def _tell(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """`warnings.showwarning`, as one line."""
    print(f"nystream: {' '.join(str(message).split())}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


def _refuse(message: str, hint: str | None = None, code: int = 2) -> int:
    print(f"nystream: {message}" + (f" (see {hint})" if hint else ""), file=sys.stderr)
    return code
