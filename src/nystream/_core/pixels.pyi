from typing import Any

import numpy as np
import numpy.typing as npt

TILE: int

class Sweep:
    def __init__(
        self,
        points: npt.NDArray[Any],
        coef: npt.NDArray[Any],
        born: npt.NDArray[Any],
        scale: npt.NDArray[Any],
        n: int,
        *,
        absolute: bool,
        ring: bool,
        rate: float,
        keep: float,
        cap: float,
        rho: float,
    ) -> None: ...
    def band(
        self,
        frame: npt.NDArray[Any],
        scores: npt.NDArray[Any],
        frozen: npt.NDArray[np.bool_] | None,
        now: int,
        learn: bool,
        first: int,
        last: int,
    ) -> None: ...
