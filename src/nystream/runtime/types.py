"""Types that all layers share. The base classes of maps and solvers are in `features` and `solvers`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["DTYPES", "Array", "Change", "LabelKind", "Link", "Seed", "Stream"]

Array: TypeAlias = npt.NDArray[np.float64]
DTYPES = ("float64", "float32")
"""Number types of parts that offer a choice: double and single precision."""
Seed: TypeAlias = "int | np.random.Generator | None"
LabelKind: TypeAlias = Literal["real", "sign", "class", "none"]
"""The kinds of labels: any number, -1/+1, 0..K-1, or absent (novelty)."""
Link: TypeAlias = Literal["logistic", "softmax"]
"""The function that turns raw predictions into probabilities."""


class Change(NamedTuple):
    """A change of a feature map: weights become `transport @ weights`. None means that the solver starts again."""

    transport: Array | None


class Stream(Protocol):
    """An endless or finite source of examples, in blocks of at most `size` rows."""

    def blocks(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Yield pairs (X, Y) of at most `size` rows, in order."""
        ...
