"""What the second stage of NOLANA, which carries weights over a move, is worth: accuracy over time without it."""

from __future__ import annotations

import numpy as np

from nystream.features import AdaptiveNystrom
from nystream.learners import NOGD, NOLANA, Learner
from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.nolana_tasks import (
    EPS,
    ETA,
    GAMMA,
    IJCNN1,
    PAPER,
    SAME,
    USPS,
    Task,
    gaussian,
    prefix,
    read,
    seeds,
)
from nystream.reproduce.outcome import Line, Outcome, Panel, Table
from nystream.reproduce.protocol import mean_sd, one_pass, shuffled, so_far, wrong
from nystream.runtime.types import Array

__all__ = ["FIGURE2", "Adrift"]


class _Unheeded(AdaptiveNystrom):
    """A map whose moves leave weights as they are, in a basis that is no longer theirs."""

    def _transport(self, seen: Array) -> Array:
        return np.eye(self.dim)


class Adrift(NOLANA):
    """NOLANA without its second stage."""

    def _new_map(self) -> AdaptiveNystrom:
        parameters = super()._new_map().get_params(deep=False)
        if parameters["solver"] in ("auto", "reflect"):  # reflections leave no basis behind that could be forgotten
            parameters["solver"] = "eigh"
        return _Unheeded(**parameters)


def run(setting: Setting) -> Outcome:
    """Measure the accuracy so far with and without the second stage."""
    tables, panels = [], []
    for task in (USPS, IJCNN1):
        X, y = read(task, setting)
        rows = 1500 if setting.quick else 60_000
        learners = _staged(task, X, y)
        curves: dict[str, list[Array]] = {name: [] for name in learners}
        for seed in setting.each(seeds(setting, 3), task.name):
            stream = shuffled(X, y, seed, rows)
            for name, learner in learners.items():
                done = one_pass(learner.clone(), *stream)
                places, errors = so_far(wrong(done.predictions, stream[1]).astype(float))
                curves[name].append(100.0 * (1.0 - errors))
        ends = tuple((name, *mean_sd([float(c[-1]) for c in lines])) for name, lines in curves.items())
        tables.append(Table(f"{task.name}: accuracy in percent", ("learner", "accuracy", "sd"), ends))
        lines = tuple(Line(name, tuple(places.tolist()), np.mean(found, axis=0)) for name, found in curves.items())
        panels.append(Panel(f"{task.name}: accuracy so far, percent", "rows", "accuracy, percent", lines))
    return Outcome(tuple(tables), tuple(panels), _remarks(tables))


def _staged(task: Task, X: Array, y: Array) -> dict[str, Learner]:
    """Return the learners of a dataset: usps at the other figures' setting, ijcnn1 at widths from its prefix."""
    m, eps, gamma = task.landmarks, EPS, GAMMA
    if task is not USPS:
        scale = prefix(task, X, y)[2]
        eps, gamma = scale.gaps[0], 1.0 / scale.width
    kernel = gaussian(gamma)
    return {
        "both stages": NOLANA(kernel, landmarks=m, eps=eps, loss=task.loss, eta=ETA, solver="eigh"),
        "no second stage, eigh": Adrift(kernel, landmarks=m, eps=eps, loss=task.loss, eta=ETA, solver="eigh"),
        "no second stage, warm": Adrift(kernel, landmarks=m, eps=eps, loss=task.loss, eta=ETA, solver="warm"),
        "no moves (NOGD)": NOGD(kernel, landmarks=m, loss=task.loss, eta=ETA),
    }


def _remarks(tables: list[Table]) -> tuple[str, ...]:
    sentences = []
    for table in tables:
        found = {str(row[0]): float(row[1] or 0.0) for row in table.rows}
        without = max(found["no second stage, eigh"], found["no second stage, warm"])
        sentences.append(
            f"{table.title.partition(':')[0]}: {found['both stages']:.2f} with both stages, at best {without:.2f} "
            f"without the second, {found['no moves (NOGD)']:.2f} with landmarks that stay."
        )
    sentences.append(
        "The second stage is a change of basis, not a refinement: eigenvectors come back with other signs and in "
        "another order, and weights that are not carried over belong to features that no longer exist."
    )
    return tuple(sentences)


FIGURE2 = Experiment(
    "nolana-figure2",
    "The second stage, which carries weights over a move: accuracy over time with and without it.",
    f"{PAPER}, Figure 2",
    f"usps: 100 landmarks, rank 80, {SAME}. ijcnn1, the first 60,000 rows of a shuffle: hinge, gamma one over the "
    "median squared distance, eps the 90 percent quantile of the distance to the first landmarks, both by the prefix "
    "of shuffle 0. Accuracy so far of predictions made before each label, mean of shuffles 1 to 3. Quick: one shuffle, "
    "1,500 rows.",
    run,
    ("usps", "ijcnn1"),
)
