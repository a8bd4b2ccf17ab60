"""Intervals, quantiles and probabilities of the automatic learner, also after changes of the stream.

    python benchmarks/accuracy/auto_intervals.py [STREAM ...] [--rows 8000] [--seeds 0 1 2] [--jobs 1] [--cache FILE]
        [--print] [--chart FILE.svg]

Streams: casp, cpusmall (as in auto_streams.py), bike, beijing (as in boosters.py), "uneven" (noise by a column) and
"skewed", and those of drift_streams.py, generated ones for every seed. Quantiles are what was known before each row, as
`predict_quantile` would have said. Stretches of 500 rows, counted from the first row and anew from each change.

Numbers: share of labels inside 90 percent intervals, the least and the most in a stretch, and the share of stretches
within .85 to .95 (500 rows of an exact 90 percent have a deviation of .0134), of all and of those after a change; mean
width over the deviation of all labels; CRPS (evaluate.metrics.CRPS) over the same deviation, and both beside those of
`PlainIntervals`, which see the same residuals.
Classes: expected calibration error (ECE) of the class that is said, in 10 bins of 50 rows, with its noise: what labels
drawn from these very probabilities would have shown on average, and in 95 of 100 draws at most; and log loss, also
without the recalibration, which sees the same probabilities. Of streams without a change, all stretches.
What was run is kept in the cache; `--print` only prints. `--chart`: coverage and width along one stream.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "drift"))

import numpy as np
from auto_streams import read
from drift_streams import GENERATED, Stream, stream
from refitted.streams import read as read_in_time

from nystream import Auto
from nystream._core.auto.stack import lagged
from nystream.auto.outputs import Recalibration
from nystream.auto.pooled import symmetric
from nystream.auto.quantiles import ResidualQuantiles
from nystream.evaluate.metrics import CRPS
from nystream.scaling.ring import Ring

CACHE = Path(__file__).resolve().parents[2] / "out" / "auto_intervals.json"
NUMBERS = (
    *("casp", "cpusmall", "bike", "beijing", "uneven", "skewed"),
    *("abrupt", "shift", "sign", "noise", "quieter", "recurring"),
)
CLASSES = (
    *("xor", "prior", "new class", "three classes"),
    *("permuted ijcnn1", "permuted cod-rna", "permuted covtype2", "permuted weather"),
)
MADE = ("uneven", "skewed")
STRETCH, BINS, DRAWS = 500, 10, 200
LEVELS = np.array([0.05, 0.95, *CRPS().levels])
FIRST = 100
"""Rows before which widths and CRPS are not counted: the first quantiles at .025 come after 39."""


def data(name: str, seed: int, rows: int) -> Stream:
    if name in ("casp", "cpusmall"):
        return Stream(*read(name, rows), True, [])
    if name in ("bike", "beijing"):
        found = read_in_time(name, rows)
        return Stream(found.X, found.y, True, [])
    if name not in MADE:
        return stream(name, seed)
    rng = np.random.default_rng([seed, 91])
    X = rng.normal(size=(rows, 5))
    noise = (0.05 + 0.5 * np.abs(X[:, 2])) * rng.normal(size=rows)
    noise = noise if name == "uneven" else 0.3 * (rng.exponential(size=rows) - 1)
    return Stream(X, np.sin(2 * X[:, 0]) + X[:, 1] + noise, True, [])


class Kept(ResidualQuantiles):
    """A `ResidualQuantiles` that keeps what it is told: rows before their labels are learnt."""

    def learn(self, X: Any, P: Any, residuals: Any, spread: Any, w: Any) -> None:
        self.blocks.append((X, P, residuals, spread))


class Raw(Recalibration):
    """A `Recalibration` that keeps what it is told beside doing its work."""

    def run(self, P: Any, labels: Any, w: Any) -> Any:
        self.blocks.append(P)
        return super().run(P, labels, w)


def told(found: Stream) -> tuple[np.ndarray, list[Any]]:
    """Predictions of `Auto`, and what its quantiles or recalibration learnt after the first row, by blocks."""
    model = Auto(task="regression" if found.regression else "classification")
    first = model.run(found.X[:1], found.y[:1])
    pipeline = model.pipeline_
    where, name, keeps = (
        (pipeline, "quantiles_", Kept()) if found.regression else (pipeline.stages_, "recalibration_", Raw())
    )
    keeps.blocks = []
    keeps.__dict__.update(getattr(where, name)._state())
    setattr(where, name, keeps)
    P = model.run(found.X[1:], found.y[1:])
    if not found.regression:
        first = np.log(np.full((1, P.shape[1]), 1 / P.shape[1]))
    return np.concatenate([first, P]), keeps.blocks


class PlainIntervals:
    """Intervals alike to both sides: quantiles of the sizes of the last 1,000 residuals, relative to a simple scale.

    The scale of a row is h, h^2 = (running mean of squared residuals) + (disagreement of the experts)^2, as in
    Papadopoulos, Gammerman, Vovk, Normalized nonconformity measures for regression conformal prediction, AIA 2008.
    """

    def __init__(self) -> None:
        self.scores, self.power = Ring(1000, 1), np.full((1, 1), np.nan)

    def learn(self, X: Any, P: Any, residuals: np.ndarray, spread: np.ndarray, w: Any) -> None:
        before = lagged(residuals * residuals, self.power, np.array([0.02]))[:, 0]
        if not np.isnan(before[0, 0]):
            self.scores.extend(np.abs(residuals) / self.scale(before, spread))

    def quantiles(self, X: Any, P: np.ndarray, spread: np.ndarray, levels: np.ndarray) -> np.ndarray:
        scores = symmetric(np.sort(self.scores.rows, axis=0), levels)
        return P[:, :, None] + self.scale(self.power, spread)[:, :, None] * scores

    @staticmethod
    def scale(power: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return np.maximum(np.sqrt(power + spread * spread), 1e-150)


def quantiles(law: ResidualQuantiles | PlainIntervals, blocks: list[Any]) -> np.ndarray:
    """(n, Q) before each row; nan for the first two."""
    X, P, R, spread = (np.concatenate(part) for part in zip(*blocks, strict=True))
    Q = np.full((1 + len(X), len(LEVELS)), np.nan)
    for t in range(len(X)):
        part = slice(t, t + 1)
        if t:
            Q[1 + t] = law.quantiles(X[part], P[part], spread[part], LEVELS)[0, 0]
        law.learn(X[part], P[part], R[part], spread[part], None)
    return Q


def numbers(found: Stream) -> dict[str, Any]:
    rows = told(found)[1]
    new, old = ResidualQuantiles(), PlainIntervals()
    new.start(found.X.shape[1], 1)
    cells: dict[str, Any] = {"deviation": float(np.std(found.y))}
    for name, law in (("now", new), ("before", old)):
        Q = quantiles(law, rows)
        inside = (Q[:, 0] <= found.y) & (found.y <= Q[:, 1])
        cells[name] = {
            "coverage": [float(inside[a:b].mean()) for a, b in stretches(found)],
            "width": [float(np.mean((Q[:, 1] - Q[:, 0])[max(a, FIRST) : b])) for a, b in stretches(found)],
            "crps": float(CRPS().over(found.y[FIRST:], Q[FIRST:, 2:])),
        }
    return cells


def classes(found: Stream) -> dict[str, Any]:
    now, blocks = told(found)
    labels, raw, row = found.y, np.full_like(now, -np.inf), 1  # classes that were not known yet have no probability
    raw[0] = now[0]
    for block in blocks:
        raw[row : row + len(block), : block.shape[1]] = block
        row += len(block)
    cells: dict[str, Any] = {}
    for name, P in (("now", now), ("before", raw)):
        right = np.maximum(P[np.arange(len(P)), labels.astype(int)], np.log(1e-6))
        errors = [calibration(P[a:b], labels[a:b]) for a, b in stretches(found)]
        cells[name] = {"ece": errors, "log loss": float(-right.mean())}
    return cells


def calibration(P: np.ndarray, labels: np.ndarray) -> list[float]:
    """The error, and of labels drawn from these probabilities the mean of it and what 95 of 100 do not exceed."""
    p, right, rng = np.exp(P).max(axis=1), P.argmax(axis=1) == labels, np.random.default_rng(0)
    bins = np.array_split(np.argsort(p, kind="stable"), BINS)

    def error(hits: np.ndarray) -> float:
        return float(sum(abs((p[part] - hits[part]).sum()) for part in bins) / len(p))

    drawn = [error(rng.random(len(p)) < p) for _ in range(DRAWS)]
    return [error(right), float(np.mean(drawn)), float(np.quantile(drawn, 0.95))]


def stretches(found: Stream) -> list[tuple[int, int]]:
    starts = [0, *found.changes, len(found.y)]
    return [(i, i + STRETCH) for a, b in pairwise(starts) for i in range(a, b - STRETCH + 1, STRETCH)]


def cell(name: str, seed: int, rows: int) -> dict[str, Any]:
    found = data(name, seed, rows)
    cells = numbers(found) if found.regression else classes(found)
    return {**cells, "stretches": [a for a, _ in stretches(found)], "changes": found.changes}


def run(names: list[str], seeds: list[int], rows: int, jobs: int, cache: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(cache.read_text()) if cache.exists() else {}
    several = (*GENERATED, *MADE)
    wanted = [(name, seed) for seed in seeds for name in names if name in several or seed == seeds[0]]
    wanted = [(name, seed) for name, seed in wanted if key(name, seed) not in known]
    with ProcessPoolExecutor(jobs) as pool:
        asked = [(name, seed, pool.submit(cell, name, seed, rows)) for name, seed in wanted]
        for name, seed, answer in asked:
            known[key(name, seed)] = answer.result()
            cache.write_text(json.dumps(known))
            print(key(name, seed), file=sys.stderr, flush=True)
    return known


def key(name: str, seed: int) -> str:
    return f"{name}/{seed if name in (*GENERATED, *MADE) else 0}"


def within(values: list[float]) -> tuple[int, int]:
    return sum(0.85 <= v <= 0.95 for v in values), len(values)


def after(found: dict[str, Any], values: list[Any]) -> list[Any]:
    """Of stretches after the first change."""
    first = found["changes"][0] if found["changes"] else np.inf
    return [v for start, v in zip(found["stretches"], values, strict=True) if start >= first]


def table_of_numbers(chosen: dict[str, list[dict[str, Any]]]) -> None:
    print(
        "| stream | streams | coverage | least and most of 500 | within .85 to .95 | before | width | before | CRPS |",
        end="",
    )
    print(" before |\n|---|---|---|---|---|---|---|---|---|---|")
    total = {"now": np.zeros(4, dtype=int), "before": np.zeros(4, dtype=int)}
    for name, cells in chosen.items():
        row, counts = {}, {}
        for when in ("now", "before"):
            covers = [c for found in cells for c in found[when]["coverage"]]
            late = [c for found in cells for c in after(found, found[when]["coverage"])]
            counts[when] = within(covers)
            total[when] += (*within(covers), *within(late))
            widths = [np.mean(found[when]["width"][1:]) / found["deviation"] for found in cells]
            score = np.mean([found[when]["crps"] / found["deviation"] for found in cells])
            row[when] = (np.mean(covers), min(covers), max(covers), np.mean(widths), score)
        (mean, least, most, width, crps), (_, _, _, old_width, old_crps) = row["now"], row["before"]
        print(f"| {name} | {len(cells)} | {mean:.3f} | {least:.3f} {most:.3f} | {_of(counts['now'])} |", end="")
        print(f" {_of(counts['before'])} | {width:.3f} | {old_width:.3f} | {crps:.4f} | {old_crps:.4f} |")
    for when, (good, of, late, of_late) in total.items():
        print(f"\n{when}: {good} of {of} stretches within .85 to .95 ({good / of:.1%}); ", end="")
        print(f"after a change {late} of {of_late} ({late / max(of_late, 1):.1%})", end="")
    print()


def _of(pair: tuple[int, int]) -> str:
    return f"{pair[0]} of {pair[1]}"


def table_of_classes(chosen: dict[str, list[dict[str, Any]]]) -> None:
    print(
        "\n| stream | streams | ECE after a change, mean | largest | at most .03 | of exact ones | within noise |",
        end="",
    )
    print(f" before: mean | at most .03 | within noise | log loss | before |\n{12 * '|---'}|")
    total = np.zeros(6, dtype=int)
    for name, cells in chosen.items():
        late = {
            when: np.array([e for c in cells for e in after(c, c[when]["ece"]) or c[when]["ece"]])
            for when in ("now", "before")
        }
        losses = [np.mean([found[when]["log loss"] for found in cells]) for when in ("now", "before")]
        e, b = late["now"], late["before"]
        counts = [len(e), *((x).sum() for x in (e[:, 0] <= 0.03, e[:, 1] <= 0.03, e[:, 0] <= e[:, 2]))]
        counts += [(b[:, 0] <= 0.03).sum(), (b[:, 0] <= b[:, 2]).sum()]
        total += counts
        n, good, floor, noise, old, old_noise = counts
        print(f"| {name} | {len(cells)} | {e[:, 0].mean():.4f} | {e[:, 0].max():.3f} | {good} of {n} |", end="")
        print(f" {e[:, 1].mean():.4f}, {floor} | {noise} of {n} | {b[:, 0].mean():.4f} | {old} of {n} |", end="")
        print(f" {old_noise} of {n} | {losses[0]:.4f} | {losses[1]:.4f} |")
    n, good, floor, noise, old, old_noise = total
    print(
        f"\nStretches after a change: {n}. ECE at most .03: {good} (before {old}; exact ones would on average show at"
    )
    print(f"most .03 in {floor}); within what 95 of 100 draws show: {noise} (before {old_noise}).")


def chart(name: str, seed: int, rows: int, path: Path) -> None:
    """Coverage of the last 100 rows, and widths, along a stream."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = data(name, seed, rows)
    given = told(found)[1]
    new, old = ResidualQuantiles(), PlainIntervals()
    new.start(found.X.shape[1], 1)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 5.4), sharex=True, layout="constrained")
    mean = np.ones(100) / 100
    for title, law, style in (("now", new, "-"), ("before", old, "--")):
        Q = quantiles(law, given)
        inside, width = (Q[:, 0] <= found.y) & (found.y <= Q[:, 1]), Q[:, 1] - Q[:, 0]
        x = np.arange(len(found.y))[199:]
        top.plot(x, np.convolve(inside, mean, "valid")[100:], style, label=title, linewidth=1.3)
        bottom.plot(x, np.convolve(width, mean, "valid")[100:], style, label=title, linewidth=1.3)
    top.axhspan(0.85, 0.95, color="0.93", zorder=0)
    for axes in (top, bottom):
        for row in found.changes:
            axes.axvline(row, color="tab:red", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    top.set(ylabel="share inside, last 100 rows", title=f"90 percent intervals: {name}, seed {seed}", ylim=(0.5, 1.0))
    bottom.set(xlabel="rows", ylabel="width, last 100 rows", ylim=(0, None))
    top.legend(frameon=False, loc="lower left")
    figure.savefig(path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("streams", nargs="*", help="default: all")
    options.add_argument("--rows", type=int, default=8000, help="of streams without a change")
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--cache", type=Path, default=CACHE)
    options.add_argument("--print", action="store_true")
    options.add_argument("--chart", type=Path)
    given = options.parse_args()
    names = given.streams or [*NUMBERS, *CLASSES]
    given.cache.parent.mkdir(exist_ok=True)
    if given.chart is not None:
        chart(names[0], given.seeds[0], given.rows, given.chart)
        return
    known = run([] if given.print else names, given.seeds, given.rows, given.jobs, given.cache)
    chosen: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        cells = [known[k] for k in dict.fromkeys(key(name, seed) for seed in given.seeds) if k in known]
        if cells:
            chosen[name] = cells
    by_kind = [{n: c for n, c in chosen.items() if ("deviation" in c[0]) is kind} for kind in (True, False)]
    if by_kind[0]:
        table_of_numbers(by_kind[0])
    if by_kind[1]:
        table_of_classes(by_kind[1])


if __name__ == "__main__":
    main()
