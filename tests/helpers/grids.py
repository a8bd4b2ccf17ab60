"""Grids of parameters: every value of every axis in each run of the tests, every combination in `make test-all`."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from typing import Any

import pytest


def grid(*axes: Collection[Any]) -> list[Any]:
    """All combinations of the axes' values, for `pytest.mark.parametrize`; marked exhaustive but for a diagonal.

    The diagonal walks along all axes at once, the shorter ones again and again: every value is on it.
    """
    lists = [list(axis) for axis in axes]
    diagonal = {tuple(t % len(axis) for axis in lists) for t in range(max(map(len, lists)))}
    return [
        pytest.param(
            *(axis[i] for axis, i in zip(lists, place, strict=True)),
            marks=() if place in diagonal else pytest.mark.exhaustive,
        )
        for place in product(*(range(len(axis)) for axis in lists))
    ]


def few(values: Collection[Any], kept: int = 1) -> list[Any]:
    """The values, for `pytest.mark.parametrize`; all but the first `kept` are marked exhaustive."""
    return [pytest.param(v, marks=() if i < kept else pytest.mark.exhaustive) for i, v in enumerate(values)]
