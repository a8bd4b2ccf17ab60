"""The comparison of the NOLANA paper: six methods at equal memory on four datasets, and ours with named changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.nolana_methods import CHANGES, CONTROL, METHODS, OURS, PLAIN, Method
from nystream.reproduce.nolana_tasks import PAPER, TASKS, Scale, Task, prefix, read, seeds
from nystream.reproduce.outcome import Line, Outcome, Panel, Table
from nystream.reproduce.protocol import mean_sd, shuffled
from nystream.reproduce.selection import Choice
from nystream.runtime.types import Array

__all__ = ["TABLE2", "compare", "race"]

QUICK_ROWS = 3000
"""Rows of a quick run, which only shows that everything works."""
COLUMNS = ("method", "ours", "sd", "published", "seconds a pass", "setting, * at an edge", "settings tried")


@dataclass(frozen=True)
class Result:
    """A method on a dataset: what was chosen, the eps that there were, and figures and seconds of the shuffles."""

    method: Method
    choice: Choice
    gaps: tuple[float, ...]
    figures: list[float]
    seconds: list[float]

    @property
    def figure(self) -> float:
        """The mean."""
        return mean_sd(self.figures)[0]


def compare(method: Method, task: Task, X: Array, y: Array, setting: Setting) -> Result:
    """Choose on the prefix of shuffle 0, then report passes over all rows of the other shuffles."""
    rows = QUICK_ROWS if setting.quick else None
    head, labels, scale = prefix(task, X, y, rows)
    choice = method.choose(task, scale, head, labels, quick=setting.quick)
    return race(method, task, scale, choice, (shuffled(X, y, s, rows) for s in seeds(setting)))


def race(method: Method, task: Task, scale: Scale, choice: Choice, streams: Iterable[tuple[Array, Array]]) -> Result:
    """Run whole passes with the chosen setting."""
    figures, seconds = [], []
    for seed, (X, y) in enumerate(streams, 1):
        done = method.learn(task, scale, choice.setting, X, y, seed)
        figures.append(task.figure(done.predictions, y))
        seconds.append(done.seconds)
    return Result(method, choice, scale.gaps, figures, seconds)


def run(setting: Setting) -> Outcome:
    """Run all methods on all datasets."""
    tables, panels, remarks = [], [], []
    for task in TASKS:
        X, y = read(task, setting)
        results = [compare(method, task, X, y, setting) for method in setting.each(METHODS, task.name)]
        tables.append(_table(task, results))
        panels.append(_panel(task, results))
        remarks += _remarks(task, results)
    remarks.append(
        "webspam, the fifth dataset of the published table, is not compared: its file (280,000 rows) is not available "
        "here."
    )
    return Outcome(tuple(tables), tuple(panels), tuple(remarks))


def _published(task: Task, method: Method) -> float | None:
    return None if method.column is None else task.published[method.column]


def _table(task: Task, results: list[Result]) -> Table:
    rows = tuple(
        (
            r.method.name,
            *mean_sd(r.figures),
            _published(task, r.method),
            mean_sd(r.seconds)[0],
            r.choice.text(),
            r.choice.tried,
        )
        for r in results
    )
    return Table(f"{task.name}, {task.landmarks} landmarks: {task.unit}", COLUMNS, rows)


def _panel(task: Task, results: list[Result]) -> Panel:
    lines = [Line(r.method.name, (mean_sd(r.seconds)[0],), (r.figure,), marks=True) for r in results]
    return Panel(f"{task.name}: {task.unit}", "seconds a pass", task.unit, tuple(lines), log="x")


def _remarks(task: Task, results: list[Result]) -> list[str]:
    found = {r.method.name: r.figure for r in results}
    goal, ours, plain, still = (task.published["NOLANA"], *(found[m.name] for m in (OURS, PLAIN, CONTROL)))
    relation = {True: "reaches", False: "does not reach"}[task.reached(ours, goal)]
    best = (min if task.real else max)(found, key=lambda name: found[name])
    gain = still - ours if task.real else ours - still
    return [
        f"{task.name}: NOLANA with our changes {ours:.2f} {relation} the published {goal:.2f}; as in the paper "
        f"(rank 0.8 m, plain steps) it is {plain:.2f}. With the same changes and landmarks that stay (NOGD) "
        f"it is {still:.2f}, so moving them gains {gain:+.2f}. "
        f"Best here: {best}, {found[best]:.2f}; best published: {_leader(task)}.",
        *_at_an_end(task, results),
    ]


def _at_an_end(task: Task, results: list[Result]) -> list[str]:
    """Say where the chosen eps is at an end of its axis, which does not grow and so gets no star."""
    sentences = []
    for r in results:
        ends = {min(r.gaps): "smallest", max(r.gaps): "largest"}
        end = ends.get(r.choice.setting.get("eps", math.nan))
        if end:
            sentences.append(f"{task.name}: {r.method.name} chose the {end} eps of the three that were tried.")
    return sentences


def _leader(task: Task) -> str:
    name = (min if task.real else max)(task.published, key=lambda method: task.published[method])
    return f"{name}, {task.published[name]:.2f}"


TABLE2 = Experiment(
    "nolana-table2",
    "Six methods at equal memory, four datasets: RMSE or accuracy, and time.",
    f"{PAPER}, Table 2",
    "Predictions made before each label, over one pass; mean and standard deviation of shuffles 1 to 5. cpusmall: "
    "features to [-1, 1], raw targets; usps (train and test) and ijcnn1 as distributed; covtype (581,012 rows) to [0, "
    "1], class 2 against the rest. Settings are chosen on the first fifth of shuffle 0 (covtype: on 24,000 rows), "
    "which is not reported (the same rows return in another order): 36 for every method; axes whose best value is at "
    "an end are extended up to three times (not eps, nor PA's variant), so more are tried where the 36 lay badly. "
    "Memory: m landmarks and rank r = 0.8 m give FOGD and RRF (m d + m r) / d directions and DualSGD m points and m r "
    "/ d directions. eps is tried at the 10, 40 and 90 percent quantiles of the distance to the first landmarks; at "
    "90, 97 and 99 percent on ijcnn1 and covtype, to keep moves and time down. PA is linear with a constant column. "
    f'Losses: squared, multi-class hinge, hinge (ijcnn1), logistic (covtype). "Our changes": {CHANGES}; they were '
    "found by trials on all of shuffle 0, and store m^2 - m r numbers more. Seconds are processor time. Quick: one "
    "shuffle, 3,000 rows, at most 8 settings.",
    run,
    tuple(task.name for task in TASKS),
)
