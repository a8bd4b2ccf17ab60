"""One workload per learner, row by row and as a whole stream: what `compare.py` measures under two commits.

Runs under either of them, so it uses only what both have. Reads requests from standard input, a line of JSON each, and
answers each: {"name": ..., "mode": ..., "rows": ...} with {"seconds": ...} or {"error": ...}, {} with all names;
without a mode, stored points or features and bytes along the rows. Seconds are of the processor, of one thread.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import nystream
from nystream.model.building import build
from nystream.registry import LEARNERS

MODES = ("row by row", "whole stream")
COLUMNS, MOST = 22, 64_000
CLASSES, PLACES = 5, 8


@cache
def stream() -> tuple[np.ndarray, np.ndarray]:
    """Rows, and a nonlinear function of them."""
    X = np.random.default_rng(0).normal(size=(MOST, COLUMNS)) / np.sqrt(COLUMNS)
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]


def labels(learner: Any, f: np.ndarray) -> np.ndarray:
    if learner.labels == "sign":
        return np.where(f >= 0, 1.0, -1.0)
    return np.digitize(f, [-0.3, -0.1, 0.1, 0.3]).astype(float) if learner.labels == "class" else np.clip(f, -1, 1)


def one_against_the_rest() -> Any:
    return nystream.Classifier(nystream.SILK(nystream.Gaussian(1.0), budget=100))


def thresholded() -> Any:
    return nystream.Thresholded(nystream.FOGD(nystream.Gaussian(1.0), dim=100, seed=0), criterion="f1")


MAKERS: dict[str, Callable[[], Any]] = {
    **{name: partial(build, name, dim=200) for name in LEARNERS},
    "one against the rest": one_against_the_rest,
    "thresholded": thresholded,
}


def learning(name: str, mode: str, rows: int) -> Callable[[], object]:
    X, f = stream()
    learner = MAKERS[name]()
    X, Y = X[:rows], labels(learner, f[:rows])
    if mode == "whole stream":
        return lambda: learner.run(X, Y)
    step, targets = learner.step, Y.tolist()
    return lambda: [step(x, y) for x, y in zip(X, targets, strict=True)]


def pixels(rows: int) -> Callable[[], object]:
    """Frames of 1,000 pixels."""
    from nystream.video import Pixels

    frames = np.random.default_rng(0).integers(0, 255, (max(1, rows // 1000), 25, 40, 3), dtype=np.uint8)
    model = Pixels(nystream.Gaussian(0.1), threads=1)
    return lambda: model.run(frames)


def sizes(name: str, rows: int) -> dict[str, Any]:
    """Of what a learner has stored, at several places of so many rows."""
    X, f = stream()
    learner, found = MAKERS[name](), []
    Y = labels(learner, f[:rows])
    for part in np.array_split(np.arange(rows), 2 * PLACES):
        learner.run(X[part], Y[part])
        found.append((learner.size, learner.nbytes))
    sizes, nbytes = zip(*found[::2], strict=True)  # in the middle of each eighth
    return {"columns": COLUMNS, "sizes": sizes, "bytes": sum(nbytes) / PLACES}


def prepared(name: str, mode: str, rows: int) -> Callable[[], object]:
    return pixels(rows) if name == "pixels" else learning(name, mode, rows)


def answered(request: dict[str, Any]) -> dict[str, Any]:
    if not request:
        return {"names": [*MAKERS, "pixels"], "modes": MODES, "most": MOST, "home": nystream.__file__}
    try:
        if "mode" not in request:
            return sizes(request["name"], request["rows"])
        work = prepared(request["name"], request["mode"], request["rows"])
        began = time.process_time()
        work()
        return {"seconds": time.process_time() - began}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
