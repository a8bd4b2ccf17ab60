from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.one_row import OneRow

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
