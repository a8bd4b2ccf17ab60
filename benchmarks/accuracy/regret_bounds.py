"""Every regret bound against hostile streams: the largest ratio regret / bound that was met, per learner.

Streams of 60 rounds, five kinds in turn: random labels or a noisy function; one point with alternating labels; a
function that changes sign; labels opposed to the prediction on a few points; a greedy adversary that makes the regret
largest now (25 rounds, real labels only). Comparators: the best functions in hindsight for five ridges, scaled into the
clip where the bound asks for that, and 0. A ratio above 1 would be a broken promise.

A second table holds every learner that has a bound, in all its variants of the tests, to the law of bounds
(tests/laws/bounds.py): seven kinds of streams, among them labels beyond the bound that the learner was given, with the
ridge of the variant and with a tiny one. Its columns are trials (comparators), finite bounds among them, violations,
and the largest regret / bound.

Run: python benchmarks/accuracy/regret_bounds.py [streams per learner, default 200] [learners, e.g. ProsNKons]
     python benchmarks/accuracy/regret_bounds.py law [seeds, default 5]
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

from nystream import (
    KONS,
    ONS,
    PKAWV,
    PKRR,
    Aggregate,
    Fourier,
    Gaussian,
    KernelAWV,
    KernelRidge,
    Learner,
    SketchedKONS,
    SketchedONS,
    Taylor,
)
from nystream.evaluate import Hindsight, bounds
from nystream.learners.nystrom_pkawv import NystromPKAWV
from nystream.learners.pros_n_kons import ProsNKons
from nystream.losses import as_loss
from nystream.streams import greedy_adversary

ROUNDS, D, B = 60, 2, 1.0
KERNEL = Gaussian(0.7)
KINDS = ("random", "alternating", "switching", "opposed", "greedy")
SMOOTH = {"hinge": "squared_hinge", "absolute": "squared"}
"""Comparators for a loss with kinks are chosen with this one."""
ROUNDING = 1e-9
"""Where a loss is linear the sharp bound can be met with equality."""
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass
class Played:
    """A stream that is over."""

    kind: str
    learner: Any
    lam: float
    X: np.ndarray
    y: np.ndarray
    p: np.ndarray
    sizes: np.ndarray
    """The learner's size after each round."""


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[float, int], Learner]
    """(lam, seed) -> a fresh learner."""
    ratios: Callable[[Played], Iterator[float]]
    loss: str = "squared"


def play(case: Case, seed: int) -> Played:
    rng = np.random.default_rng(seed)
    lam, signs = float(10 ** rng.uniform(-2, 1)), as_loss(case.loss).labels == "sign"
    kinds = KINDS[:-1] if signs else KINDS
    learner, kind = case.make(lam, seed), kinds[seed % len(kinds)]
    said = None
    if kind == "greedy":  # chosen against a twin, whose predictions are repeated now
        chosen = greedy_adversary(case.make(lam, seed), 25, d=D, kernel=KERNEL, lam=lam, seed=seed)
        (X, f), said = chosen, chosen.predictions
    else:
        X, f = _inputs(kind, rng)
    y, p, sizes = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
    for t in range(len(X)):
        f_t = -np.sign(learner.predict(X[t : t + 1])[0] or 1.0) if f is None else f[t]
        y[t] = np.where(f_t >= 0, 1.0, -1.0) if signs else B * np.clip(f_t, -1, 1)
        p[t] = learner.step(X[t], float(y[t]))
        sizes[t] = learner.size
    if said is not None:
        np.testing.assert_allclose(p, said, rtol=0, atol=1e-8)
    return Played(kind, learner, lam, X, y, p, sizes)


def _inputs(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
    """Points and labels in [-1, 1]; None for labels that depend on the predictions."""
    X = rng.uniform(-1, 1, (ROUNDS, D))
    smooth = np.sin(3 * X[:, 0]) + X[:, 1]
    if kind == "random":
        noise = rng.uniform(-1, 1, ROUNDS)
        return X, noise if rng.random() < 0.5 else np.tanh(smooth) + 0.3 * noise
    if kind == "alternating":
        return np.repeat(X[:1], ROUNDS, axis=0), np.resize([-1.0, 1.0], ROUNDS)
    if kind == "switching":
        return X, np.sign(smooth) * np.where(np.arange(ROUNDS) // 12 % 2, -1.0, 1.0)
    return X[rng.integers(0, 6, ROUNDS)], None


# -- ratios of one stream ----------------------------------------------------------------------------------------------
def against_kernel(play: Played, loss: str = "squared", clip: float | None = None) -> Iterator[tuple[float, Any]]:
    """(regret, comparator) over functions of the kernel."""
    yield from _against(Hindsight(KERNEL, play.X), play, loss, clip)


def against_features(play: Played, loss: str = "squared", clip: float | None = None) -> Iterator[tuple[float, Any]]:
    """(regret, comparator) over functions of the learner's own, fixed features."""
    yield from _against(Hindsight(play.learner.features_, play.X), play, loss, clip)


def _against(known: Hindsight, play: Played, loss: str, clip: float | None) -> Iterator[tuple[float, Any]]:
    value = as_loss(loss).value
    total = float(np.sum(value(play.y, play.p)))
    for ridge in RIDGES:
        best = known.best(play.y, lam=ridge * play.lam, loss=SMOOTH.get(loss, loss), clip=clip)
        yield total - float(np.sum(value(play.y, best.values))), best
        if ridge == RIDGES[-1]:  # and 0
            yield total - float(np.sum(value(play.y, 0 * play.y))), known.best(0 * play.y, lam=1.0)


def awv(play: Played) -> Iterator[float]:
    d_onl = Hindsight(KERNEL, play.X).online_dimension(play.lam)
    for regret, f in against_kernel(play):
        yield regret / bounds.awv(f.norm2, lam=play.lam, B=B, dimension=d_onl).total


def ridge(play: Played) -> Iterator[float]:
    d_onl = Hindsight(KERNEL, play.X).online_dimension(play.lam)
    for regret, f in against_kernel(play):
        yield regret / bounds.clipped_ridge(f.norm2, lam=play.lam, B=B, dimension=d_onl).total


def awv_features(play: Played) -> Iterator[float]:
    d_onl = play.learner.online_dimension()
    for regret, f in against_features(play):
        yield regret / bounds.awv(f.norm2, lam=play.lam, B=B, dimension=d_onl).total


def ridge_features(play: Played) -> Iterator[float]:
    d_onl = play.learner.online_dimension()
    for regret, f in against_features(play):
        yield regret / bounds.clipped_ridge(f.norm2, lam=play.lam, B=B, dimension=d_onl).total


def theorem_3(play: Played) -> Iterator[float]:
    d_onl, mu = play.learner.online_dimension(), Hindsight(play.learner.features_, play.X).residual(KERNEL)
    for regret, f in against_kernel(play):
        terms = {"dimension": d_onl, "rounds": len(play.y), "residual": mu}
        yield regret / bounds.fixed_features(f.norm2, lam=play.lam, B=B, **terms).total


def theorem_4(play: Played) -> Iterator[float]:
    log_det = Hindsight(KERNEL, play.X).log_det(play.lam)
    for regret, f in against_kernel(play):
        yield regret / bounds.taylor(f.norm2, lam=play.lam, B=B, log_det=log_det).total


def theorem_6(play: Played) -> Iterator[float]:
    d_eff = Hindsight(KERNEL, play.X).effective_dimension(play.lam)
    for regret, f in against_kernel(play):
        terms = {"effective": d_eff, "rounds": len(play.y), "top": 1.0, "atoms": play.learner.size}
        yield regret / bounds.nystrom(f.norm2, lam=play.lam, B=B, mu=play.lam / 1000, **terms).total


def frozen(play: Played) -> Iterator[float]:
    d_onl, missed = play.learner.online_dimension(), play.learner.missed()
    for regret, f in against_kernel(play):
        terms = {"dimension": d_onl, "loss": f.total, "missed": missed}
        yield regret / bounds.frozen_nystrom(f.norm2, lam=play.lam, B=B, **terms).total


def newton_features(loss: str) -> Callable[[Played], Iterator[float]]:
    def ratios(play: Played) -> Iterator[float]:
        for regret, f in against_features(play, loss, play.learner.clip):
            yield regret / play.learner.regret_bound(f.norm2)

    return ratios


def newton_kernel(loss: str, published: bool = False) -> Callable[[Played], Iterator[float]]:
    def ratios(play: Played) -> Iterator[float]:
        for regret, f in against_kernel(play, loss, play.learner.clip):
            sharp = play.learner.bound_terms(f.norm2, f.values).total
            yield regret / (play.learner.published_bound(f.norm2).total if published else sharp)

    return ratios


def projected(loss: str) -> Callable[[Played], Iterator[float]]:
    """PROS-N-KONS: its bound is on the features P_t phi_t, whose later coordinates are 0.

    Restarting, it competes with another function in every stretch between two atoms as well.
    """

    def ratios(play: Played) -> Iterator[float]:
        Z = play.learner.atoms_.nested_.coordinates(play.X)
        Z[np.arange(Z.shape[1]) >= play.sizes[:, None]] = 0.0
        value = as_loss(loss).value
        total = float(np.sum(value(play.y, play.p)))
        everything = [np.arange(len(Z))]
        for parts in (everything, np.split(everything[0], _entries(play))) if not play.learner.warm else (everything,):
            for ridge in RIDGES:
                rivals = [_ridge(Z[rows], play, rows, ridge) for rows in parts]
                f = np.concatenate([Z[rows] @ w for rows, w in zip(parts, rivals, strict=True)])
                norm2 = max(float(w @ w) for w in rivals)
                yield (total - float(np.sum(value(play.y, f)))) / play.learner.regret_bound(norm2)

    return ratios


def _entries(play: Played) -> np.ndarray:
    """Rounds, after the first, in which an atom entered."""
    return np.flatnonzero(np.diff(play.sizes) > 0) + 1


def _ridge(Z: np.ndarray, play: Played, rows: np.ndarray, ridge: float) -> np.ndarray:
    """Ridge regression on some rounds, scaled into the clip."""
    w = np.linalg.solve(Z.T @ Z + ridge * play.lam * np.eye(Z.shape[1]), Z.T @ play.y[rows])
    return w * min(1.0, play.learner.clip / max(float(np.abs(Z @ w).max()), 1e-300))


def experts(play: Played) -> Iterator[float]:
    yield play.learner.regret() / play.learner.regret_bound()


# -- the table ---------------------------------------------------------------------------------------------------------
def cases() -> Iterator[Case]:
    yield Case("KernelAWV: lam|f|^2 + B^2 d_onl", lambda lam, seed: KernelAWV(KERNEL, lam=lam), awv)
    yield Case(
        "KernelRidge clipped: lam|f|^2 + 4 B^2 d_onl", lambda lam, seed: KernelRidge(KERNEL, lam=lam, clip=B), ridge
    )
    yield Case("PKAWV on its features", lambda lam, seed: PKAWV(Taylor(KERNEL, degree=2), lam=lam), awv_features)
    yield Case("PKRR clipped, on its features", _pkrr, ridge_features)
    for degree in (2, 4):
        make = _taylor(degree)
        yield Case(f"PKAWV Taylor {degree} against the kernel (Thm 3)", make, theorem_3)
    degree = bounds.taylor_degree(ROUNDS, lam=0.01, radius=2**0.5, sigma=0.7)
    yield Case(f"PKAWV Taylor {degree} against the kernel (Thm 4)", _taylor(degree), theorem_4)
    yield Case("NystromPKAWV exact, mu = lam/1000 (Thm 6)", _nystrom("exact"), theorem_6)
    yield Case("NystromPKAWV frozen", _nystrom("frozen"), frozen)
    for loss in ("squared", "logistic", "squared_hinge", "hinge", "absolute"):
        clip = {"squared": B, "absolute": 1.3}.get(loss, 1.5)
        params = {"loss": loss, "clip": clip}
        yield Case(f"ONS {loss}, sharp", _on_features(ONS, **params), newton_features(loss), loss)
        sketched = _on_features(SketchedONS, sketch=5, **params)
        yield Case(f"SketchedONS {loss}, sharp", sketched, newton_features(loss), loss)
        yield Case(f"KONS {loss}, sharp", _on_kernel(KONS, **params), newton_kernel(loss), loss)
        yield Case(f"KONS {loss}, Theorem 1", _on_kernel(KONS, **params), newton_kernel(loss, published=True), loss)
        if as_loss(loss).curvature(clip) > 0:
            sampled = _on_kernel(SketchedKONS, gamma=0.3, seed=0, **params)
            yield Case(f"SketchedKONS {loss}, sharp", sampled, newton_kernel(loss), loss)
        yield Case(f"ProsNKons warm {loss}, sharp", _pros_n_kons(warm=True, **params), projected(loss), loss)
        yield Case(f"ProsNKons restarting {loss}, sharp", _pros_n_kons(warm=False, **params), projected(loss), loss)
    for rule in ("aa", "ewa"):
        yield Case(f"Aggregate {rule}", _aggregate(rule), experts)


def _pkrr(lam: float, seed: int) -> Learner:
    return PKRR(Fourier(KERNEL, 20, seed=seed), lam=lam, clip=B)


def _taylor(degree: int) -> Callable[[float, int], Learner]:
    return lambda lam, seed: PKAWV(Taylor(KERNEL, degree=degree), lam=lam)


def _nystrom(memory: str) -> Callable[[float, int], Learner]:
    if memory == "exact":  # theory's sampling
        beta = 12 * np.log(ROUNDS / 0.1)
        return lambda lam, seed: NystromPKAWV(KERNEL, lam=lam, mu=lam / 1000, beta=beta, memory="exact", seed=seed)
    return lambda lam, seed: NystromPKAWV(KERNEL, lam=lam, seed=seed)


def _on_features(kind: type[Learner], **params: Any) -> Callable[[float, int], Learner]:
    return lambda lam, seed: kind(Fourier(KERNEL, 20, seed=seed), lam=lam, **params)


def _on_kernel(kind: type[Learner], **params: Any) -> Callable[[float, int], Learner]:
    return lambda lam, seed: kind(KERNEL, lam=lam, **params)


def _pros_n_kons(**params: Any) -> Callable[[float, int], Learner]:
    return lambda lam, seed: ProsNKons(KERNEL, lam=lam, seed=seed, **params)


def _aggregate(rule: str) -> Callable[[float, int], Learner]:
    return lambda lam, seed: Aggregate([KernelAWV(KERNEL, lam=r * lam) for r in RIDGES], bound=B, rule=rule)


def law(seeds: int) -> int:
    """Print the table of the law; the number of violations."""
    sys.path[:0] = [str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parents[2] / "tests" / "helpers")]
    from laws import LAWS
    from laws.bounds import BOUNDED, TINY, UNBOUNDED, trials
    from variants import VARIANTS

    concerns, totals = LAWS["no_regret_exceeds_its_bound"].concerns, [0, 0, 0]
    print(f"{'learner':<16} {'variant':<28} {'trials':>7} {'finite':>7} {'violated':>8} {'largest ratio':>13}")
    for name, variants in VARIANTS.items():
        for kind, variant in variants.items():
            if not concerns(variant):
                continue
            made = [
                trial
                for seed in range(seeds)
                for stream in (*BOUNDED, *UNBOUNDED)
                for ridge in (None, TINY)
                for trial in trials(variant, stream, seed, ridge)
            ]
            finite = [trial for trial in made if math.isfinite(trial.bound)]
            ratio = max((t.regret / t.bound for t in finite if t.regret > t.slack and t.bound > 0), default=0.0)
            row = (len(made), len(finite), sum(trial.violated for trial in made))
            totals = [a + b for a, b in zip(totals, row, strict=True)]
            print(f"{name:<16} {kind:<28} {row[0]:>7} {row[1]:>7} {row[2]:>8} {ratio:>13.4f}", flush=True)
    print(f"{'all':<45} {totals[0]:>7} {totals[1]:>7} {totals[2]:>8}")
    return totals[2]


def main() -> None:
    if sys.argv[1:2] == ["law"]:
        sys.exit(law(int(sys.argv[2]) if len(sys.argv) > 2 else 5) > 0)
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    wanted = sys.argv[2:]
    warnings.simplefilter("error")  # a label beyond its bound would void the promise
    print(f"{'learner and bound: largest regret/bound':<50} {'streams':>7} " + " ".join(f"{k:>11}" for k in KINDS))
    broken = 0
    for case in cases():
        if wanted and not case.name.startswith(tuple(wanted)):
            continue
        worst = dict.fromkeys(KINDS, -np.inf)
        for seed in range(streams):
            played = play(case, seed)
            worst[played.kind] = max(worst[played.kind], *case.ratios(played))
        broken += max(worst.values()) > 1 + ROUNDING
        shown = " ".join(f"{ratio:>11.4f}" if ratio > -np.inf else f"{'-':>11}" for ratio in worst.values())
        print(f"{case.name:<50} {streams:>7} {shown}", flush=True)
    print(f"bounds exceeded: {broken}")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
