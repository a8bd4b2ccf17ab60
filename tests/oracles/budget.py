"""Perceptron, passive-aggressive and budget learners as their papers define them: whole Gram matrices, a fresh solve
or search every round. Stored points are indices of the stream, in slots; a newcomer takes the slot of who leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def stream(n: int = 300, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A noisy nonlinear stream with labels -1/+1: every learner here keeps making mistakes on it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    f = np.sin(4 * X[:, 0]) + 2 * X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)
    return X, np.where(f >= 0, 1.0, -1.0)


def classes(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The same with labels 0, 1, 2, 3."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    f = np.sin(4 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)
    return X, np.digitize(f, [-0.7, 0.0, 0.7]).astype(float)


def corrections(K: np.ndarray, y: np.ndarray, rule: Callable[..., np.ndarray], outputs: int = 1) -> np.ndarray:
    """Predictions (n, outputs) of f <- f + rule(y, f(x), k(x, x)) k(x, .)."""
    coef, P = np.zeros((len(K), outputs)), np.zeros((len(K), outputs))
    for t in range(len(K)):
        P[t] = K[t] @ coef
        coef[t] = rule(y[t], P[t], K[t, t])
    return P


def perceptron(y: float, p: np.ndarray, s: float) -> np.ndarray:
    return np.where(y * p <= 0, y, 0.0)


def perceptron_classes(y: float, p: np.ndarray, s: float) -> np.ndarray:
    margin, direction = _margin(y, p)
    return direction if margin <= 0 else np.zeros(len(p))


def hinge_pa(variant: str | None, C: float) -> Callable[..., np.ndarray]:
    def rule(y: float, p: np.ndarray, s: float) -> np.ndarray:
        return y * _tau(np.maximum(0.0, 1 - y * p), s, variant, C)

    return rule


def tube_pa(variant: str | None, C: float, eps: float) -> Callable[..., np.ndarray]:
    def rule(y: float, p: np.ndarray, s: float) -> np.ndarray:
        return np.sign(y - p) * _tau(np.maximum(0.0, np.abs(y - p) - eps), s, variant, C)

    return rule


def _tau(loss: np.ndarray, s: float, variant: str | None, C: float) -> np.ndarray:
    if variant is None:
        return loss / s
    return np.minimum(C, loss / s) if variant == "I" else loss / (s + 1 / (2 * C))


def runner_up_pa(variant: str | None, C: float) -> Callable[..., np.ndarray]:
    def rule(y: float, p: np.ndarray, s: float) -> np.ndarray:
        margin, direction = _margin(y, p)
        return float(_tau(np.maximum(0.0, 1 - margin), 2 * s, variant, C)) * direction

    return rule


def exact_pa(variant: str | None, C: float, D: np.ndarray | None = None) -> Callable[..., np.ndarray]:
    """By sorting the violations: PA and PA-I as the specification of the loss, PA-II with beta = 1 + 1/(2 C s).

    D are margins of labels, 1 if not given.
    """

    def rule(y: float, p: np.ndarray, s: float) -> np.ndarray:
        label = int(y)
        a = ((1 if D is None else D[label]) + p - p[label]) / s
        b = np.sort(np.delete(a, label))[::-1]
        if b[0] <= 0:
            return np.zeros(len(p))
        S, n = np.cumsum(b), np.arange(1, len(p))
        beta = 1 + 1 / (2 * C * s) if variant == "II" else 1.0
        k = int(np.flatnonzero(b > beta * S / (1 + n * beta))[-1])
        thr = beta * S[k] / (1 + (k + 1) * beta)
        if variant == "I" and thr > C:
            k = int(np.flatnonzero(b > (S - C) / n)[-1])
            thr = (S[k] - C) / (k + 1)
        alpha = -np.maximum(0.0, a - thr)
        alpha[label] = 0.0
        alpha[label] = -alpha.sum()
        return alpha

    return rule


class Slots:
    """Stored indices of the stream, their coefficients (m, outputs), and the sums of those over the rounds."""

    def __init__(self, K: np.ndarray, outputs: int = 1) -> None:
        self.K, self.index, self.coef, self.total = K, [], np.zeros((0, outputs)), np.zeros((0, outputs))

    def predict(self, t: int) -> np.ndarray:
        return self.K[t, self.index] @ self.coef if self.index else np.zeros(self.coef.shape[1])

    def begin(self, t: int) -> np.ndarray:
        """The prediction of round t, whose hypothesis enters the sums."""
        self.total = self.total + self.coef
        return self.predict(t)

    def append(self, t: int, alpha: np.ndarray) -> None:
        self.index.append(t)
        self.coef = np.vstack([self.coef, np.atleast_1d(alpha)])
        self.total = np.vstack([self.total, np.zeros(self.coef.shape[1])])

    def gram(self, rows: list[int], columns: list[int]) -> np.ndarray:
        return self.K[np.ix_(rows, columns)]


def random_budget(K: np.ndarray, y: np.ndarray, budget: int, seed: int, outputs: int = 1) -> tuple[np.ndarray, Slots]:
    rule = perceptron if outputs == 1 else perceptron_classes
    f, P, rng = Slots(K, outputs), np.zeros((len(K), outputs)), np.random.default_rng(seed)
    for t in range(len(K)):
        P[t] = f.predict(t)
        alpha = rule(y[t], P[t], K[t, t])
        if not alpha.any():
            continue
        if len(f.index) < budget:
            f.append(t, alpha)
        else:
            slot = int(budget * rng.random())
            f.index[slot], f.coef[slot] = t, alpha
    return P[:, 0] if outputs == 1 else P, f


def forgetron(K: np.ndarray, y: np.ndarray, budget: int) -> tuple[np.ndarray, list[tuple[float, float, float]]]:
    """Predictions, and (phi, Q, M) after every mistake; phi by bisection from its definition."""
    f, P, Q, M, record = Slots(K), np.zeros(len(K)), 0.0, 0, []
    for t in range(len(K)):
        P[t] = f.predict(t)[0]
        if y[t] * P[t] > 0:
            continue
        M += 1
        phi = 1.0
        f.append(t, y[t])
        if len(f.index) > budget:
            s, mu = abs(f.coef[0, 0]), np.sign(f.coef[0, 0]) * f.predict(f.index[0])[0]

            def damage(phi: float, s: float = s, mu: float = mu) -> float:
                return (s * phi) ** 2 + 2 * s * phi * (1 - phi * mu)

            if Q + damage(1.0) > 15 / 32 * M:
                low, high = 0.0, 1.0
                for _ in range(100):
                    middle = (low + high) / 2
                    low, high = (middle, high) if Q + damage(middle) <= 15 / 32 * M else (low, middle)
                phi = low
            Q += damage(phi)
            f.coef = phi * f.coef[1:]
            f.index = f.index[1:]
        record.append((phi, Q, float(M)))
    return P, record


def budget_pa(
    K: np.ndarray, y: np.ndarray, budget: int, C: float, variant: str, outputs: int = 1
) -> tuple[np.ndarray, Slots]:
    """Every candidate is projected by a solve of its own."""
    rule = runner_up_pa("I", C) if outputs > 1 else hinge_pa("I", C)
    f, P = Slots(K, outputs), np.zeros((len(K), outputs))
    for t in range(len(K)):
        P[t] = f.begin(t)
        alpha = rule(y[t], P[t], K[t, t])
        if not alpha.any():
            continue
        if len(f.index) < budget:
            f.append(t, alpha)
            continue
        candidates = [_projection(f, t, r, variant) for r in range(budget)]
        gone = int(np.argmin([np.sum(f.coef[r] ** 2) * c[2] for r, c in enumerate(candidates)]))
        slots, b, _ = candidates[gone]
        leaving, history = f.coef[gone].copy(), f.total[gone].copy()
        for slot, weight in zip(slots, b[:-1], strict=True):
            f.coef[slot] += weight * leaving
            f.total[slot] += weight * history
        f.index[gone], f.coef[gone], f.total[gone] = t, alpha + b[-1] * leaving, b[-1] * history
    return P, f


def _projection(f: Slots, t: int, r: int, variant: str) -> tuple[list[int], np.ndarray, float]:
    """Slots of V, coefficients of k_r on V and t, squared residual."""
    others = [i for i in range(len(f.index)) if i != r]
    if variant == "S":
        V: list[int] = []
    elif variant == "P":
        V = others
    else:
        here = f.index[r]
        far = [f.K[here, here] + f.K[i, i] - 2 * f.K[here, i] for i in (f.index[o] for o in others)]
        V = [others[int(np.argmin(far))]] if others else []
    span = [f.index[v] for v in V] + [t]
    k = f.K[f.index[r], span]
    b = np.linalg.solve(f.gram(span, span), k)
    return V, b, float(f.K[f.index[r], f.index[r]] - b @ k)


def projectron(
    K: np.ndarray, y: np.ndarray, tol: float, budget: int | None = None, plus: bool = False, outputs: int = 1
) -> tuple[np.ndarray, Slots]:
    """A point within 1e-5 sqrt(k(x, x)) of the span lies in it. With classes the label and its rival move."""
    f, P, square = Slots(K, outputs), np.zeros((len(K), outputs)), 1 if outputs == 1 else 2
    for t in range(len(K)):
        P[t] = f.begin(t)
        m, direction = _margin(y[t], P[t])
        if m > 0 and not (plus and m < 1):
            continue
        d = np.linalg.solve(f.gram(f.index, f.index), K[f.index, t])
        inside = float(K[t, f.index] @ d)
        near = K[t, t] - inside < 1e-10 * K[t, t]
        delta = 0.0 if near else float(np.sqrt(square * (K[t, t] - inside)))
        if m > 0:
            loss, size = 1 - m, square * inside
            if loss >= delta / tol:
                f.coef += np.outer(d, min(loss / size, 2 * (loss - delta / tol) / size, 1.0) * direction)
        elif f.index and (delta <= tol or (budget is not None and len(f.index) >= budget)):
            f.coef += np.outer(d, direction)
        else:
            f.append(t, direction)
    return P[:, 0] if outputs == 1 else P, f


def _margin(y: float, p: np.ndarray) -> tuple[float, np.ndarray]:
    """How far p is right, and the direction that makes it so."""
    if len(p) == 1:
        return float(y * p[0]), np.array([y])
    others = np.delete(np.arange(len(p)), int(y))
    rival = others[np.argmax(p[others])]
    direction = np.zeros(len(p))
    direction[int(y)], direction[rival] = 1.0, -1.0
    return float(p[int(y)] - p[rival]), direction


def bsgd(
    X: np.ndarray,
    y: np.ndarray,
    kernel: Callable[[np.ndarray, np.ndarray], np.ndarray],
    grad: Callable[[float, float], float],
    lam: float,
    budget: int,
    maintenance: str = "remove",
    t0: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, points, coefficients; merging tries 20 001 places on the line for every partner."""
    points, alpha, birth, P = np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(0), np.zeros(len(X))
    for t in range(len(X)):
        P[t] = (kernel(X[t : t + 1], points) @ alpha)[0] if len(points) else 0.0
        g, step = grad(y[t], P[t]), 1 / (t0 + t + 1)
        alpha = (1 - step) * alpha
        if g == 0:
            continue
        points, alpha, birth = np.vstack([points, X[t]]), np.append(alpha, -g * step / lam), np.append(birth, t)
        if len(points) <= budget:
            continue
        i = _smallest(alpha, birth)[0]
        rest = np.arange(len(points)) != i
        if maintenance == "project":
            G = kernel(points[rest], points[rest]) + 1e-10 * np.eye(budget)
            alpha = alpha.copy()
            alpha[rest] += alpha[i] * np.linalg.solve(G, kernel(points[rest], points[i : i + 1])[:, 0])
        elif maintenance == "merge":
            found = _partner(points, alpha, i, kernel)
            if found is not None:
                j, h, a = found
                points[j] = h * points[i] + (1 - h) * points[j]
                alpha[j], birth[j] = a, t
        points, alpha, birth = points[rest], alpha[rest], birth[rest]
    return P, points, alpha


def _smallest(alpha: np.ndarray, birth: np.ndarray) -> np.ndarray:
    """Entries by size, the oldest of equals first; sizes that differ by rounding only are equal."""
    size = np.abs(alpha)
    return np.lexsort((birth, np.round(size / size.max(), 9)))


def _partner(
    points: np.ndarray, alpha: np.ndarray, i: int, kernel: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> tuple[int, float, float] | None:
    h, best, least = np.linspace(0, 1, 20001), None, np.inf
    k = kernel(points[i : i + 1], points)[0]
    for j in np.flatnonzero((np.sign(alpha) == np.sign(alpha[i])) & (k > 0)):
        if j != i:
            value = alpha[i] * k[j] ** ((1 - h) ** 2) + alpha[j] * k[j] ** (h**2)
            top = int(np.argmax(np.abs(value)))
            damage = alpha[i] ** 2 + alpha[j] ** 2 + 2 * alpha[i] * alpha[j] * k[j] - value[top] ** 2
            if damage < least:
                least, best = damage, (int(j), float(h[top]), float(value[top]))
    return best


def dual_sgd(
    K: np.ndarray,
    Z: np.ndarray,
    y: np.ndarray,
    grad: Callable[[float, float], float],
    lam: float,
    budget: int,
    evict: int,
    t0: float = 0.0,
    outputs: int = 1,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, the weights of the features Z (n, dim), and the mean hypothesis at all points of the stream.

    For K > 1 outputs grad takes and gives arrays (K,), and what is returned has a last axis of K.
    """
    shape = () if outputs == 1 else (outputs,)
    alpha, w, P = np.zeros((len(K), *shape)), np.zeros((Z.shape[1], *shape)), np.zeros((len(K), *shape))
    sum_alpha, sum_w = np.zeros_like(alpha), np.zeros_like(w)
    for t in range(len(K)):
        P[t] = K[t] @ alpha + Z[t] @ w
        sum_alpha, sum_w = sum_alpha + alpha, sum_w + w
        g, step = grad(y[t], P[t]), 1 / (t0 + t + 1)
        alpha, w = (1 - step) * alpha, (1 - step) * w
        if np.any(g != 0):
            size = np.abs(alpha).reshape(len(K), -1).max(axis=1)
            stored = np.flatnonzero(size)
            if len(stored) == budget:
                gone = stored[_smallest(size[stored], stored)[:evict]]
                w, sum_w = w + Z[gone].T @ alpha[gone], sum_w + Z[gone].T @ sum_alpha[gone]
                alpha[gone] = sum_alpha[gone] = 0.0
            alpha[t] = -g * step / lam
    return P, w, (K @ sum_alpha + Z @ sum_w) / len(K)
