"""What each expert and each stacker of the automatic learner is worth: all other outputs are stacked again without it.

    python benchmarks/accuracy/auto_stacks.py [STREAM ...] [--rows 12000] [--write]

Ten streams (files as in auto_streams.py). `Auto(changes=False)` learns each of them once, and the inputs of its two
stacks are kept: the outputs of the experts for every next row, and those of the snapshots for the rows that the steady
stack learns. Then each stack learns the same inputs again without one expert or stacker, which takes a tenth of a
second. What experts cost each other in memory and time is not measured so; auto_mechanisms.py runs the whole learner
without a mechanism.

Figures are ratios to the whole stack: error of the next row (root mean squared error, or error rate), its log loss (of
classes) or mean absolute error, and the error of later rows (the last fifth, predicted after the first four fifths).
`--write` writes benchmarks/results/auto_stacks.json and .md.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from auto_mechanisms import LEAST, known

from nystream import Auto
from nystream.auto.recipe import FORGETFUL
from nystream.auto.stack import STACKERS, Stack
from nystream.auto.steady import ClassStack, NumberStack

RESULTS = Path(__file__).resolve().parents[1] / "results"
STREAMS = ("elec2", "casp", "beijing", "covtype2", "bike", "ijcnn1", "cpusmall", "weather", "cod-rna", "covtype7")
LINE = "linear expert of later rows"
Call = tuple[str, Any]


class Kept(NamedTuple):
    """One stream: the calls of both stacks, in order, with the names of the experts that each combines."""

    next_calls: list[Call]
    later_calls: list[Call]
    experts: list[str]
    lasting: list[str]
    y: np.ndarray
    learnt: int
    classes: int


# -- one run for each stream -------------------------------------------------------------------------------------------
@contextmanager
def recorded(owner: type, names: Sequence[str], calls: list[Call]) -> Iterator[None]:
    """Note the arguments of these methods; of the stack of next rows alone, which has label lags."""

    def noting(name: str, method: Any) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            if owner is not Stack or self.lags:
                calls.append((name, copy.deepcopy(arguments)))
                with mock.patch.object(owner, "predict", whole):  # which `learn` of a stack of classes calls
                    return method(self, *arguments)
            return method(self, *arguments)

        return call

    whole = owner.predict  # type: ignore[attr-defined]
    noted = [mock.patch.object(owner, name, noting(name, getattr(owner, name))) for name in names]
    for patch in noted:
        patch.start()
    try:
        yield
    finally:
        for patch in noted:
            patch.stop()


def kept(name: str, rows: int) -> Kept:
    X, y, _, _, classes = known(name, rows)
    model, n = Auto(changes=False, task="classification" if classes else "regression"), int(0.8 * len(y))
    following: list[Call] = []
    later: list[Call] = []
    steady = ClassStack if classes else NumberStack
    with recorded(Stack, ("run", "rescale"), following), recorded(steady, ("learn", "move", "predict"), later):
        model.run(X[:n], y[:n])
        model.predict(X[n:])
        before = len(later)
        model.run(X[n:], y[n:])
    lasting = model.expert_set_.lasting
    if model.pipeline_.steady_.line_ is not None:
        lasting = [*lasting, LINE]
    return Kept(following, later[:before], model.expert_set_.names, lasting, y, n, classes)


# -- both stacks once more ---------------------------------------------------------------------------------------------
def next_rows(stream: Kept, without: str, members: Sequence[tuple[float, float]]) -> list[float]:
    """Error, and log loss or mean absolute error, of the stack of next rows without an expert."""
    places = [e for e, name in enumerate(stream.experts) if name != without]
    names = [stream.experts[e] for e in places]
    steady = np.array([e for e, name in enumerate(names) if name not in FORGETFUL], dtype=np.int64)
    stack, first, parts = Stack(bool(stream.classes), True, members), True, []
    for call, arguments in stream.next_calls:
        if call == "rescale":
            stack.rescale(*arguments)
            continue
        F, answers, T, labels, w, frame, _, *more = arguments
        outputs = F.shape[2] - bool(stream.classes)
        if first:
            stack.start(len(names), outputs, 0, int("change" in names), first=True)
            first = False
        elif outputs > stack.outputs_:
            stack.grow(outputs)
        F = np.ascontiguousarray(F[:, places])
        P = stack.run(F, answers, T, labels, w, frame, steady, *more).P
        parts.append(np.exp(P) if stream.classes else P)
    return errors(parts, stream.y, stream.classes)


def later_rows(stream: Kept, without: str) -> float:
    """Error of the steady stack without an expert."""
    places = [e for e, name in enumerate(stream.lasting) if name != without]
    stack: Any = ClassStack() if stream.classes else NumberStack()
    parts, first = [], True
    for call, arguments in stream.later_calls:
        if call == "move":
            stack.move()
            continue
        outputs = arguments[0].shape[2] - bool(stream.classes)
        if first:
            stack.start(len(places), outputs, 0)
            first = False
        stack.outputs_ = outputs
        F = np.ascontiguousarray(arguments[0][:, places])
        answers = getattr(stack, call)(F, *arguments[1:])
        if call == "predict":
            parts.append(answers.P)
    return errors(parts, stream.y[stream.learnt :], stream.classes)[0]


def errors(parts: list[np.ndarray], y: np.ndarray, classes: int) -> list[float]:
    if not classes:
        p = np.concatenate(parts)[:, 0]
        return [float(np.sqrt(np.mean((p - y) ** 2))), float(np.mean(np.abs(p - y)))]
    P = np.concatenate([np.pad(part, ((0, 0), (0, classes - part.shape[1]))) for part in parts])
    loss = -np.log(np.maximum(P[np.arange(len(y)), y.astype(int)], LEAST)).mean()
    return [float(np.mean(P.argmax(axis=1) != y)), float(loss)]


# -- figures -----------------------------------------------------------------------------------------------------------
def measured(stream: Kept) -> dict[str, list[float | None]]:
    """By what is left out: ratios of next error, next loss, later error; None where it is no part of that stack."""
    own, later = next_rows(stream, "", STACKERS), later_rows(stream, "")
    found: dict[str, list[float | None]] = {}
    for name in dict.fromkeys((*stream.experts, *stream.lasting)):
        ratios: list[float | None] = [None, None, None]
        if name in stream.experts:
            ratios[:2] = [a / b for a, b in zip(next_rows(stream, name, STACKERS), own, strict=True)]
        if name in stream.lasting:
            ratios[2] = later_rows(stream, name) / later
        found[f"expert {name}" if name in stream.experts else name] = ratios
    for member in STACKERS:
        rest = next_rows(stream, "", tuple(m for m in STACKERS if m != member))
        found[f"stacker {member[0]:g}, ridge {member[1]:g}"] = [*(a / b for a, b in zip(rest, own, strict=True)), None]
    return found


def introduction(rows: int) -> str:
    return f"""`Auto` combines the predictions of its experts in two stacks: one for the next row, one for later rows.
Each line of the table removes one expert, or one stacker of the next-row stack, and learns the stacks again. A cell
gives two ratios: error of the next row / error of later rows, each divided by the error of the whole stack. Above 1,
the removed part is useful. An empty place means that the stack does not have the part. The last columns are geometric
means over the streams: the error of the next row, its loss (log loss of classes, mean absolute error of numbers), and
the error of later rows. At most {rows:,} rows of each stream are used, without drift handling.

- `std`, `ag` and `glob` are kernel ridges on landmarks. Their columns are standardised, scaled by a learnt metric, or
  divided by one common scale.
- `big` is the large ridge, with more landmarks. `rough` is a ridge with a Laplacian kernel.
- `ag.99` (kernel) and `lin.95` (linear) forget old rows. `win1000` predicts from the nearest of the last 1,000 rows.
- `change` predicts the difference to the last label.
- A stacker is named by its forgetting factor and its ridge.

`python benchmarks/accuracy/auto_stacks.py --write` measures and writes this page."""


def text(found: dict[str, dict[str, list[float | None]]], rows: int) -> str:
    streams = list(found)
    lines = [
        "# What each expert and stacker of Auto is worth",
        "",
        *introduction(rows).splitlines(),
        "",
        f"| without | {' | '.join(streams)} | mean next | mean loss | mean later |",
        "|---|" + "---|" * (len(streams) + 3),
    ]
    for name in dict.fromkeys(name for one in found.values() for name in one):
        cells = []
        for stream in streams:
            of_next, _, of_later = found[stream].get(name, [None, None, None])
            cells.append(" / ".join("" if ratio is None else f"{ratio:.3f}" for ratio in (of_next, of_later)))
        means = []
        for what in range(3):
            known_ones = [r for one in found.values() if name in one and (r := one[name][what]) is not None and r > 0]
            means.append(f"{np.exp(np.mean(np.log(known_ones))):.4f}" if known_ones else "")
        lines.append(f"| {' | '.join([name, *cells, *means])} |")
    return "\n".join([*lines, ""])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("streams", nargs="*", default=list(STREAMS))
    options.add_argument("--rows", type=int, default=12_000)
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    found = {}
    for name in chosen.streams:
        found[name] = measured(kept(name, chosen.rows))
        print(name, flush=True)
    print(text(found, chosen.rows))
    if chosen.write:
        (RESULTS / "auto_stacks.json").write_text(json.dumps(found, indent=1) + "\n")
        (RESULTS / "auto_stacks.md").write_text(text(found, chosen.rows))


if __name__ == "__main__":
    main()
