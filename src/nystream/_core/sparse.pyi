from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from nystream.runtime.types import Array

KINDS: Mapping[str, int]

class SparseRounds:
    def one_dense(self, x: object, y: object, d: int, largest: float) -> float | None: ...
    def predict(
        self,
        begin: npt.NDArray[np.int64],
        end: npt.NDArray[np.int64],
        columns: npt.NDArray[np.uint32],
        values: Array,
    ) -> tuple[Array, Array]: ...
    def run(
        self,
        begin: npt.NDArray[np.int64],
        end: npt.NDArray[np.int64],
        columns: npt.NDArray[np.uint32],
        values: Array,
        Y: Array,
        weights: Array | None = None,
    ) -> tuple[Array, Array]: ...

MOST_RATES: int

class Descent(SparseRounds):
    def __init__(
        self,
        loss: str,
        direct: int,
        pairs: bool,
        outputs: int,
        table: Array,
        moments: Array,
        norm: Array,
        rates: Array,
        shares: Array,
        curves: Array,
    ) -> None: ...

class Filter(SparseRounds):
    def __init__(
        self,
        loss: str,
        direct: int,
        pairs: bool,
        outputs: int,
        table: Array,
        moments: Array,
        norm: Array,
        prior: float,
        noise: Array,
    ) -> None: ...
