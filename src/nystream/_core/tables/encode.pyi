from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.tables.names import Names
from nystream.runtime.types import Array

KINDS: Mapping[str, int]

Places = npt.NDArray[np.int64]
Levels = npt.NDArray[np.uint16]
Rows = tuple[Array, Levels, Places, Places, Places, npt.NDArray[np.uint32], Array]

class TableEncoder:
    def __init__(
        self,
        kinds: Places,
        seeds: npt.NDArray[np.uint32],
        names: list[Names | None],
        moments: Array,
        levels: Array,
        totals: Array,
        places: Places,
        means: Places,
        classes: bool,
        most_pairs: int,
        fill: bool,
    ) -> None: ...
    def encode(self, columns: list[npt.NDArray[Any]], n: int) -> Rows: ...
    def run(self, columns: list[npt.NDArray[Any]], n: int, Y: Array, weights: Array | None) -> Rows: ...
    def observe(self, columns: list[npt.NDArray[Any]], n: int, weights: Array | None) -> None: ...
    def learn(self, levels: Levels, Y: Array, weights: Array | None) -> None: ...
