import numpy as np
import numpy.typing as npt

from nystream._core.expansions.loop import Correction

_Array = npt.NDArray[np.float64]

class LinearRounds:
    def __init__(self, W: _Array, past: _Array, rule: Correction) -> None: ...
    def step(self, x: _Array, y: _Array, weight: float, t: int) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None, t: int) -> _Array: ...
