"""The commands and their error messages."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TextIO

import typer

import nystream
from nystream.cli import blas
from nystream.cli.main import INTERRUPTED, silence_stdout
from nystream.cli.plain import pass_plain_values

__all__ = ["COMMANDS", "call"]

NO_COMMAND = 2
"""The help was printed, and nothing was done; older versions of click would call that a success."""
UsageError: Any = typer.BadParameter.__bases__[0]
"""Base of everything a command line can be wrong with; newer versions of typer bring their own click."""


class Command(NamedTuple):
    """Where a command is, and the first sentence of its help."""

    home: str
    function: str
    summary: str


COMMANDS = {
    "demo": Command(
        "demo",
        "demo",
        "Watch a model learn: a live page with its predictions, its error and its alarms on a stream that changes.",
    ),
    "run": Command("run", "run", "Learn from a stream, one pass, predicting each row before its label is used."),
    "predict": Command(
        "predict",
        "predict",
        "Predict rows with a saved model, learning nothing. A target among the columns is not used.",
    ),
    "explain": Command(
        "explain",
        "explain",
        "Show which columns a saved model depends on; with a file, explain the predictions for its first rows.",
    ),
    "forecast": Command(
        "forecast",
        "forecast",
        "Forecast the next rows of a series, with intervals, and learn it row by row on the way.",
    ),
    "race": Command("race", "race", "Race learners on one stream, each row predicted before its label is used."),
    "list": Command("listing", "show", "List the learners by the names that run and race take."),
    "bench": Command("bench", "bench", "Measure rows per second, a whole stream and one row at a time."),
    "video": Command(
        "video",
        "video",
        "Score every pixel of a video against its own past; low scores are foreground.",
    ),
    "datasets": Command(
        "datasets",
        "datasets",
        "List the datasets by the names that run and race take as dataset:NAME, with what is here.",
    ),
    "reproduce": Command(
        "reproduce",
        "reproduce",
        "Do tables and figures of the papers again, the paper's figures beside ours.",
    ),
    "serve": Command("serve", "serve", "Serve models that learn: what is acknowledged is never forgotten."),
    "verify": Command("verify", "verify", "Check the folder of a server: the log, its WAL, every row, every snapshot."),
    "repair": Command("verify", "repair", "Bring quarantined models back, giving up only what a person confirms."),
    "restore": Command(
        "verify",
        "restore",
        "Make a folder with the models of an archive as they were at an earlier time, or at the end.",
    ),
    "push": Command("push", "push", "Send a file to a server, which predicts each row and then learns it."),
}
"""By name. Only the command that is called is loaded: all of them take a second."""


def _app(arguments: list[str]) -> Any:
    """Build the command line: the command that these arguments name, and the names and summaries of the others."""
    app = typer.Typer(
        name="nystream",
        help="Online kernel learning: models that learn one example at a time.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    wanted = next((word for word in arguments or _completed_words() if not word.startswith("-")), None)
    for name, known in COMMANDS.items():
        if name == wanted:
            blas.load_alone()
            app.command(name)(getattr(importlib.import_module(f"nystream.cli.{known.home}"), known.function))
        else:
            app.command(name, help=known.summary)(_not_called)
    app.callback(invoke_without_command=True)(about)
    group: Any = typer.main.get_command(app)
    for command in (group, *group.commands.values()):
        pass_plain_values(command)
    return group


def _completed_words() -> list[str]:
    """Return the words typed so far, where a shell asks how to complete them."""
    if "_NYSTREAM_COMPLETE" not in os.environ:
        return []
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]


def _not_called() -> None:
    """Stand in for a command that these arguments do not name."""


def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --version: also what a bug report needs.")
    ] = False,
) -> None:
    if version:
        print(f"nystream {nystream.__version__}")
        if verbose:
            found = importlib.import_module("nystream.cli.surroundings").surroundings()
            print("\n".join(f"{name}: {value}" for name, value in found.items()))
        raise typer.Exit
    if verbose:
        raise typer.BadParameter("-v goes with --version")


def call(arguments: list[str], loaded: Callable[[], None] | None = None) -> int:
    """Run one command line; the exit code. `loaded` is called when the command has been loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _tell
        return _called(arguments, loaded)


def _called(arguments: list[str], loaded: Callable[[], None] | None) -> int:
    code = _caught(arguments, loaded)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
    return code


def _caught(arguments: list[str], loaded: Callable[[], None] | None) -> int:
    try:
        app = _app(arguments)
        if loaded is not None:
            loaded()
        code = app(arguments, standalone_mode=False)
        return int(code or 0) if arguments else NO_COMMAND
    except typer.Exit as stop:
        return stop.exit_code if arguments else NO_COMMAND
    except UsageError as error:
        if not error.format_message():
            return NO_COMMAND
        return _refuse(error.format_message(), hint=f"{error.ctx.command_path} --help" if error.ctx else None)
    except BrokenPipeError:
        silence_stdout()
        return 0
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # rich ends a program whose output nobody reads
            return 0
        raise
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("stopped", code=INTERRUPTED)
    except MemoryError as error:
        return _refuse(f"not enough memory: {_one_line(error)}")
    except _refusals() as error:
        return _refuse(_one_line(error))


def _refusals() -> tuple[type[Exception], ...]:
    """Return the error types that the user can correct."""
    found: list[type[Exception]] = [ImportError, OSError, ValueError]
    if abilities := sys.modules.get("nystream.learners.abilities"):
        found.append(abilities.Unable)
    if log := sys.modules.get("nystream.serve.log"):
        found += [log.Full, log.Broken, log.Damaged]
    return tuple(found)


def _tell(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line; replaces `warnings.showwarning`."""
    print(f"nystream: {' '.join(str(message).split())}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


def _refuse(message: str, hint: str | None = None, code: int = 2) -> int:
    print(f"nystream: {message}" + (f" (see {hint})" if hint else ""), file=sys.stderr)
    return code
