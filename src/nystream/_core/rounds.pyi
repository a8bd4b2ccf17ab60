from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.eviction import Eviction
from nystream._core.expansion import Terms

_Array = npt.NDArray[np.float64]

METHODS: dict[str, int]

class Rounds:
    def __init__(
        self,
        terms: Terms,
        keeper: Eviction,
        loss: Any,
        method: str,
        *,
        eta: float,
        sqrt_schedule: bool,
        lam: float,
        C: float = 1.0,
        multiclass: str = "exact",
        offset: _Array | None = None,
        nu: float = 0.0,
        level: _Array | None = None,
    ) -> None: ...
    def step(self, x: _Array, y: _Array, weight: float, t: int) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None, t: int) -> _Array: ...
