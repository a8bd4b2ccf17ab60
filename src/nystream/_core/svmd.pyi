from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.expansion import Terms

_Array = npt.NDArray[np.float64]

class MetaDescent:
    def __init__(
        self,
        terms: Terms,
        loss: Any,
        meta: _Array,
        *,
        lam: float,
        mu: float,
        decay: float,
        clamp: float,
        budget: int,
    ) -> None: ...
    def step(self, x: _Array, y: _Array, weight: float, t: int) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None, t: int) -> _Array: ...
