"""The law of long-run coverage: whatever the labels are, no more of them are missed than the bound allows."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from laws.cases import Variant
from laws.registry import law

ROUNDS = 400
STREAMS = ("independent", "growing", "shifted", "outside", "inside", "exact")
"""Labels with noise; noise that grows a million times; a shift; always just outside, or inside, of a finite interval;
labels that are predicted exactly, and then are not."""


@law(lambda variant: hasattr(variant.pattern, "coverage_bound"))
def long_run_coverage_is_within_its_bound(variant: Variant) -> None:
    for kind in STREAMS:
        learner, rows = variant.make(), variant.stream(n=ROUNDS)
        Y = rows.Y.reshape(ROUNDS, -1).copy()
        rng = np.random.default_rng(0)
        if kind == "growing":
            Y += 10.0 ** np.linspace(-3, 3, ROUNDS)[:, None] * rng.normal(size=Y.shape)
        if kind == "shifted":
            Y[ROUNDS // 2 :] += 50.0
        inside = np.zeros(Y.shape)
        for t, x in enumerate(rows.X):
            low, high = (np.reshape(end, -1) for end in learner.predict_interval(x[None], learner.coverage, ahead=1))
            p = np.reshape(learner.predict(x[None], ahead=1), -1)
            assert (low <= p).all()
            assert (p <= high).all()
            if kind in ("outside", "inside"):
                radius = np.where(np.isfinite(high), high - p, 100.0 + t)
                Y[t] = p + (1.5 if kind == "outside" else 0.5) * radius + (kind == "outside")
            if kind == "exact":
                Y[t] = p + (t >= ROUNDS // 2) * rng.normal(size=Y.shape[1])
            inside[t] = (low <= Y[t]) & (Y[t] <= high)
            weight = 1.0 if rows.w is None else float(rows.w[t]) or 1.0
            learner.step(x, Y[t] if Y.shape[1] > 1 else float(Y[t, 0]), weight)
        share, bound = inside.mean(axis=0), learner.coverage_bound()
        assert bound < 0.25
        assert (share >= learner.coverage - bound).all(), kind
        if kind in ("exact", "inside"):  # labels equal predictions, up to rounding: whether inside, rounding decides
            continue
        assert (share <= learner.coverage + bound).all(), kind
        assert_allclose(learner.measured_coverage(), share if len(share) > 1 else share[0], atol=1e-12)
