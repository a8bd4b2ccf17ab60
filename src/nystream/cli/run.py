"""`nystream run`: one learner over a file or a pipe, with progress at powers of two."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

from nystream import persist
from nystream.cli import options as opt
from nystream.cli import pages
from nystream.cli.resuming import read
from nystream.cli.rows import NEVER_SPARSE, dense_up_to, open_rows, width_of
from nystream.cli.source import Source, opened
from nystream.evaluate import Result, prequential
from nystream.evaluate.result import check_form
from nystream.metrics import ImportanceShares, Weights
from nystream.model import Model
from nystream.model.building import build
from nystream.model.tasks import algorithm
from nystream.types import Array

__all__ = ["run"]

SHARES = {"of_mean": "relative to always predicting the mean", "of_last": "relative to repeating the last value"}
"""Simple forecasts that squared errors are compared with."""
MOST_ALARMS = 5
"""Drift alarms that are told, the last ones."""
FEW, MANY = 256, 2048
"""Rows handed to the learner at once, of which the result does not depend: from a pipe, and from a file."""
MOST_PARTS = 4
"""Parts of a learner that are named when it has finished."""


def run(
    source: opt.Source,
    learner: opt.Name = None,
    settings: opt.Settings = None,
    target: opt.Target = None,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    kind: opt.Kinds = None,
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
    on_error: opt.OnError = "raise",
    result: opt.Readings = None,
    report: opt.Report = None,
    data: opt.Data = None,
    quiet: opt.Quiet = False,
) -> None:
    """Learn from a stream, one pass, predicting each row before its label is used."""
    _check_together(learner, settings, sigma, save, resume, test)
    if resume is not None and (drop or kind or task):
        raise ValueError("--initial goes on with the columns and the task of the saved model: leave out --drop, --kind "
                         "and --task")  # fmt: skip
    _check_targets(save, result)
    pages.check(report)
    model = read(resume) if resume else None
    only, width = opt.columns_of(columns)
    wanted = target or (_own_target(model) if model is not None else None)
    wide = width_of(model)  # as many columns as the saved model has, and sparse again
    dense = dense_up_to([learner]) if model is None else NEVER_SPARSE if wide is None else wide - 1
    found = open_rows(source, target=wanted, width=wide or width, rows=rows, shuffle=shuffle, data=data, dense=dense)
    look = model is None and learner is not None and sigma is None  # a kernel width has to be found
    kinds = opt.kinds_of(kind)
    options: dict[str, Any] = {"kinds": kinds, "drop": drop or (), "columns": only}
    block = block or (MANY if found.ahead else FEW)
    examples = opened(found, task=task, model=model, block=block, look=look, **options)
    if model is None:
        sigma = sigma if sigma is not None else examples.width(standardized=standardize) if look else 1.0
        scales: dict[str, Any] = {"sigma": sigma, "seed": seed, "standardize": standardize}
        pattern = build(learner, examples.task, opt.settings_of(settings), kinds=examples.schema.kinds, **scales)
        model = Model(pattern, examples.schema, on_error=on_error)
    with _Stoppable(examples) as stream:
        more = report is not None
        finished = _learn(
            model, examples, stream, metrics, predictions, test=test, delay=delay, block=block, quiet=quiet, more=more
        )
        if save is not None:
            persist.save(model, save)
            _say(f"saved {save}", quiet)
        if finished is not None and result is not None:
            finished.save(result)
        if finished is not None and report is not None:
            about = {"source": examples.name, "task": examples.task, "columns": f"{examples.d:,}", "seed": str(seed)}
            about |= pages.explained({finished.name: model})
            worth = pages.importance(finished.name, model)
            noticed = [alarm.row for alarm in _alarms(model)]
            pages.write(finished, report, f"{finished.name}: {examples.name}", about, worth, noticed)
            _say(f"wrote {report}", quiet)


def _learn(
    model: Model,
    data: Source,
    stream: _Stoppable,
    metrics: list[str] | None,
    predictions: str | None,
    *,
    test: bool,
    delay: int,
    block: int,
    quiet: bool,
    more: bool,
) -> Result | None:
    """The pass itself, with `more` readings for a report. None: whoever read the predictions went away."""
    usual = "accuracy" if data.task == "classification" else "mse"
    shown = [name for name in metrics or [] if name not in (Weights.name, ImportanceShares.name)] or [usual]
    names = list(dict.fromkeys([*shown, *(metrics or [])]))
    shares = SHARES if data.task == "regression" else {}
    _say(f"{data.name}: {data.task}, {model.inner!r}", quiet)
    began = time.perf_counter()
    report = _Report(shown, began, quiet, between=more)
    with _writing(predictions) as file:
        try:
            finished = prequential(
                stream,
                model,
                list(dict.fromkeys([*(pages.metrics(names) if more else [*names, "size"]), *shares])),
                every="logarithmic" if more else "doubling",
                block=block,
                delay=delay,
                progress=report,
                name=algorithm(model.inner),
                learn=not test,
                watch=None if file is None else _writer(model, file),
            )
            if file is not None:
                file.flush()
        except BrokenPipeError:
            return None
    seconds = time.perf_counter() - began
    stopped = " (stopped)" if finished.interrupted else ""
    summary = ", ".join(f"{m} {finished.final[m]:.6g}" for m in shown)
    known = {what: finished.final[m] for m, what in shares.items() if finished.final[m] == finished.final[m]}
    _say(f"{finished.rows} rows in {seconds:.2f} s{stopped}: {summary}; {model.nbytes:,} bytes", quiet)
    if known:
        told = "; ".join(f"{what}: {100 * share:.3g}%" for what, share in known.items())
        _say(f"Squared error {told}.", quiet)
    _say_counts(model, quiet)
    _say_alarms(model, quiet)
    _say_parts(model, quiet)
    return finished


class _Stoppable:
    """A source that Ctrl-C (or SIGTERM: a service that is stopped) ends between blocks, while rows are waited for.

    So a model that is saved then has learnt whole blocks, and its counts are those of its rows. Asked for a second
    time, it stops at once. Within its block; after it the signals mean what they did before.
    """

    def __init__(self, data: Source) -> None:
        self._data = data
        self._asked = self._waiting = False

    def __enter__(self) -> Self:
        self._before = {kind: signal.signal(kind, self._stop) for kind in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, signal.SIG_DFL if handler is None else handler)

    def blocks(self, size: int) -> Iterator[tuple[Any, Any]]:
        rows = self._data.blocks(size)
        while True:
            self._waiting = True
            if self._asked:
                raise KeyboardInterrupt
            block = next(rows, None)
            self._waiting = False
            if block is None:
                return
            yield block

    def _stop(self, *_: Any) -> None:
        if self._asked or self._waiting:
            raise KeyboardInterrupt
        self._asked = True


class _Report:
    """A line at rows 1, 2, 4, 8, ...: metrics so far, the model's size, the speed. Readings `between` are not told."""

    def __init__(self, names: list[str], began: float, quiet: bool, between: bool) -> None:
        self._names, self._began, self._quiet, self._between = names, began, quiet, between
        _say("".join(f"{title:>14}" for title in ("rows", *names, "size", "rows/s")), quiet)

    def __call__(self, snapshot: Any) -> None:
        if snapshot.n & (snapshot.n - 1) and self._between:
            return
        speed = snapshot.n / max(time.perf_counter() - self._began, 1e-9)
        cells = [
            f"{snapshot.n:,}",
            *(f"{snapshot.values[m]:.6g}" for m in self._names),
            f"{snapshot.values['size']:.0f}",
            f"{speed:,.0f}",
        ]
        _say("".join(f"{cell:>14}" for cell in cells), self._quiet)


def _writer(model: Model, file: Any) -> Callable[[Array], None]:
    """Writes predictions as text, one line each; of several targets with commas."""

    def write(P: Array) -> None:
        answers = model.answers(P)
        if answers.dtype == object:
            lines = ["?" if name is None else str(name) for name in answers]
        else:
            lines = [",".join(f"{v:.10g}" for v in row) for row in answers.reshape(len(answers), -1)]
        file.writelines(line + "\n" for line in lines)
        if file is sys.stdout:
            file.flush()  # the next program may be waiting for it

    return write


def _own_target(model: Model) -> list[str] | None:
    schema = model.schema_ or model.schema
    return None if schema is None else schema.targets or None


def _say_counts(model: Model, quiet: bool) -> None:
    """What was not learnt, and what was not believed."""
    if model.n_unlabelled:
        _say(f"{model.n_unlabelled:,} rows without a label were predicted and not learnt", quiet)
    if model.n_misfits:
        _say(f"{model.n_misfits:,} values did not fit their columns and count as missing", quiet)


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
    """What a learner made of parts relies on now, the heaviest first."""
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
    """Refuse options that contradict each other."""
    if test and (resume is None or save is not None):
        raise ValueError("--test needs a model to test (--initial) and saves none (no --final)")
    if sigma is not None and learner is None:
        raise ValueError("--sigma is the kernel width of a learner that is named with --learner")
    if resume is not None and (learner is not None or settings):
        raise ValueError("--initial goes on with the saved model: leave out --learner and --set")


def _check_targets(save: Path | None, result: Path | None) -> None:
    """Refuse what could not be written now, not when the stream is over."""
    if save is not None:
        persist.check_target(save)
    if result is not None:
        check_form(result)
        persist.check_target(result)


def _writing(predictions: str | None) -> Any:
    if predictions is None or predictions == "-":
        return nullcontext(sys.stdout if predictions else None)
    return open(predictions, "w", encoding="utf-8")


def _say(line: str, quiet: bool) -> None:
    """Progress goes to standard error: standard output belongs to predictions."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)
