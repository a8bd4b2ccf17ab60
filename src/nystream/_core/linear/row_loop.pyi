import numpy as np
import numpy.typing as npt

from nystream._core.one_row import OneRow

_Array = npt.NDArray[np.float64]

class RowLoop(OneRow):
    def step(self, x: _Array, y: _Array, weight: float, t: int) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None, t: int) -> _Array: ...
