"""Cases of the learners that follow drifting streams, of the default learner and of the automatic one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from nystream import Fourier
from nystream.auto import Auto
from nystream.auto.recipe import Recipe
from nystream.compose import Mixture
from nystream.learners import Baseline, Forgetting, KernelAWV, KernelSmoother
from oracles.auto import stacked_classes
from oracles.cases.base import ROUNDS, Case, Trial, stream, weights_for
from oracles.cases.second import SIGMA, G, regressions
from oracles.drift import baseline, fixed_share, forgetting, smoother
from oracles.features import fourier

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)


def fading(decay: float, refresh: int | None, every: int, weighted: bool, seed: int) -> Trial:
    """`every` is the refresh that `refresh` stands for."""
    X, y = stream("real", seed)
    weights = weights_for(seed) if weighted else None
    w = np.ones(ROUNDS) if weights is None else weights
    expected = forgetting(fourier(X, SIGMA, 40, 3), y[:, None], w, 0.1 * np.eye(40), decay, every)
    features = Fourier(G, 40, seed=3)
    return Trial(lambda: Forgetting(features, lam=0.1, decay=decay, refresh=refresh), X, y, expected, weights)


def mixture(eta: float | None, seed: int) -> Trial:
    """The learners are solved from Gram matrices, too."""
    X, y = stream("real", seed)
    lams = (0.01, 1.0, 10.0)
    Q = np.clip([regressions(seed, lam, "kernel")[1] for lam in lams], -1, 1)
    expected = fixed_share(Q, y, eta or 1 / 8, 0.01)[0]
    learners = [KernelAWV(G, lam=lam) for lam in lams]
    return Trial(lambda: Mixture(learners, bound=1.0, share=0.01, eta=eta), X, y, expected)


def smoothing(window: int, neighbours: int, weighted: bool, seed: int) -> Trial:
    """Points on a grid of 1/8: repeats and ties, distances exact in any order of summation."""
    X, y = stream("real", seed)
    X = np.round(8 * X) / 8
    weights = weights_for(seed) if weighted else None
    expected = smoother(X, y[:, None], window, neighbours, np.ones(ROUNDS) if weights is None else weights)
    return Trial(lambda: KernelSmoother(window, neighbours=neighbours), X, y, expected, weights)


def default(warmup: int, seed: int) -> Trial:
    X, y = stream("real", seed)
    X = X * [1.0, 50.0, 0.01] + [0.0, 1000.0, 3.0]
    rebuilds = {r for r in (1, 2, 5, 10, 20, 50, 100, 200) if r < warmup} | {warmup}
    return Trial(lambda: Baseline(dim=40, warmup=warmup), X, y, baseline(X, y, rebuilds))


def automatic(lags: bool, seed: int) -> Trial:
    """What the experts say, one row ahead, is taken from the learner; what is made of it is computed here."""
    X, y = stream("class", seed)
    model = Auto(recipe=SMALL, task="classification", lags=lags, seed=seed)
    y[:4] = np.arange(4.0)
    return Trial(partial(_told, model), X, y, stacked_classes(_told(model), X, y, lags))


def _told(model: Auto) -> Auto:
    """A fresh one that knows that there are four classes."""
    fresh = model.clone()
    fresh.reserve(3, 4)
    return fresh


def cases() -> Iterator[Case]:
    for decay, refresh, every in ((0.95, None, 13), (0.97, 1, 1), (0.9, 5, 5)):
        for weighted in (False, True):
            setting = f"repeats, decay {decay}, refresh {refresh}" + (", weights and zeros" if weighted else "")
            trial = partial(fading, decay, refresh, every, weighted)
            yield Case("other", "Forgetting", "Fourier 40", "squared", setting, 1e-9, trial)
    for eta in (None, 0.5):
        yield Case("other", "Mixture", f"eta {eta}", "squared", "repeats, clipped to 1", 1e-10, partial(mixture, eta))
    for window, neighbours, weighted in product((33, 1000), (5, 64), (False, True)):
        setting = "repeats, ties" + (", weights and zeros" if weighted else "")
        trial = partial(smoothing, window, neighbours, weighted)
        text = f"window {window}, {neighbours} neighbours"
        yield Case("other", "KernelSmoother", text, "squared", setting, 1e-9, trial)
    for warmup in (60, 1000):
        setting = f"repeats, warm-up {warmup}"
        yield Case("other", "Baseline", "40 features", "squared", setting, 1e-7, partial(default, warmup))
    for lags in (True, False):
        text = "stack" + (" with lags" if lags else "")
        setting = "repeats, experts' outputs given"
        yield Case("other", "Auto", text, "classes", setting, 1e-8, partial(automatic, lags))


CASES = list(cases())
