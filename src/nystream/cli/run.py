"""`nystream run`: one learner over a file or a pipe, with progress at powers of two."""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import nullcontext
from typing import IO, Any, cast

from nystream import persist
from nystream.cli import options as opt
from nystream.cli.model import Model, build, read
from nystream.cli.source import Source, opened
from nystream.evaluate import Result, prequential
from nystream.learners.base import Learner
from nystream.types import Array

__all__ = ["parsed", "run"]


def run(
    source: opt.Source,
    learner: opt.Name = None,
    settings: opt.Settings = None,
    target: opt.Target = None,
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
    quiet: opt.Quiet = False,
) -> None:
    """Learn from a stream, one pass, predicting each row before its label is used."""
    if task not in (None, "regression", "classification"):
        raise ValueError(f"--task is regression or classification, not {task!r}")
    if test and (resume is None or save is not None):
        raise ValueError("--test needs a model to test (--initial) and saves none (no --final)")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a service that is stopped saves its model too
    model = read(resume) if resume else None
    kind, names = (model.task, model.names_) if model else (task, None)
    data = opened(source, task=kind, names=names, rows=rows, shuffle=shuffle, block=block, **opt.column(target))
    if model is None:
        named = learner is not None and standardize
        width = sigma if sigma is not None else data.width(standardized=named)
        columns = list(data.stream.columns) if data.stream.columns else None
        model = build(learner, data.task, columns, width, seed, parsed(settings or []), standardize)
        data.names = model.names_
    elif learner is not None or settings:
        raise ValueError("--initial goes on with the saved model: leave out --learner and --set")
    else:
        _check_columns(model, data)
    finished = _learn(model, data, metrics, predictions, test=test, delay=delay, block=block, quiet=quiet)
    if save is not None:
        persist.save(model, save)
        _say(f"saved {save}", quiet)
    if finished is not None and result is not None:
        finished.save(result)


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
) -> Result | None:
    """The pass itself. None: whoever read the predictions went away."""
    names = metrics or (["accuracy"] if data.task == "classification" else ["mse"])
    _say(f"{data.stream.name}: {data.task}, {model.learner_!r}", quiet)
    began = time.perf_counter()
    report = _Report(names, began, quiet)
    with _writing(predictions) as file:
        watched = cast(Learner, _Watched(model, file, test))
        try:
            finished = prequential(
                data, watched, [*names, "size"], every="doubling", block=block, delay=delay, progress=report
            )
            if file is not None:
                file.flush()
        except BrokenPipeError:
            return None
    seconds = time.perf_counter() - began
    stopped = " (stopped)" if finished.interrupted else ""
    summary = ", ".join(f"{m} {finished.final[m]:.6g}" for m in names)
    _say(f"{finished.rows} rows in {seconds:.2f} s{stopped}: {summary}; {model.learner_.nbytes:,} bytes", quiet)
    return finished


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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return repr(self._inner)


class _Report:
    """A line at rows 1, 2, 4, 8, ...: the metrics so far, the model's size, the speed."""

    def __init__(self, names: list[str], began: float, quiet: bool) -> None:
        self._names, self._began, self._quiet = names, began, quiet
        _say("".join(f"{title:>14}" for title in ("rows", *names, "size", "rows/s")), quiet)

    def __call__(self, snapshot: Any) -> None:
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
