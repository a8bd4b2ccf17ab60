from typing import Any

import numpy as np
import numpy.typing as npt

class Newton:
    gain: float
    def __init__(
        self,
        loss: Any,
        u: npt.NDArray[np.float64],
        P: npt.NDArray[np.float64],
        meter: npt.NDArray[np.float64],
        clip: float,
        eta: float,
        scale: float,
        sigma: float,
    ) -> None: ...
    def step(self, z: npt.NDArray[np.float64], y: npt.NDArray[np.float64], t: int) -> npt.NDArray[np.float64]: ...
    def run(
        self,
        Z: npt.NDArray[np.float64],
        Y: npt.NDArray[np.float64],
        t: int,
        gains: npt.NDArray[np.float64] | None = None,
    ) -> npt.NDArray[np.float64]: ...
