from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.linear.row_loop import RowLoop

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
