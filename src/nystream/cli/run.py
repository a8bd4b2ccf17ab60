"""`nystream run`: one learner over a file or a pipe, with progress at powers of two."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, cast

from nystream import persist
from nystream.cli import options as opt
from nystream.cli import pages
from nystream.cli.model import Model, build, read
from nystream.cli.source import Source, opened
from nystream.evaluate import Result, prequential
from nystream.evaluate.result import check_form
from nystream.learners.base import Learner
from nystream.metrics import Weights
from nystream.types import Array

__all__ = ["parsed", "run"]

MOST_PARTS = 4
"""Parts of a learner that are named when it has finished."""


def run(
    source: opt.Source,
    learner: opt.Name = None,
    settings: opt.Settings = None,
    target: opt.Target = None,
    columns: opt.Columns = None,
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
    block: opt.Block = 256,
    result: opt.Readings = None,
    report: opt.Report = None,
    data: opt.Data = None,
    quiet: opt.Quiet = False,
) -> None:
    """Learn from a stream, one pass, predicting each row before its label is used."""
    _check_together(learner, settings, sigma, save, resume, test)
    _check_targets(save, result)
    pages.check(report)
    model = read(resume) if resume else None
    kind, names = (model.task, model.names_) if model else (task, None)
    look = model is None and learner is not None and sigma is None  # a kernel width has to be found
    reading = opt.reading(target, columns)
    examples = opened(
        source, task=kind, names=names, rows=rows, shuffle=shuffle, block=block, look=look, data=data, **reading
    )
    if model is None:
        width = sigma if sigma is not None else examples.width(standardized=standardize) if look else 1.0
        found = list(examples.stream.columns) if examples.stream.columns else None
        model = build(learner, examples.task, found, width, seed, parsed(settings or []), standardize)
        examples.names = model.names_
    else:
        _check_columns(model, examples)
    if not model.learner_.missing:
        who = _innermost(model.learner)
        examples.refusal = f"{who} takes no missing values: fill or remove such rows, or leave out --learner"
    finished = _learn(
        model, examples, metrics, predictions, test=test, delay=delay, block=block, quiet=quiet, more=report is not None
    )
    if save is not None:
        persist.save(model, save)
        _say(f"saved {save}", quiet)
    if finished is not None and result is not None:
        finished.save(result)
    if finished is not None and report is not None:
        about = {"source": examples.stream.name, "task": examples.task, "columns": f"{examples.d:,}", "seed": str(seed)}
        about |= pages.explained({finished.name: model.learner_})
        pages.write(finished, report, f"{finished.name}: {examples.stream.name}", about)
        _say(f"wrote {report}", quiet)


def _learn(
    model: Model,
    data: Source,
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
    told = [name for name in metrics or [] if name != Weights.name] or [usual]
    names = list(dict.fromkeys([*told, *(metrics or [])]))
    _say(f"{data.stream.name}: {data.task}, {model.learner_!r}", quiet)
    began = time.perf_counter()
    report = _Report(told, began, quiet, between=more)
    with _writing(predictions) as file:
        watched = cast(Learner, _Watched(model, file, test))
        try:
            finished = prequential(
                _Stoppable(data),
                watched,
                pages.metrics(names) if more else [*names, "size"],
                every="logarithmic" if more else "doubling",
                block=block,
                delay=delay,
                progress=report,
                name=_innermost(model.learner),
            )
            if file is not None:
                file.flush()
        except BrokenPipeError:
            return None
    seconds = time.perf_counter() - began
    stopped = " (stopped)" if finished.interrupted else ""
    summary = ", ".join(f"{m} {finished.final[m]:.6g}" for m in told)
    _say(f"{finished.rows} rows in {seconds:.2f} s{stopped}: {summary}; {model.learner_.nbytes:,} bytes", quiet)
    _say_parts(model.learner_, quiet)
    return finished


class _Stoppable:
    """A source that Ctrl-C (or SIGTERM: a service that is stopped) ends between blocks, while rows are waited for.

    So a model that is saved then has learnt whole blocks, and its counts are those of its rows. Asked for a second
    time, it stops at once.
    """

    def __init__(self, data: Source) -> None:
        self._data = data
        self._asked = self._waiting = False
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, self._stop)

    def blocks(self, size: int) -> Iterator[tuple[Array, Array]]:
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


class _Watched:
    """The learner as the evaluation loop sees it: predictions are written out, and with --test nothing is learnt."""

    def __init__(self, model: Model, file: IO[str] | None, test: bool) -> None:
        self._model, self._file, self._test = model, file, test
        self._inner: Learner = model.learner_

    def run(self, X: Array, Y: Any) -> Array:
        P = self._inner.predict(X) if self._test else self._inner.run(X, Y)
        self._write(P)
        return P

    def predict(self, X: Array) -> Array:
        P = self._inner.predict(X)
        self._write(P)
        return P

    def step(self, x: Array, y: Any) -> Any:
        return None if self._test else self._inner.step(x, y)

    def _write(self, P: Array) -> None:
        if self._file is not None:
            self._file.writelines(line + "\n" for line in self._model.said(P))
            if self._file is sys.stdout:
                self._file.flush()  # the next program may be waiting for it

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return repr(self._inner)


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


def parsed(settings: list[str]) -> dict[str, Any]:
    """`name=value` pairs; a value is JSON where it can be (numbers, true, null, lists), text otherwise."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes name=value, got {setting!r}")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def _innermost(learner: Any) -> str:
    """The name of the algorithm inside scaling and class codes."""
    inner = getattr(learner, "learner", None)
    return _innermost(inner) if isinstance(inner, Learner) else type(learner).__name__


def _say_parts(learner: Learner, quiet: bool) -> None:
    """What a learner made of parts relies on now, the heaviest first."""
    weights = Weights.parts_of(learner)
    if weights and not quiet:
        heaviest = sorted(weights, key=lambda part: -abs(weights[part]))[:MOST_PARTS]
        rest = ", ..." if len(weights) > MOST_PARTS else ""
        _say(f"relies on {', '.join(f'{part} {weights[part]:.0%}' for part in heaviest)}{rest}", quiet)


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


def _check_columns(model: Model, data: Source) -> None:
    columns = list(data.stream.columns) if data.stream.columns else None
    if model.columns and columns and model.columns != columns:
        raise ValueError(
            f"the model was trained on columns {', '.join(model.columns)}; the file has {', '.join(columns)}"
        )


def _writing(predictions: str | None) -> Any:
    if predictions is None or predictions == "-":
        return nullcontext(sys.stdout if predictions else None)
    return open(predictions, "w", encoding="utf-8")


def _say(line: str, quiet: bool) -> None:
    """Progress goes to standard error: standard output belongs to predictions."""
    if not quiet:
        print(line, file=sys.stderr, flush=True)
