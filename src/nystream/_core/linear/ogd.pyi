from typing import Any

import numpy as np
import numpy.typing as npt

METHODS: dict[str, int]

class Descent:
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
    def step(
        self, z: npt.NDArray[np.float64], y: npt.NDArray[np.float64], weight: float, t: int
    ) -> npt.NDArray[np.float64]: ...
    def run(
        self, Z: npt.NDArray[np.float64], Y: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None, t: int
    ) -> npt.NDArray[np.float64]: ...
