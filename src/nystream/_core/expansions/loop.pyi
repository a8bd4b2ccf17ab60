from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.expansions.expansion import Terms
from nystream._core.losses import OutputLoss
from nystream._core.one_row import OneRow

_Array = npt.NDArray[np.float64]

RULES: dict[str, int]

class Correction:
    def __init__(self, loss: Any, rule: str, K: int, C: float = 1.0, multiclass: str = "exact") -> None: ...
    @property
    def K(self) -> int: ...
    @property
    def loss(self) -> OutputLoss: ...

class Blocks(OneRow):
    def step(self, x: _Array, y: _Array, weight: float, t: int) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None, t: int) -> _Array: ...

class Loop(Blocks):
    def __init__(self, terms: Terms, rule: Correction, limit: int | None = None) -> None: ...
