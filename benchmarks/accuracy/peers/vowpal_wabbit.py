"""Vowpal Wabbit: all pairs of columns, and the kernel support vector machine; row by row, defaults.

What an example says after `learn` is the prediction made before the update (progressive validation); `predict`
followed by `learn` gave the same numbers to the last bit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from vowpalwabbit import Workspace

from nystream.scaling import RunningScale
from peers.method import Answers, Method, Task

__all__ = ["VowpalWabbit", "kernel_machine", "pairs", "pairs_coin"]

WIDE, BITS = 100, 22
"""With more columns than this, so many bits of hash: 18, the default, would be too few for the pairs."""


class VowpalWabbit(Method):
    """A workspace; rows are lines of text, on standardised columns, when they come."""

    block = 20

    def __init__(self, task: Task, options: str, *, probabilities: bool) -> None:
        self.task = task
        self.probabilities = probabilities
        if task.classes > 2:
            options += f" --oaa {task.classes}" + " --probabilities" * probabilities
        if probabilities:
            options += " --loss_function logistic" + " --link logistic" * (task.classes == 2)
        self.model = Workspace(f"--quiet {options}")
        self.scale = RunningScale()
        self.scale.start(task.d)

    def prepare(self, X: np.ndarray, y: np.ndarray) -> list[str]:
        if self.task.regression:
            labels = [f"{value:.9g}" for value in y]
        elif self.task.classes == 2:
            labels = ["1" if value else "-1" for value in y]
        else:
            labels = [str(int(value) + 1) for value in y]
        return [
            f"{label} |x " + " ".join(f"{j}:{u:.6g}" for j, u in enumerate(row) if u)
            for label, row in zip(labels, self.scale(X).tolist(), strict=True)
        ]

    def learn(self, prepared: list[str]) -> Answers:
        answers = []
        for line in prepared:
            example = self.model.example(line)
            self.model.learn(example)
            answers.append(example.get_prediction())
            self.model.finish_example(example)
        said = np.array(answers)
        if self.task.regression:
            return said, None
        if self.task.classes == 2:
            P = np.column_stack([1 - said, said])
            return (P.argmax(axis=1), P) if self.probabilities else (said > 0, None)
        return (said.argmax(axis=1), said) if self.probabilities else (said - 1, None)

    def saved_bytes(self) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.vw"
            self.model.save(str(path))
            return path.stat().st_size


def pairs(task: Task, more: str = "") -> VowpalWabbit:
    """`-q ::` with logistic loss, or squared loss (whose predictions stay in the range of the labels seen)."""
    bits = f" -b {BITS}" if task.d > WIDE else ""
    return VowpalWabbit(task, f"-q ::{bits}{more}", probabilities=not task.regression)


def pairs_coin(task: Task) -> VowpalWabbit:
    """The same by coin betting, which has no step size."""
    return pairs(task, " --coin")


def kernel_machine(task: Task) -> VowpalWabbit:
    """`--ksvm` with the Gaussian kernel, one class against the rest."""
    return VowpalWabbit(task, f"--ksvm --kernel rbf --bandwidth {task.gamma:.9g}", probabilities=False)
