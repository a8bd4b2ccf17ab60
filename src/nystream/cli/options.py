"""The options that several commands share, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Block",
    "Columns",
    "Data",
    "Delay",
    "Every",
    "Learners",
    "MaybeSource",
    "Metrics",
    "Name",
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
    "reading",
]

_SOURCE = (
    "A file (CSV, LIBSVM, ARFF, npy, Parquet; compressed too), - for standard input, a generator's name, or "
    "dataset:NAME with a name of `nystream datasets`."
)

Source = Annotated[str, typer.Argument(help=_SOURCE)]
MaybeSource = Annotated[str | None, typer.Argument(help=_SOURCE)]
Name = Annotated[
    str | None,
    typer.Option("--learner", "-l", help="A name of `nystream list`; without it, the default, which needs no setting."),
]
Learners = Annotated[str, typer.Option("--learners", "-l", help="Names of `nystream list`, with commas.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", "-s", help="A parameter, as in lam=0.1 or kernel__sigma=2.")
]
Target = Annotated[
    str | None, typer.Option("--target", "-y", help="Target column: a name or a position (default: the last).")
]
Task = Annotated[
    str | None, typer.Option(help="regression or classification; found from the first 1000 rows if not given.")
]
Columns = Annotated[
    int | None, typer.Option("--columns", min=1, help="Features of LIBSVM rows; needed on standard input only.")
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="Metrics to read, as in mse or accuracy@1000.")
]
Save = Annotated[Path | None, typer.Option("--final", "-f", help="Save the model here at the end (on Ctrl-C too).")]
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
Every = Annotated[int, typer.Option(min=1, help="Rows between readings.")]
Readings = Annotated[Path | None, typer.Option("--result", help="Save the readings to this .json or .csv file.")]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write a page with curves, tables and settings to this .html file.")
]
Data = Annotated[
    Path | None, typer.Option("--data", help="Folder that holds datasets; default: what NYSTREAM_DATA names.")
]
Out = Annotated[Path, typer.Option(help="Folder for the chart and the readings.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Standardize = Annotated[
    bool, typer.Option(help="Running mean and deviation for a named learner (the default one does it by itself).")
]


def reading(target: str | None, columns: int | None = None) -> dict[str, Any]:
    """The options about the table as what a stream takes."""
    options: dict[str, Any] = {} if columns is None else {"d": columns}
    if target is not None:
        options["target"] = int(target) if target.lstrip("-").isdigit() else target
    return options
