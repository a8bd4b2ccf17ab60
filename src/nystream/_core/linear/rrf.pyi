from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

class Rescaled:
    def __init__(
        self,
        loss: Any,
        E: _Array,
        a: _Array,
        W: _Array,
        total: _Array | None,
        gain: float,
        eta: float,
        eta_scale: float,
        lam: float,
        limit: float,
    ) -> None: ...
    def step(self, x: _Array, y: _Array, weight: float) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None) -> _Array: ...
