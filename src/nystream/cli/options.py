"""The options that several commands share, each with its help."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nystream.data.kinds import KINDS
from nystream.runtime.params import one_of

__all__ = [
    "Block",
    "Columns",
    "Data",
    "DayFirst",
    "Delay",
    "Drop",
    "Every",
    "Header",
    "Kinds",
    "Learners",
    "MaybeBlock",
    "MaybeSource",
    "Metrics",
    "Name",
    "OnError",
    "Out",
    "Predictions",
    "Quiet",
    "Readings",
    "Report",
    "Resume",
    "Rows",
    "Save",
    "Seed",
    "Settings",
    "Shuffle",
    "Sigma",
    "Source",
    "Standardize",
    "Target",
    "Task",
    "Test",
    "kinds_of",
    "settings_of",
    "split_columns",
]

_SOURCE = (
    "A file (CSV, JSON, Parquet, Feather, LIBSVM, ARFF, npy; text compressed too), - for standard input, a "
    "generator's name, or dataset:NAME with a name of `nystream datasets`."
)

Source = Annotated[str, typer.Argument(help=_SOURCE)]
MaybeSource = Annotated[str | None, typer.Argument(help=_SOURCE)]
Name = Annotated[
    str | None,
    typer.Option("--learner", "-l", help="A name of `nystream list`; without it, the default, which needs no setting."),
]
Learners = Annotated[str, typer.Option("--learners", "-l", help="Names of `nystream list`, with commas.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", "-s", help="A parameter, as in lam=0.1, lags=no or kernel__sigma=2.")
]
Target = Annotated[
    list[str] | None,
    typer.Option("--target", "-y", help="Target column: a name or a position (default: the last). Several: repeat it."),
]
Task = Annotated[
    str | None,
    typer.Option(help="regression, classification or novelty; chosen from the first 1,000 labels if not given."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", help="The only columns to use, with commas; of LIBSVM on standard input their number."),
]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Columns to leave out, with commas.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="Read a column as this kind, as in zip=category: number, boolean, category, time, text or ignored.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first line of a text file has names; found out if not given."
    ),
]
DayFirst = Annotated[
    bool, typer.Option("--day-first", help="01/02/2023 is 1 February, in columns where no date shows the order.")
]
OnError = Annotated[
    str,
    typer.Option(
        "--on-error",
        help="A cell that does not fit its column: stop (what was learnt is saved), missing (the cell counts as "
        "missing) or skip (its row is left out).",
    ),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="Metrics to read, as in mse or accuracy@1000.")
]
Save = Annotated[
    Path | None, typer.Option("--final", "-f", help="Save the model here at the end, on Ctrl-C or at an error too.")
]
Resume = Annotated[Path | None, typer.Option("--initial", "-i", help="Go on with this saved model.")]
Predictions = Annotated[
    str | None,
    typer.Option("--predictions", "-p", help="Write predictions, made before labels were read, here (- for stdout)."),
]
Test = Annotated[bool, typer.Option("--test", "-t", help="Predict only, learn nothing.")]
Rows = Annotated[int | None, typer.Option(min=1, help="Stop after this many rows.")]
Shuffle = Annotated[int | None, typer.Option(min=0, help="Shuffle the rows with this seed.")]
Sigma = Annotated[float | None, typer.Option(help="Kernel width; default: the median distance between the first rows.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the learners.")]
Delay = Annotated[int, typer.Option(min=0, help="Labels arrive this many rows late.")]
Block = Annotated[int, typer.Option(min=1, help="Rows handed to the learner at once; 1 answers a slow pipe at once.")]
MaybeBlock = Annotated[
    int | None,
    typer.Option(
        "--block",
        min=1,
        help="Rows handed to the learner at once; 1 answers a slow pipe at once. Default: 256, of a file 2048.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Number of processes; default: one for each core."),
]
Every = Annotated[int, typer.Option(min=1, help="Rows between readings.")]
Readings = Annotated[Path | None, typer.Option("--result", help="Save the readings to this .json or .csv file.")]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write a page with curves, tables and settings to this .html file.")
]
Data = Annotated[
    Path | None, typer.Option("--data", help="Folder that holds datasets; default: what NYSTREAM_DATA names.")
]
Out = Annotated[Path, typer.Option(help="Folder for the chart and the readings.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the result.")]
Standardize = Annotated[
    bool, typer.Option(help="Running mean and deviation for a named learner (the default one does it by itself).")
]


def settings_of(words: Sequence[str] | None) -> dict[str, Any]:
    """Parse `name=value` pairs; a value is JSON where it can be (numbers, true, null, lists), text otherwise."""
    values: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes name=value, got {word!r}")
        try:
            values[name] = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            values[name] = text
    return values


def kinds_of(words: Sequence[str] | None) -> dict[str, str]:
    """Parse `name=kind` pairs; a name may contain =."""
    kinds: dict[str, str] = {}
    for word in words or ():
        name, equals, kind = word.rpartition("=")
        if not equals or not name:
            raise ValueError(f"--kind takes name=kind, got {word!r}")
        kinds[name] = one_of(f"kind of {name}", kind, KINDS)
    return kinds


def split_columns(words: Sequence[str] | None) -> tuple[list[str] | None, int | None]:
    """Split words into names of columns and, for LIBSVM alone, their number: a single number may be both."""
    number = int(words[0]) if words and len(words) == 1 and words[0].isdecimal() else None
    return (list(words) if words else None), number
