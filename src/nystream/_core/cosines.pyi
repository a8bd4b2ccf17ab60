from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

SLACK: int

def cosines(X: _Array, W: _Array, m: int, gain: float, out: _Array) -> _Array: ...
def cosine_sums(
    X: _Array, chunks: _Array, block: int, coef: _Array, factors: _Array, gain: float, F: _Array
) -> _Array: ...

class DirectionRounds:
    scale: float
    cum: float
    t: int
    stored: bool
    left: _Array
    coef: _Array
    def __init__(
        self,
        loss: Any,
        K: int,
        step: float,
        t0: float,
        lam: float,
        gain: float,
        own: _Array,
        draw: Callable[[int, _Array], None],
        long: float,
        tiny: float,
    ) -> None: ...
    def run(
        self,
        X: _Array,
        Y: _Array,
        weights: _Array | None,
        F: _Array,
        P: _Array,
        first: int,
        scale: float,
        cum: float,
        t: int,
        room: int,
    ) -> tuple[int, _Array, _Array]: ...
    def one(
        self, x: Any, y: Any, chunks: _Array, rounds: _Array, coef: _Array, scale: float, cum: float, t: int
    ) -> float | None: ...
