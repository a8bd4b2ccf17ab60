"""What each mechanism of the automatic learner is worth: it is switched off, and the errors are compared.

    python benchmarks/accuracy/auto_mechanisms.py [NAME ...] [--rows 8000] [--seeds 0 1] [--streams ...]
        [--tables known labels "other labels" persistence] [--cache FILE] [--write]

Four tables. *known*: ten real streams (files as in auto_streams.py). *labels*: labels that are hard to learn, on the
generated stream of auto_stress.py, cpusmall and bike: outliers, Cauchy noise, lognormal noise. *other labels*: labels
that change for good (another level, scale or function), far values of a function, which are no outliers, and small
outliers on both sides.
*persistence*: labels that hardly ever change, as in no_change.py. Every mechanism is run on the first table, and on the
others if it concerns them.

A mechanism that was removed stays in the results, marked so.

Figures are ratios to the whole learner with the same seed: error of the next row (root mean squared error, or error
rate), log loss of the next row (classes), error of later rows (`predict` of the last fifth, after the first four
fifths), and processor time. The noise of a mean is the deviation of the mean over streams between seeds. What was run
is kept in the cache, so that the program can be stopped. `--write` replaces the figures of benchmarks/results/
auto_mechanisms.json and .md that are in the cache, and keeps the others.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from auto_stress import drawn
from auto_stress import hard as hard_labels
from no_change import single, switching
from refitted.streams import read

from nystream import Auto
from nystream.auto import ensemble, expert_set, labels, pipeline, stack, steady, targets
from nystream.auto.pipeline import GROWS
from nystream.auto.recipe import EXPERTS, Recipe
from nystream.auto.stack import STACKERS

ROOT = Path(__file__).resolve().parents[2]
CACHE, RESULTS = ROOT / "out" / "auto_mechanisms.json", ROOT / "benchmarks" / "results"
KNOWN = ("elec2", "casp", "beijing", "covtype2", "bike", "ijcnn1", "cpusmall", "weather", "cod-rna", "covtype7")
REGRESSION = ("casp", "cpusmall", "bike", "beijing")
LEAST = 1e-6
INTRODUCTION = """Each line switches off one mechanism of `Auto`. The figures are ratios: the learner without the
mechanism over the whole learner. Above 1, the mechanism is useful.

- `next`: error of the next row, as the mean over the streams. `log loss`: its log loss, for classes.
- `noise`: the standard error of `next` between seeds; empty with one seed.
- `most harm` and `least`: the streams with the largest and the smallest ratio of `next`.
- `later`: error of later rows. `time`: processor time.
- "(removed)": nystream does not have this mechanism any more.
- "Trust" means that labels which look like outliers are learnt as they are.
- `benchmarks/results/auto_stacks.md` explains the names of experts and stackers.

There are four groups of streams: *known* (real streams), *labels* (outliers and heavy tails), *other labels* (labels
that change for good, and far values that are no outliers) and *persistence* (labels that rarely change).

`python benchmarks/accuracy/auto_mechanisms.py --write` measures and writes this page."""
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]
"""Inputs, labels that are learnt, labels that count, rows that count, classes (0: numbers)."""


# -- streams -----------------------------------------------------------------------------------------------------------
def known(name: str, rows: int) -> Rows:
    stream = read(name, rows)
    y = stream.y.astype(float)
    return stream.X, y, y, np.ones(len(y), dtype=bool), stream.classes


def with_hard_labels(name: str, rows: int) -> Rows:
    """`name` is the stream and the kind."""
    base, kind = name.split(": ")
    X, y = drawn(base, rows, 0)
    for own, given, use in hard_labels(y, np.random.default_rng(1)):
        if own == kind:
            return X, given, y, use, 0
    sigma = float(kind.split()[-1])
    noise = np.exp(sigma * np.random.default_rng(2).normal(size=rows))
    size = 0.3 * y.std() / np.sqrt((np.exp(sigma**2) - 1) * np.exp(sigma**2))
    mean = y + size * np.exp(sigma**2 / 2)
    return X, y + size * noise, mean, np.ones(rows, dtype=bool), 0


def with_other_labels(name: str, rows: int) -> Rows:
    """Errors count from the change on, in the last third of the rows; where nothing changes, in all rows."""
    rng = np.random.default_rng(int(name[-1]) if name.startswith("one") else 0)
    X, late = rng.normal(size=(rows, 3)), np.arange(rows) >= 2 * rows // 3
    f, noise = np.sin(2 * X[:, 0]) + X[:, 1], 0.1 * rng.normal(size=rows)
    cauchy = 0.2 * np.random.default_rng(1).standard_cauchy(rows)
    if name == "far values":
        y = np.exp(1.5 * X[:, 0])
        return X, y, y, np.ones(rows, dtype=bool), 0
    if name.startswith("one in 8 off"):
        off = 6.0 * (np.arange(rows) % 8 == 7) * (-1.0) ** (np.arange(rows) // 8)
        return X, f + noise + off, f + noise, np.ones(rows, dtype=bool), 0
    noise = cauchy if name.startswith("Cauchy") else noise
    what = name.removeprefix("Cauchy noise, ")
    if what == "another level":
        return X, f + 1000 * late + noise, f + 1000 * late, late, 0
    if what == "another scale":
        return X, np.where(late, 100, 1) * (f + noise), np.where(late, 100, 1) * f, late, 0
    y = np.where(late, 10 * (np.cos(2 * X[:, 2]) + X[:, 0]), f)
    return X, y + noise, y, late, 0


def hardly_changing(name: str, rows: int) -> Rows:
    every, kind = name.split(", ")
    X, y = single(rows) if every == "one row in 50" else switching(rows, int(every.split()[-1]), 2)
    y = y.astype(float)
    use = np.ones(rows, dtype=bool)
    return (X, np.minimum(y, 1), np.minimum(y, 1), use, 2) if kind == "classes" else (X, y, y, use, 0)


KINDS = ("1.0% of labels times 1e+06", "labels 2 and 8, rows from 21", "Cauchy noise", "lognormal 1", "lognormal 1.5")
CHANGES = ("another level", "another scale", "another function")
STAYING = ("far values", *(f"one in 8 off, draw {k}" for k in range(3)))
TABLES: dict[str, tuple[Callable[[str, int], Rows], list[str]]] = {
    "known": (known, list(KNOWN)),
    "labels": (with_hard_labels, [f"{base}: {kind}" for base in ("generated", "cpusmall", "bike") for kind in KINDS]),
    "other labels": (with_other_labels, [*CHANGES, *(f"Cauchy noise, {kind}" for kind in CHANGES), *STAYING]),
    "persistence": (
        hardly_changing,
        [f"{e}, {k}" for e in ("every 200", "every 2000", "one row in 50") for k in ("classes", "numbers")],
    ),
}


# -- mechanisms --------------------------------------------------------------------------------------------------------
class Off:
    """One mechanism: how to switch it off, and the tables and streams that it concerns.

    `only`: "numbers" or "classes", if the others do not have it. `part_of`: a mechanism; where that one changes
    nothing, this one does not either. What restrains a mechanism is no part of it in this sense.
    """

    def __init__(
        self, *patches: tuple[Any, str, Any], tables: str = "", only: str = "", part_of: str = "", **options: Any
    ) -> None:
        self.patches, self.options, self.only, self.part_of = patches, options, only, part_of
        self.tables = ("known", *tables.split(", "))

    def concerns(self, table: str, stream: str) -> bool:
        is_numbers = table.endswith("labels") or stream in REGRESSION or stream.endswith("numbers")
        return table in self.tables and self.only in ("", "numbers" if is_numbers else "classes")

    @contextlib.contextmanager
    def applied(self) -> Iterator[dict[str, Any]]:
        with contextlib.ExitStack() as all_of_them:
            for where, name, value in self.patches:
                all_of_them.enter_context(mock.patch.object(where, name, value))
            yield self.options


def _without_last(self: stack.Stack, *args: Any, **options: Any) -> None:
    _START(self, *args, **options)
    self.repeats_ = None
    members = len(self.stacker_.members) + 1
    self.member_shares_ = np.full((len(self.member_shares_), members), 1 / members)


def _without_aggregation(self: stack.Stack, *args: Any, **options: Any) -> Any:
    self.member_shares_[:, -1] = 0.0
    self.member_shares_ /= self.member_shares_.sum(axis=1, keepdims=True)
    return _RUN(self, *args, **options)


def _members(members: Any) -> Callable[..., stack.Stack]:
    return lambda classes, lags, _=None: stack.Stack(classes, lags, members)


def _without_stage(name: str) -> Callable[..., None]:
    def start(self: Any, outputs: int) -> None:
        _STAGES(self, outputs)
        setattr(self, name, None)

    return start


def _always_noise(self: labels.LabelFilter, y: Any, p: Any, far: Any) -> None:
    self.outlier_[far] = self.past_.seen_


def _without_filter(self: pipeline.Pipeline, *args: Any, **options: Any) -> None:
    _BEGIN(self, *args, **options)
    self.label_filter_ = None


def _recipe(**sizes: Any) -> Recipe:
    return Recipe(**{"grows": GROWS, **sizes})


_START, _RUN, _STAGES, _BEGIN = stack.Stack.start, stack.Stack.run, pipeline.OutputStages.start, pipeline.Pipeline.start
FILTER = labels.LabelFilter
LABELS: Any = {"tables": "labels, other labels", "only": "numbers"}
PART: Any = {**LABELS, "part_of": "label filter"}
MECHANISMS: dict[str, Off] = {
    **{f"expert {name}": Off(recipe=_recipe(experts=[e for e in EXPERTS if e != name])) for name in EXPERTS},
    **{
        f"stacker {decay:g}, ridge {lam:g}": Off(
            (ensemble, "Stack", _members(tuple(m for m in STACKERS if m != (decay, lam))))
        )
        for decay, lam in STACKERS
    },
    "plain aggregation as a member": Off((stack.Stack, "run", _without_aggregation)),
    "last class as a member": Off((stack.Stack, "start", _without_last), tables="persistence", only="classes"),
    "persistence stage": Off((pipeline.OutputStages, "start", _without_stage("persistence_")), tables="persistence"),
    "recalibration": Off((pipeline.OutputStages, "start", _without_stage("recalibration_")), only="classes"),
    "first labels move the mixtures less": Off((stack, "EARLY", 0), **LABELS),
    "tournament for the large ridge's view": Off((expert_set.ExpertSet, "_winner", lambda self: ("ag", 0.7))),
    "partial refits": Off(recipe=_recipe(refresh=10**6)),
    "every second full refit": Off(recipe=_recipe(rebuilds=(1, 2, 10, 50, 200, 1200, 3200))),
    "drift handling": Off(changes=False),
    "label filter": Off((pipeline.Pipeline, "start", _without_filter), **LABELS),
    "winsorising kept labels again": Off((pipeline, "winsorize_kept_labels", lambda *a: False), **PART),
    "again: early test for heavy tails": Off((labels, "AGAIN", replace(labels.AGAIN, early=0)), **PART),
    "outliers that were foreseen": Off((FILTER, "_note_outliers", _always_noise), **LABELS),
    "three residuals alike": Off((FILTER, "_are_alike", lambda self, *a: np.zeros(self.outputs, dtype=bool)), **LABELS),
    "what is taken from labels is signal": Off(
        (FILTER, "_is_signal", lambda self, *a: np.zeros(self.outputs, dtype=bool)), **LABELS
    ),
    "seven residuals far": Off((labels, "FILTER", replace(labels.FILTER, most=99)), **LABELS),
    "labels for alarms": Off((FILTER, "alarm_label", lambda self, *a: None), **PART),
    "trust after an alarm": Off((FILTER, "trust_since_change", lambda self, *a: False), **LABELS),
    "labels without information": Off((targets, "NOTHING", np.inf), **LABELS),
    "labels beyond bounds that are no longer rare": Off((targets, "SHIFTED", np.inf), **LABELS),
    "scale of an accident": Off((targets, "LOST", np.inf), **LABELS),
    "linear expert for later rows": Off((steady, "WIDE", 0)),
}
TITLES = {
    "plain aggregation as a member": "plain aggregation in the stack",
    "last class as a member": "persistence forecast in the stack of classes",
    "last label as a member": "persistence forecast in the stack of numbers",
    "first labels move the mixtures less": "smaller steps of the mixtures for the first labels",
    "tournament for the large ridge's view": "choice of the large ridge's view",
    "again: early test for heavy tails": "winsorising again: early test for heavy tails",
    "again: late fits": "winsorising again: late fits",
    "outliers that were foreseen": "outliers that the predictions foresaw do not count",
    "three residuals alike": "trust after three similar residuals",
    "what is taken from labels is signal": "no winsorising where it removes signal",
    "seven residuals far": "trust after seven large residuals",
    "labels for alarms": "own labels for drift alarms",
    "trust after an alarm": "trust after a drift alarm",
    "labels without information": "very far labels replaced by the middle",
    "labels beyond bounds that are no longer rare": "outliers learnt as they are when they are frequent",
    "scale of an accident": "scale of an early outlier discarded",
    "two ridges in the tournament": "two ridges in the choice of the view",
}
"""Names of mechanisms on the page, where they differ from those on the command line and in the results."""


# -- running -----------------------------------------------------------------------------------------------------------
def run(rows: Rows, seed: int, options: dict[str, Any]) -> dict[str, float]:
    X, given, y, use, classes = rows
    model = Auto(seed=seed, task="classification" if classes else "regression", **options)
    n, start = int(0.8 * len(y)), time.process_time()
    parts = [model.run(X[:n], given[:n])]
    later = model.predict(X[n:])
    parts.append(model.run(X[n:], given[n:]))
    seconds = time.process_time() - start
    found = {"us": 1e6 * seconds / len(y)}
    if not classes:
        p = np.concatenate(parts)
        found["next"] = float(np.sqrt(np.mean((p - y)[use] ** 2)))
        found["later"] = float(np.sqrt(np.mean((later - y[n:])[use[n:]] ** 2)))
        return found
    P = np.zeros((len(y), model.outputs_))
    P[:n, : parts[0].shape[1]], P[n:, : parts[1].shape[1]] = np.exp(parts[0]), np.exp(parts[1])
    found["next"] = float(np.mean(P.argmax(axis=1) != y))
    found["log loss"] = float(-np.log(np.maximum(P[np.arange(len(y)), y.astype(int)], LEAST)).mean())
    found["later"] = float(np.mean(later.argmax(axis=1) != y[n:]))
    return found


def key(table: str, stream: str, rows: int, seed: int, name: str) -> str:
    return "|".join((table, stream, str(rows), str(seed), name))


def measure(chosen: argparse.Namespace, cache: dict[str, dict[str, float]]) -> None:
    names = chosen.names or list(MECHANISMS)
    for seed in chosen.seeds:
        for table in chosen.tables:
            reader, streams = TABLES[table]
            most = chosen.rows if table == "known" else 1500 if table.endswith("labels") else 3000
            count = min(chosen.rows, most)
            for stream in [s for s in streams if not chosen.streams or s in chosen.streams]:
                concerned = ["", *(name for name in names if MECHANISMS[name].concerns(table, stream))]
                missing = [name for name in concerned if key(table, stream, count, seed, name) not in cache]
                rows = reader(stream, count) if missing else None
                for name in missing:
                    whole = cache.get(key(table, stream, count, seed, MECHANISMS[name].part_of)) if name else None
                    base = cache.get(key(table, stream, count, seed, ""))
                    if whole and base and MECHANISMS[name].part_of and whole["next"] == base["next"]:
                        cache[key(table, stream, count, seed, name)] = base
                        continue
                    with MECHANISMS[name].applied() if name else contextlib.nullcontext({}) as options:
                        assert rows is not None
                        cache[key(table, stream, count, seed, name)] = run(rows, seed, options)
                    Path(chosen.cache).write_text(json.dumps(cache))
                print(f"seed {seed} {table} {stream}", flush=True)


# -- figures -----------------------------------------------------------------------------------------------------------
def ratios(cache: dict[str, dict[str, float]], table: str, name: str, what: str) -> dict[str, dict[str, float]]:
    """By seed and stream."""
    found: dict[str, dict[str, float]] = {}
    for own, value in cache.items():
        of_table, stream, rows, seed, of_name = own.split("|")
        before = cache.get("|".join((of_table, stream, rows, seed, "")))
        if (of_table, of_name) == (table, name) and before and before.get(what, 0) > 0 and value.get(what, 0) > 0:
            found.setdefault(seed, {})[stream] = value[what] / before[what]
    return found


def summary(found: dict[str, dict[str, float]]) -> dict[str, Any] | None:
    if not found:
        return None
    streams = sorted({stream for one in found.values() for stream in one})
    of_seed = [float(np.mean(np.log(list(one.values())))) for one in found.values()]
    own = {s: float(np.exp(np.mean([np.log(one[s]) for one in found.values() if s in one]))) for s in streams}
    noise = float(np.std(of_seed, ddof=1) / np.sqrt(len(of_seed))) if len(of_seed) > 1 else None
    worst, best = max(own, key=lambda s: own[s]), min(own, key=lambda s: own[s])
    return {"mean": float(np.exp(np.mean(list(np.log(list(own.values())))))), "noise": noise, "worst": worst,
            "best": best, "streams": own}  # fmt: skip


def tables(cache: dict[str, dict[str, float]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    names = [*MECHANISMS, *sorted({own.split("|")[-1] for own in cache} - {"", *MECHANISMS})]
    for table in TABLES:
        for name in names:
            for what in ("next", "log loss", "later", "us"):
                if (found := summary(ratios(cache, table, name, what))) is not None:
                    out.setdefault(table, {}).setdefault(name, {})[what] = found
    return out


def merged(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return figures by table and mechanism, the new ones in place of those before."""
    return {table: before.get(table, {}) | now.get(table, {}) for table in TABLES}


def text(found: dict[str, Any]) -> str:
    lines = ["# What each mechanism of Auto is worth", ""]
    lines += [INTRODUCTION, ""]
    for table, of_table in found.items():
        head = "| without | streams | next | noise | most harm | least | log loss | later | time |"
        lines += [f"## {table}", "", head,
                  "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
        for name, of_name in of_table.items():
            first = of_name["next"]
            noise = "" if first["noise"] is None else f"{first['noise']:.4f}"
            harm = [f"{first['streams'][first[end]]:.3f} {first[end]}" for end in ("worst", "best")]
            rest = [f"{of_name[what]['mean']:.3f}" if what in of_name else "" for what in ("log loss", "later", "us")]
            name = TITLES.get(name, name) + ("" if name in MECHANISMS else " (removed)")
            lines.append(
                "| "
                + " | ".join([name, str(len(first["streams"])), f"{first['mean']:.4f}", noise, *harm, *rest])
                + " |"
            )
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("names", nargs="*")
    options.add_argument("--rows", type=int, default=6000)
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    options.add_argument("--streams", nargs="+", default=[])
    options.add_argument("--tables", nargs="+", default=list(TABLES))
    options.add_argument("--cache", default=str(CACHE))
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    Path(chosen.cache).parent.mkdir(parents=True, exist_ok=True)
    cache = json.loads(Path(chosen.cache).read_text()) if Path(chosen.cache).exists() else {}
    measure(chosen, cache)
    found = tables(cache)
    print(text(found))
    if chosen.write:
        found = merged(json.loads((RESULTS / "auto_mechanisms.json").read_text()), found)
        (RESULTS / "auto_mechanisms.json").write_text(json.dumps(found, indent=1) + "\n")
        (RESULTS / "auto_mechanisms.md").write_text(text(found))


if __name__ == "__main__":
    main()
