"""What auto_streams.py compares the automatic learner with: one pass over (X, y), predictions before labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from river import forest, neighbors, preprocessing, tree
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

from nystream import Classifier, Standardized
from nystream.learners import Forgetting
from nystream.scaling import RunningScale

__all__ = ["peers"]

BLOCK = 100
RIVER_ROWS = 10_000
Figures = Callable[[np.ndarray, np.ndarray, bool], dict[str, float]]


def peers(
    X: np.ndarray, y: np.ndarray, regression: bool, figures: Figures, *, river: bool = False
) -> dict[str, dict[str, float]]:
    """Name -> figures of the same rows (river's: of the first 10,000)."""
    found = {}
    methods: dict[str, Callable[[], np.ndarray]] = {
        "no change": lambda: _no_change(y, regression),
        "linear ridge": lambda: _linear(X, y, regression),
        "Nystroem + SGD": lambda: _sgd(X, y, regression, "nystroem"),
        "RBFSampler + SGD": lambda: _sgd(X, y, regression, "fourier"),
    }
    for name, run in methods.items():
        start = time.perf_counter()
        P = run()
        found[name] = {"error": figures(P, y, regression)["error"], "rows/s": len(X) / (time.perf_counter() - start)}
    if river:
        n = min(RIVER_ROWS, len(X))
        for name, model in _river(regression):
            start = time.perf_counter()
            P = _one_by_one(model, X[:n], y[:n], regression)
            seconds = time.perf_counter() - start
            error = figures(P, y[:n], regression)["error"]
            found[f"river {name}"] = {"error": error, "rows/s": n / seconds, "rows": n}
    return found


def _no_change(y: np.ndarray, regression: bool) -> np.ndarray:
    last = np.r_[0.0, y[:-1]]
    return last if regression else _one_hot(last, int(y.max()) + 1)


def _linear(X: np.ndarray, y: np.ndarray, regression: bool) -> np.ndarray:
    """Affine least squares that forgets nothing, on running-standardised columns."""
    ridge = Forgetting(decay=1.0, lam=1.0)
    model = Standardized(ridge if regression else Classifier(ridge))
    P = model.run(X, y)
    return P if regression else _one_hot(P.argmax(axis=1), int(y.max()) + 1)


def _sgd(X: np.ndarray, y: np.ndarray, regression: bool, kind: str) -> np.ndarray:
    """Each block is predicted, then learnt. Standardised as the rows go; the features are fitted on the first 1,000
    rows beforehand, which is in their favour.
    """
    d = X.shape[1]
    scale = RunningScale()
    scale.start(d)
    features = {"nystroem": Nystroem, "fourier": RBFSampler}[kind](gamma=1 / d, n_components=1000, random_state=0)
    features.fit(StandardScaler().fit_transform(X[:1000]))
    model = SGDRegressor() if regression else SGDClassifier(loss="log_loss")
    classes = np.arange(int(y.max()) + 1)
    parts = []
    for i in range(0, len(X), BLOCK):
        U, labels = scale(X[i : i + BLOCK]), y[i : i + BLOCK]
        Z = features.transform(U)
        if i:
            parts.append(model.predict(Z))
        else:
            parts.append(np.full(len(Z), labels[0]))
        model.partial_fit(Z, labels) if regression else model.partial_fit(Z, labels, classes=classes)
    p = np.concatenate(parts)
    return p if regression else _one_hot(p, len(classes))


def _river(regression: bool) -> Iterator[tuple[str, object]]:
    if regression:
        scaler = preprocessing.StandardScaler
        yield "ARF", scaler() | forest.ARFRegressor(seed=0, leaf_prediction="mean")
        yield "HAT", scaler() | tree.HoeffdingAdaptiveTreeRegressor(seed=0, leaf_prediction="mean")
        yield "KNN", scaler() | neighbors.KNNRegressor()
    else:
        yield "ARF", forest.ARFClassifier(seed=0)
        yield "HAT", tree.HoeffdingAdaptiveTreeClassifier(seed=0)
        yield "KNN", preprocessing.StandardScaler() | neighbors.KNNClassifier()


def _one_by_one(model: object, X: np.ndarray, y: np.ndarray, regression: bool) -> np.ndarray:
    said = np.zeros(len(X))
    for t, row in enumerate(X):
        x = dict(enumerate(row.tolist()))
        answer = model.predict_one(x)
        said[t] = 0.0 if answer is None else answer
        model.learn_one(x, float(y[t]) if regression else int(y[t]))
    return said if regression else _one_hot(said, int(y.max()) + 1)


def _one_hot(labels: np.ndarray, classes: int) -> np.ndarray:
    return (labels[:, None] == np.arange(classes)).astype(float)
