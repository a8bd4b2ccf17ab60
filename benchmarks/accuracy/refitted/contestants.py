"""Boosters with their defaults, refitted from scratch on all rows so far, and Auto."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import nystream
from nystream.auto.learner import Auto
from refitted.streams import Stream, lag_columns

__all__ = ["AUTO", "BOOSTERS", "CONTESTANTS", "LAGGED", "Contestant", "refit_text", "refits"]

AUTO, LAGGED = "Auto", "+lag"
FIRST = (100, 200, 400, 800)
EVERY = 1000
SELDOM = {"mnist": 3000}
"""Streams on which a fit takes minutes: refitted every so many rows instead, after the first 1,000."""
BLOCK = 256
Answers = Iterator[np.ndarray]


@dataclass(frozen=True)
class Contestant:
    """Who answers a stream from a row on, in pieces, each row before its label is learnt."""

    answers: Callable[[Stream, int], Answers]
    made_by: Callable[[str], str]
    """Of a stream's name: all that decides the answers. Records made otherwise are not used."""


def refits(name: str, rows: int) -> list[int]:
    """After how many rows of a stream boosters are fitted."""
    cuts = [*FIRST, *range(EVERY, rows, SELDOM.get(name, EVERY))]
    return [cut for cut in cuts if cut < rows]


def refit_text(name: str) -> str:
    return f"after {', '.join(map(str, FIRST))}, {EVERY:,} rows and then every {SELDOM.get(name, EVERY):,}"


def light(classes: int) -> Any:
    kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    return kind(n_jobs=1, verbose=-1, random_state=0)


def cat(classes: int) -> Any:
    kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
    return kind(iterations=300, thread_count=1, verbose=False, random_seed=0, allow_writing_files=False)


def histogram(classes: int) -> Any:
    return (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(random_state=0)


class ExtremeBooster:
    """XGBoost, which wants the classes of its rows to be 0, 1, 2, ..., none left out."""

    def __init__(self, classes: int) -> None:
        self.model = (xgboost.XGBClassifier if classes else xgboost.XGBRegressor)(n_jobs=1, random_state=0)
        self.known = np.arange(0)
        self.classes = classes

    def fit(self, X: np.ndarray, y: np.ndarray) -> ExtremeBooster:
        if self.classes:
            self.known, y = np.unique(y, return_inverse=True)
        self.model.fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        found = np.asarray(self.model.predict(X))
        return self.known[found] if self.classes else found


def before_fits(y: np.ndarray, classes: int) -> np.ndarray:
    """The mean or the most frequent class of the labels before each row; 0 for the first."""
    t = np.arange(1, len(y))
    if not classes:
        return np.concatenate([[0.0], y.cumsum()[:-1] / t])
    counts = np.eye(classes)[y.astype(int)].cumsum(axis=0)
    return np.concatenate([[0.0], counts[:-1].argmax(axis=1)])


def refitted(build: Callable[[int], Any], lagged: bool) -> Callable[[Stream, int], Answers]:
    """Fit, answer until the next fit, and so on; `start` is 0 or where an earlier run was left."""

    def answers(stream: Stream, start: int) -> Answers:
        X, y = stream.X, stream.y.astype(int) if stream.classes else stream.y
        if lagged:
            X = np.hstack([X, lag_columns(stream.y, stream.classes)])
        cuts = refits(stream.name, len(y))
        if start == 0:
            yield before_fits(stream.y[: FIRST[0]], stream.classes)
        for rows, stop in zip(cuts, [*cuts[1:], len(y)], strict=True):
            if rows < start:
                continue
            if stream.classes and (y[:rows] == y[0]).all():  # boosters refuse a single class
                yield np.full(stop - rows, float(y[0]))
            else:
                model = build(stream.classes).fit(X[:rows], y[:rows])
                yield np.asarray(model.predict(X[rows:stop]), dtype=float).reshape(-1)

    return answers


def auto(stream: Stream, _: int) -> Answers:
    """With no option; its own lags are its own business. One piece, since it cannot be left and taken up again."""
    model = Auto(task="classification" if stream.classes else "regression")
    parts = []
    for i in range(0, len(stream.y), BLOCK):
        found = model.run(stream.X[i : i + BLOCK], stream.y[i : i + BLOCK])
        parts.append(found.argmax(axis=1).astype(float) if stream.classes else found)
    yield np.concatenate(parts)


def sources() -> str:
    """Digest of the package that was imported, compiled modules too."""
    folder, digest = Path(nystream.__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd"):
            digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _boosters() -> dict[str, Contestant]:
    found = {}
    for name, package, build in (
        ("LightGBM", "lightgbm", light),
        ("CatBoost", "catboost", cat),
        ("HistGB", "scikit-learn", histogram),
        ("XGBoost", "xgboost", ExtremeBooster),
    ):

        def made_by(stream: str, package: str = package) -> str:
            return f"{package} {version(package)}, refitted {refit_text(stream)}"

        for lagged in (False, True):
            found[name + LAGGED * lagged] = Contestant(refitted(build, lagged), made_by)
    return found


OURS = f"nystream {nystream.__version__}, sources {sources()}"
BOOSTERS = _boosters()
CONTESTANTS = {AUTO: Contestant(auto, lambda _: OURS), **BOOSTERS}
