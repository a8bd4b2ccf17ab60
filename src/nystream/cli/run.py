"""`nystream run`: one learner over a file or a pipe, with progress at powers of two."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from nystream import persist
from nystream.cli import options as opt
from nystream.cli import pages
from nystream.cli.cleaning import checked_policy, naming_the_option
from nystream.cli.kinds import check_kinds, kinds_table
from nystream.cli.main import silence_stdout
from nystream.cli.progress import Bar, bar_of
from nystream.cli.resuming import read
from nystream.cli.rows import NEVER_SPARSE, RowSource, dense_up_to, open_rows, width_of
from nystream.cli.source import ParsedSource, open_source
from nystream.cli.stopping import Stoppable
from nystream.evaluate import Result, prequential
from nystream.evaluate.metrics import ImportanceShares, Regret, RegretBound, Weights
from nystream.evaluate.result import check_form
from nystream.model import Model
from nystream.model.building import build
from nystream.model.tasks import algorithm
from nystream.runtime.types import Array

__all__ = ["run"]

SHARES = {"of_mean": "relative to always predicting the mean", "of_last": "relative to repeating the last value"}
"""Simple forecasts that squared errors are compared with."""
MOST_ALARMS = 5
"""Largest number of drift alarms that are printed, the last ones."""
FEW, MANY = 256, 2048
"""Rows handed to the learner at once, from a pipe and from a file. The result does not depend on it: a pipe may be
slow, and larger blocks of a file are learnt faster."""
MOST_PARTS = 4
"""Largest number of parts of a learner in the final line."""


def run(
    source: opt.Source,
    learner: opt.Name = None,
    settings: opt.Settings = None,
    target: opt.Target = None,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    kind: opt.Kinds = None,
    header: opt.Header = None,
    day_first: opt.DayFirst = False,
    task: opt.Task = None,
    metrics: opt.Metrics = None,
    save: opt.Save = None,
    resume: opt.Resume = None,
    predictions: opt.Predictions = None,
    test: opt.Test = False,
    rows: opt.Rows = None,
    shuffle: opt.Shuffle = None,
    sigma: opt.Sigma = None,
    standardize: opt.Standardize = True,
    seed: opt.Seed = 0,
    delay: opt.Delay = 0,
    block: opt.MaybeBlock = None,
    on_error: opt.OnError = "stop",
    result: opt.Readings = None,
    report: opt.Report = None,
    data: opt.Data = None,
    quiet: opt.Quiet = False,
) -> None:
    """Learn from a stream, one pass, predicting each row before its label is used."""
    policy = checked_policy(on_error)
    _check_together(learner, settings, sigma, save, resume, test)
    if resume is not None and (drop or kind or task):
        raise ValueError("--initial goes on with the columns and the task of the saved model: leave out --drop, --kind "
                         "and --task")  # fmt: skip
    _check_outputs(save, result, report)
    model = read(resume) if resume else None
    only, width = opt.split_columns(columns)
    novelty = task == "novelty" or (model is not None and model.task == "novelty")
    found = _open_rows(source, target, learner, model, width, novelty, header, rows, shuffle, data)
    look = model is None and learner is not None and sigma is None  # a kernel width has to be found
    kinds = opt.kinds_of(kind)
    only = only if width is None or not found.numeric else None
    chosen: dict[str, Any] = {"kinds": kinds, "drop": drop or (), "columns": only, "day_first": day_first}
    block = block or (MANY if found.ahead else FEW)
    with naming_the_option():
        examples = open_source(found, task=task, model=model, block=block, look=look, policy=policy, **chosen)
    if model is None:
        _say_kinds(examples, kinds, policy, quiet)
        sigma = sigma if sigma is not None else examples.width(standardized=standardize) if look else 1.0
        scales: dict[str, Any] = {"sigma": sigma, "seed": seed, "standardize": standardize}
        model = _new_model(examples, learner, settings, novelty, scales)
    bar = bar_of(source, examples.total, limit=rows, quiet=quiet or (predictions == "-" and sys.stdout.isatty()))
    _check_meters(model, metrics or [])
    before = model.n_seen
    with Stoppable(examples) as stream, naming_the_option():
        finished = None
        try:
            run = _Pass(model, examples, stream, metrics or [], bar, quiet, more=report is not None)
            finished = run.learn(predictions, test=test, delay=delay, block=block)
        except (ValueError, OSError) as error:  # a learner refuses before it changes, so the model is whole
            stream.failure = stream.failure or error
        if save is not None:
            _save(model, save, stream, before, quiet)
        if finished is not None and result is not None:
            finished.save(result)
        if finished is not None and report is not None:
            _write_report(report, finished, model, examples, seed)
            _say(f"wrote {report}", quiet)
        stream.raise_failure()
    if stream.exit_code:
        raise typer.Exit(stream.exit_code)


def _open_rows(
    source: str,
    target: list[str] | None,
    learner: str | None,
    model: Model | None,
    width: int | None,
    novelty: bool,
    header: bool | None,
    rows: int | None,
    shuffle: int | None,
    data: Path | None,
) -> RowSource:
    """Open the source for a new model, or for a saved one, whose target and sparse columns it then has."""
    wanted = target or (_own_target(model) if model is not None else None)
    wide = width_of(model)
    dense = dense_up_to([learner]) if model is None else NEVER_SPARSE if wide is None else wide - 1
    return open_rows(
        source,
        target=wanted,
        wanted=bool(wanted) or not novelty,
        width=wide or width,
        rows=rows,
        shuffle=shuffle,
        data=data,
        dense=dense,
        header=header,
        model=model,
    )


def _say_kinds(examples: ParsedSource, kinds: dict[str, str], policy: str, quiet: bool) -> None:
    """Print how the columns are read; with the policy "stop", refuse cells that are not of a kind asked for."""
    for line in kinds_table(examples):
        _say(line, quiet)
    if policy == "stop":
        with naming_the_option():
            check_kinds(examples, kinds)


def _new_model(
    examples: ParsedSource, learner: str | None, settings: list[str] | None, novelty: bool, scales: dict[str, Any]
) -> Model:
    """Make the model for the schema of the source; for novelty without a learner it brings its own."""
    if novelty and learner is None:
        return Model(None, examples.schema)
    chosen = opt.settings_of(settings)
    return Model(build(learner, examples.task, chosen, kinds=examples.schema.kinds, **scales), examples.schema)


def _write_report(path: Path, finished: Result, model: Model, examples: ParsedSource, seed: int) -> None:
    about = {"source": examples.name, "task": examples.task, "columns": f"{examples.d:,}", "seed": str(seed)}
    about |= pages.explained({finished.name: model})
    alarms = [alarm.row for alarm in _alarms(model)]
    importance = pages.importance(finished.name, model)
    pages.write(finished, path, f"{finished.name}: {examples.name}", about, importance, alarms)


def _save(model: Model, path: Path, stream: Stoppable, before: int, quiet: bool) -> None:
    """Save the model, and print a line if the stream did not end normally."""
    if stream.is_forced:
        _say(f"stopped in the middle of a block: {path} is not written", quiet=False)
    elif stream.is_cut and model.n_seen == before:
        _say(f"nothing was learnt: {path} is not written", quiet=False)
    else:
        persist.save(model, path)
        rows = f" with the {model.n_seen - before:,} rows learnt before the end" if stream.is_cut else ""
        _say(f"saved {path}{rows}", quiet and not stream.is_cut)


def _check_meters(model: Model, metrics: list[str]) -> None:
    """Raise an error for metrics that this learner does not have."""
    learner = model.inner
    for name in metrics:
        if name not in (Regret.name, RegretBound.name):
            continue
        why = learner.why_not(name)
        if name == RegretBound.name and why is None and not learner.can(Regret.name):
            why = "its bound depends on the norm of the comparator: in Python, regret_bound(norm2)"
        if why is not None:
            scaled = " (--no-standardize keeps them as they are)" if "scaled" in why else ""
            raise ValueError(f"-m {name} is not for this learner, {learner._kind}: {why}{scaled}")


class _Pass:
    """One pass of a model over its source, with its printed output.

    Parameters
    ----------
    metrics : names of the metrics asked for; none: the usual one of the task
    more : bool
        Whether there are readings between powers of two, for a report.
    """

    def __init__(
        self,
        model: Model,
        data: ParsedSource,
        stream: Stoppable,
        metrics: list[str],
        bar: Bar,
        quiet: bool,
        *,
        more: bool,
    ) -> None:
        self._model, self._data, self._stream, self._bar = model, data, stream, bar
        self._quiet, self._more = quiet, more
        self._known = list(model.classes) if model.n_seen else []
        own = (Weights.name, ImportanceShares.name)  # these are several columns, too many for a line
        self._shown = [name for name in metrics if name not in own] or [_usual_metric(data)]
        self._names = list(dict.fromkeys([*self._shown, *metrics]))
        self._shares = SHARES if data.task == "regression" else {}

    def learn(self, predictions: str | None, *, test: bool, delay: int, block: int) -> Result | None:
        """Learn the rows, or only predict them (`test`), and print the result.

        Returns None where nobody reads what is written, or nothing was learnt.
        """
        self._say_start()
        began = time.perf_counter()
        progress = _Progress(self._shown, began, self._bar, self._quiet, between=self._more)
        with _writing(predictions) as file:
            write = None if file is None else _writer(self._model, file, self._stream)
            finished = self._evaluate(progress, write, test, delay, block)
        if finished is not None:
            finished.meta["interrupted"] = finished.interrupted or self._stream.is_cut
            self._say_result(finished, time.perf_counter() - began)
        return finished

    def _evaluate(
        self, progress: _Progress, write: Callable[[Array], None] | None, test: bool, delay: int, block: int
    ) -> Result | None:
        names = pages.metrics(self._names) if self._more else [*self._names, "size"]
        try:
            return prequential(
                self._stream,
                self._model,
                list(dict.fromkeys([*names, *self._shares])),
                every="logarithmic" if self._more else "doubling",
                block=block,
                delay=delay,
                progress=progress,
                name=algorithm(self._model.inner),
                learn=not test,
                watch=_watched(self._bar, write),
            )
        except BrokenPipeError:
            self._stream.close()  # nobody reads the progress
            return None
        except ValueError:
            if self._stream.is_cut:  # before the first row
                return None
            raise
        finally:
            self._bar.clear()

    def _say_start(self) -> None:
        data = self._data
        _say(f"{data.name}: {data.task}, {self._model.inner!r}", self._quiet)
        if data.reason is not None:
            _say(f"task: {data.task}, because {data.reason}; --task says otherwise", self._quiet)

    def _say_result(self, finished: Result, seconds: float) -> None:
        stopped = " (stopped)" if self._stream.is_cut else ""
        summary = ", ".join(f"{m} {_figure(finished.final[m])}" for m in self._shown)
        rows = f"{finished.rows} row{'s' if finished.rows != 1 else ''}"
        _say(f"{rows} in {seconds:.2f} s{stopped}: {summary}; {self._model.nbytes:,} bytes", quiet=False)
        known = {m: what for m, what in self._shares.items() if finished.final[m] == finished.final[m]}
        if known:
            shares = "; ".join(f"{what}: {100 * finished.final[m]:.3g}%" for m, what in known.items())
            _say(f"Squared error {shares}.", self._quiet)
        _say_counts(self._model, self._quiet)
        if self._known:
            _say_new_classes(self._known, self._model.classes, self._quiet)
        for line in self._data.cleaner.summary(self._data.rows.unreadable):
            _say(line, quiet=False)
        _say_alarms(self._model, self._quiet)
        _say_parts(self._model, self._quiet)


class _Progress:
    """A line at rows 1, 2, 4, 8, ...: metrics so far, the model's size, the speed. Readings `between` are not told."""

    def __init__(self, names: list[str], began: float, bar: Bar, quiet: bool, between: bool) -> None:
        self._began, self._bar, self._quiet, self._between = began, bar, quiet, between
        self._names = [name for name in names if name != "size"]
        _say("".join(f"{title:>14}" for title in ("rows", *self._names, "size", "rows/s")), quiet)

    def __call__(self, snapshot: Any) -> None:
        if snapshot.n & (snapshot.n - 1) and self._between:
            return
        speed = snapshot.n / max(time.perf_counter() - self._began, 1e-9)
        cells = [
            f"{snapshot.n:,}",
            *(_figure(snapshot.values[m]) for m in self._names),
            f"{snapshot.values['size']:.0f}",
            f"{speed:,.0f}",
        ]
        self._bar.clear()
        _say("".join(f"{cell:>14}" for cell in cells), self._quiet)


def _watched(bar: Bar, write: Callable[[Array], None] | None) -> Callable[[Array], None]:
    """Return a function that writes predictions, where they are wanted, and counts them on the bar."""

    def watch(P: Array) -> None:
        if write is not None:
            write(P)
        bar.add(len(P))

    return watch


def _usual_metric(data: ParsedSource) -> str:
    """Return the default metric. Novelty detection without labels has only scores."""
    if data.task == "novelty":
        return "auc" if data.has_labels else "size"
    return "accuracy" if data.task == "classification" else "mse"


def _figure(value: float) -> str:
    return "-" if value != value else f"{value:.6g}"


def _writer(model: Model, file: Any, stream: Stoppable) -> Callable[[Array], None]:
    """Return a function that writes predictions as text, one line each; several targets are separated by commas.

    A closed pipe ends the stream.
    """

    def write(P: Array) -> None:
        answers = model.answers(P)
        if answers.dtype == object:
            lines = ["?" if name is None else str(name) for name in answers]
        else:
            lines = [",".join(f"{v:.10g}" for v in row) for row in answers.reshape(len(answers), -1)]
        try:
            file.writelines(line + "\n" for line in lines)
            if file is sys.stdout:
                file.flush()  # the next program may be waiting for it
        except BrokenPipeError:
            silence_stdout()
            stream.close()

    return write


def _own_target(model: Model) -> list[str] | None:
    schema = model.schema_ or model.schema
    return None if schema is None else schema.targets or None


def _say_counts(model: Model, quiet: bool) -> None:
    """Print the number of rows that were not learnt."""
    count = model.n_unlabelled
    if count:
        rows = "1 row without a label was" if count == 1 else f"{count:,} rows without a label were"
        _say(f"{rows} predicted and not learnt", quiet)


def _say_new_classes(before: list[Any], after: list[Any], quiet: bool) -> None:
    """Name the classes that a saved model did not know: some may be misspelt."""
    new = [str(name) for name in after if name not in before]
    if new:
        shown = ", ".join(new[:MOST_PARTS]) + (", ..." if len(new) > MOST_PARTS else "")
        known = ", ".join(map(str, before[:MOST_PARTS])) + (", ..." if len(before) > MOST_PARTS else "")
        _say(f"new class{'es' * (len(new) > 1)}: {shown}; the model knew {known}", quiet)


def _alarms(model: Model) -> list[Any]:
    return model.alarms() if model.learner_ is not None and model.can("alarms") else []


def _say_alarms(model: Model, quiet: bool) -> None:
    """Tell the last drift alarms."""
    alarms = _alarms(model)
    if len(alarms) > MOST_ALARMS:
        _say(f"{len(alarms):,} drift alarms; the last {MOST_ALARMS}:", quiet)
    for alarm in alarms[-MOST_ALARMS:]:
        _say(str(alarm), quiet)


def _say_parts(model: Model, quiet: bool) -> None:
    """Print the parts of a learner with the largest weights."""
    weights = model.weights() if model.learner_ is not None and model.can("weights") else {}
    if weights and not quiet:
        heaviest = sorted(weights, key=lambda part: -abs(weights[part]))[:MOST_PARTS]
        rest = "; ..." if len(weights) > MOST_PARTS else ""
        _say(f"relies on {'; '.join(f'{part} {weights[part]:.0%}' for part in heaviest)}{rest}", quiet)


def _check_together(
    learner: str | None,
    settings: list[str] | None,
    sigma: float | None,
    save: Path | None,
    resume: Path | None,
    test: bool,
) -> None:
    """Raise an error for options that contradict each other."""
    if test and (resume is None or save is not None):
        raise ValueError("--test needs a model to test (--initial) and saves none (no --final)")
    if sigma is not None and learner is None:
        raise ValueError("--sigma is the kernel width of a learner that is named with --learner")
    if resume is not None and (learner is not None or settings):
        raise ValueError("--initial goes on with the saved model: leave out --learner and --set")


def _check_outputs(save: Path | None, result: Path | None, report: Path | None) -> None:
    """Raise an error for files that cannot be written, before the stream starts."""
    if save is not None:
        persist.check_target(save)
    if result is not None:
        check_form(result)
        persist.check_target(result)
    pages.check(report)


def _writing(predictions: str | None) -> Any:
    if predictions is None or predictions == "-":
        return nullcontext(sys.stdout if predictions else None)
    return open(predictions, "w", encoding="utf-8")


def _say(line: str, quiet: bool) -> None:
    """Print progress to standard error, since standard output belongs to predictions."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)
