from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.linear.row_loop import RowLoop

_Array = npt.NDArray[np.float64]

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
