"""Weights of rows by class: given by the user, or balanced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from nystream.data.targets import class_names
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["BALANCED", "ClassWeight", "checked_weight", "weigh_rows"]

BALANCED = "balanced"
ClassWeight: TypeAlias = "str | Mapping[Any, float] | None"


def checked_weight(class_weight: Any) -> Any:
    """Return None, "balanced", or a dict of class to weight; raise a ValueError for anything else."""
    if class_weight is None or class_weight == BALANCED:
        return class_weight
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict of class to weight, got {class_weight!r}")
    for name, weight in class_weight.items():
        positive(f"class_weight of {name!r}", weight, zero=True)
    return dict(class_weight)


def weigh_rows(
    Y: Array, classes: list[Any], weights: Array | None, class_weight: ClassWeight, counts: list[int]
) -> tuple[Array | None, list[int]]:
    """Return the weights of rows with labels Y (n, 1), and the number of rows of each class so far.

    "balanced": a row weighs n / (K n_c), where n counts the rows so far with this one, n_c those of its class, and K
    the classes so far. Over a long stream all classes get about the same total weight, and no later row is needed.
    """
    counts = counts + [0] * (len(classes) - len(counts))
    if class_weight is None:
        return weights, counts
    factors = np.ones(len(Y))
    if isinstance(class_weight, Mapping):
        by_name = dict(zip(class_names(list(class_weight)), class_weight.values(), strict=True))
        each = np.array([by_name.get(name, 1.0) for name in classes])
        there = ~np.isnan(Y[:, 0])
        factors[there] = each[Y[there, 0].astype(np.intp)]
    else:
        total, different = sum(counts), sum(n > 0 for n in counts)
        for i, y in enumerate(Y[:, 0].tolist()):
            if y == y:
                k = int(y)
                different += counts[k] == 0
                counts[k] += 1
                total += 1
                factors[i] = total / (different * counts[k])
    return factors if weights is None else weights * factors, counts
