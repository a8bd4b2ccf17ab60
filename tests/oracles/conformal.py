"""Adaptive conformal intervals, written slowly: sets of labels, quantiles by sorting, no ranks."""

from __future__ import annotations

import math

import numpy as np

STEPS = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128]


def radius(scores, level):
    """The smallest radius that holds a share 1 - level of the scores and one more, which is as large as any."""
    if level <= 0:
        return math.inf
    if level >= 1:
        return -math.inf  # the empty set
    place = math.ceil((len(scores) + 1) * (1 - level) - 1e-12)
    return sorted(scores)[place - 1] if place <= len(scores) else math.inf


def aci(scores, coverage, rate, window):
    """Radii, one for each score, made before it."""
    level, radii = 1 - coverage, []
    for t, score in enumerate(scores):
        radii.append(radius(scores[max(0, t - window) : t], level))
        level += rate * ((1 - coverage) - (score > radii[-1]))
    return np.array(radii)


def dtaci(scores, coverage, window):
    """Radii, one for each score, made before it."""
    return np.array([radius(past, level) for past, level in dtaci_levels(scores, coverage, window)[:-1]])


def dtaci_levels(scores, coverage, window):
    """Before each score, and after all: the window and the level. Levels and weights are dictionaries of the steps."""
    miss, found, misses = 1 - coverage, [], 0
    levels, weights = dict.fromkeys(STEPS, miss), dict.fromkeys(STEPS, 1.0)
    spread = (1 - miss) ** 2 * miss**3 + miss**2 * (1 - miss) ** 3
    eta = math.sqrt(3 / window) * math.sqrt((math.log(2 * len(STEPS) * window) + 1) / spread)
    for t, score in enumerate([*scores, None]):
        past = scores[max(0, t - window) : t]
        level = sum(weights[s] * levels[s] for s in STEPS) / sum(weights.values())
        slack = 10 + 3 * math.sqrt(miss * (1 - miss) * t)
        if abs(misses - miss * t) > slack:
            level = -1.0 if misses > miss * t else 2.0
        found.append((past, level))
        if score is None:
            return found
        misses += score > radius(past, level)
        rank = 1 - sum(s < score for s in past) / (len(past) + 1)
        for s in STEPS:
            gap = rank - levels[s]
            weights[s] *= math.exp(-eta * (miss * gap - min(0.0, gap)))
        mean = sum(weights.values()) / len(STEPS)
        for s in STEPS:
            weights[s] = (1 - 1 / (2 * window)) * weights[s] + mean / (2 * window)
            levels[s] += s * (miss - (score > radius(past, levels[s])))
    return found
