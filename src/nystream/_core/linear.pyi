from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.expansions import Correction
from nystream._core.inputs import OneRow
from nystream.runtime.types import Array

_Array = npt.NDArray[np.float64]

class RowLoop(OneRow):
    def step(self, x: _Array, y: _Array, weight: float, t: int) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None, t: int) -> _Array: ...

class LinearRounds(RowLoop):
    def __init__(self, W: _Array, past: _Array, rule: Correction) -> None: ...

METHODS: dict[str, int]

class Descent(RowLoop):
    def __init__(
        self,
        loss: Any,
        W: npt.NDArray[np.float64],
        first: npt.NDArray[np.float64] | None,
        second: npt.NDArray[np.float64] | None,
        total: npt.NDArray[np.float64] | None,
        method: str,
        eta: float,
        sqrt_schedule: bool,
        lam: float,
    ) -> None: ...
    def predict(self, Z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    @staticmethod
    def carried(A: npt.NDArray[np.float64], T: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...

class Newton(OneRow):
    samples: int
    def __init__(
        self,
        loss: Any,
        dim: int,
        tiles: Array,
        dinv: Array,
        q: Array,
        meter: Array,
        clip: float,
        eta: float,
        scale: float,
        sigma: float,
    ) -> None: ...
    def step(self, z: Array, y: Array, t: int) -> Array: ...
    def run(self, Z: Array, Y: Array, t: int) -> Array: ...
    def weights(self) -> Array: ...

class Sketch(OneRow):
    def __init__(
        self,
        loss: Any,
        u: npt.NDArray[np.float64],
        E: npt.NDArray[np.float64],
        U: npt.NDArray[np.float64],
        values: npt.NDArray[np.float64],
        a: npt.NDArray[np.float64],
        meter: npt.NDArray[np.float64],
        counts: npt.NDArray[np.int64],
        clip: float,
        lam: float,
        eta: float,
        scale: float,
        sigma: float,
    ) -> None: ...
    def run(self, Z: npt.NDArray[np.float64], Y: npt.NDArray[np.float64], t: int) -> npt.NDArray[np.float64]: ...
    def turn(self) -> None: ...

class Rescaled(RowLoop):
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
