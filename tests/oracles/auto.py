"""What the automatic learner makes of its experts' scores, written slowly for one row at a time; classes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import logsumexp, softmax

MEMBERS = ((1.0, 1.0), (0.999, 0.1), (0.999, 1.0), (0.999, 10.0), (0.995, 1.0))
"""Forgetting and ridge of the stackers."""
BLOCK, SHARE = 10, 0.001


class Softmax:
    """One stacker: Newton steps after every BLOCK rows for the weights of the inputs and the biases of K classes."""

    def __init__(self, inputs: int, classes: int, decay: float, lam: float) -> None:
        self.start = np.r_[np.full(inputs, 2 / inputs), np.zeros(classes)]
        self.theta, self.keep, self.lam = self.start.copy(), decay**BLOCK, lam
        self.H = np.zeros((len(self.start), len(self.start)))
        self.rows: list[tuple[np.ndarray, int]] = []

    def predict(self, f: np.ndarray) -> np.ndarray:
        """Probabilities from inputs f (E, K)."""
        return softmax(self.theta @ self._design(f))

    def learn(self, f: np.ndarray, label: int) -> None:
        self.rows.append((self._design(f), label))
        if len(self.rows) < BLOCK:
            return
        gradient, hessian = np.zeros_like(self.theta), np.zeros_like(self.H)
        for J, c in self.rows:
            p = softmax(self.theta @ J)
            gradient += J @ (p - np.eye(len(p))[c])
            hessian += J @ (np.diag(p) - np.outer(p, p)) @ J.T
        self.H = self.keep * self.H + hessian
        slope = gradient + self.lam * (1 - self.keep) * (self.theta - self.start)
        self.theta = self.theta - np.linalg.solve(self.H + self.lam * np.eye(len(self.theta)), slope)
        self.rows = []

    @staticmethod
    def _design(f: np.ndarray) -> np.ndarray:
        """(E + K, K): what theta multiplies."""
        return np.vstack([f, np.eye(f.shape[1])])


def shared(v: np.ndarray, losses: np.ndarray, eta: float) -> np.ndarray:
    """The fixed-share update of weights v."""
    u = np.log(v) - eta * losses
    return (1 - SHARE) * np.exp(u - logsumexp(u)) + SHARE / len(v)


def repeated(seen: list[int], K: int) -> np.ndarray:
    """Probabilities of K classes after those seen: the last one again as often as before, others by their counts."""
    if not seen:
        return np.full(K, 1 / K)
    last, n = seen[-1], len(seen)
    again = (sum(a == b for a, b in pairwise(seen)) + 0.5) / n
    others = np.array([0.0 if k == last else seen.count(k) + 1.0 for k in range(K)])
    p = (1 - again) * others / max(others.sum(), 1e-300)
    p[last] = again
    return p


def stacked_classes(model, X, y, lags):
    """Logarithms of probabilities (n, K), K > 2; `model` is stepped along for the outputs of its experts."""
    K = model.outputs_
    E = len(model.expert_set_.names)
    stackers = [Softmax(E + 3 * lags, K, *member) for member in MEMBERS]
    count = len(MEMBERS) + 1 + lags
    experts, members = np.full(E, 1 / E), np.full(count, 1 / count)
    past, seen, out = None, [], []
    for x, label in zip(X, y.astype(int), strict=True):
        F = np.clip(model.expert_set_.predict(x[None], 1 + K)[0, :, 1:], -1.5, 1.5)
        f = np.vstack([F, np.zeros((3, K)) if past is None else past]) if lags else F
        mean = np.clip((experts @ F + 1) / 2, 0.01, 0.99)
        last = [repeated(seen, K)] if lags else []
        answers = np.array([*(stacker.predict(f) for stacker in stackers), *last, mean / mean.sum()])
        answers = np.maximum(answers, 1e-12)
        p = members @ answers
        out.append(np.log(p / p.sum()))
        code = np.where(np.arange(K) == label, 1.0, -1.0)
        for stacker in stackers:
            stacker.learn(f, label)
        experts = shared(experts, ((F - code) ** 2).mean(axis=1), 0.5)
        members = shared(members, -np.log(answers[:, label]), 1.0)
        rates = np.array([[1.0], [0.1], [0.01]])
        past = np.tile(code, (3, 1)) if past is None else past + rates * (code - past)
        model.step(x, float(label))
        seen.append(int(label))
    return np.array(out)


def recalibrated(P, labels, weights=None):
    """Log probabilities (n, K) before each label, from those of a learner: two maps and what was said, mixed."""
    n, K = P.shape
    w = np.ones(n) if weights is None else weights
    maps, shares, past, found = np.zeros((2, 2)), np.full(3, 1 / 3), ([], []), []
    for t in range(n):
        logs = np.maximum(P[t], np.log(2e-6 / K))
        F = np.column_stack([logs / 2, 2 * np.exp(logs)])
        members = [np.exp(P[t])]
        for m in range(2):
            q = np.exp(logs + F @ maps[m])
            members.append(q / q.sum())
        found.append(np.log(shares @ np.array(members)))
        y = int(labels[t])
        shares = shares * np.array([max(q[y], 1e-12) for q in members]) ** w[t]
        shares = 0.9999 * shares / shares.sum() + 0.0001 / 3
        for m in range(2):
            q = members[1 + m]
            mean = q @ F
            H = (F - mean).T @ (q[:, None] * (F - mean))
            past[m].append((w[t] * H, w[t] * (H @ maps[m] + F[y] - mean)))
        if (t + 1) % 10 == 0:
            for m, keep in enumerate((0.995, 0.9995)):
                ages = keep ** np.arange(t, -1, -1)
                H, g = (np.tensordot(ages, np.array(parts), 1) for parts in zip(*past[m], strict=True))
                a, b = np.linalg.solve(H + np.eye(2), g)
                a = max(a, 2 * (0.05 - 1))
                maps[m] = a, max(b, (0.05 - 1 - a / 2) / 2)
    return np.array(found)


def _mean(steps: list[float]) -> float:
    """The plain mean of up to 200 steps; each one after that moves it by .005."""
    mean = float(np.mean(steps[:200]))
    for step in steps[200:]:
        mean += 0.005 * (step - mean)
    return mean


def standing(labels: list[float]) -> tuple[bool, str]:
    """Whether labels so far hardly ever change, and what the last step was: a "change", "none" or "other"."""
    steps = [abs(b - a) for a, b in pairwise(labels)]
    if not steps:
        return False, "other"
    squares = [step**2 for step in steps]
    kind = "none" if steps[-1] == 0 else "change" if squares[-1] > 9 * _mean(squares) else "other"
    return _mean(steps) ** 2 < 0.05 * _mean(squares), kind


def guarded_numbers(P, y, weights=None):
    """(n,) predictions P and the last labels, mixed where labels hardly ever change; one target."""
    past, found = {"none": [], "change": []}, []
    for t in range(len(y)):
        rare, kind = standing(list(y[:t]))
        found.append(P[t])
        if kind == "other":
            continue
        d, w = y[t - 1] - P[t], 1.0 if weights is None else weights[t]
        if rare:
            keep = {"none": 0.9999, "change": 0.98}[kind]
            ages = keep ** np.arange(len(past[kind]) - 1, -1, -1)
            product, length = ages @ np.array(past[kind]) if past[kind] else (0.0, 0.0)
            found[-1] += (np.clip(product / length, 0, 1) if length > 0 else 1.0) * d
        error = np.clip(y[t] - P[t], -1000 * abs(d), 1000 * abs(d))
        past[kind].append((w * error * d, w * d * d))
    return np.array(found)


def guarded_classes(P, labels, weights=None):
    """(n, K) logarithms of probabilities P and no change, mixed in the three rows after a change of class."""
    found, shares, lasted = [], np.array([0.1, 0.9]), []
    y = [int(label) for label in labels]
    for t in range(len(y)):
        changes = [float(a != b) for a, b in pairwise(y[:t])]
        walk = np.cumsum([0.0, *changes]).tolist()
        rare = standing(walk)[0]
        kinds = [standing(walk[: t - age])[1] for age in range(min(t, 3))]
        found.append(P[t])
        if next((kind for kind in kinds if kind != "none"), "none") != "change":
            continue
        w, last = 1.0 if weights is None else weights[t], y[t - 1]
        ages = 0.98 ** np.arange(len(lasted) - 1, -1, -1)
        stayed, left = ages @ np.array(lasted) if lasted else (0.0, 0.0)
        same = (1.5 + stayed) / (2 + stayed + left)
        said = np.exp(P[t])
        none = np.where(np.arange(len(said)) == last, 0.0, said)
        none *= (1 - same) / none.sum()
        none[last] = same
        if rare:
            found[-1] = np.log(shares @ np.array([said, none]))
        shares = shares * np.array([said[y[t]], none[y[t]]]) ** w
        shares = 0.99 * shares / shares.sum() + 0.01 / 2
        lasted.append((w, 0.0) if y[t] == last else (0.0, w))
    return np.array(found)
