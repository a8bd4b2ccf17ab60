from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

class KernelNewton:
    def __init__(
        self,
        loss: Any,
        clip: float,
        lam: float,
        eta: float,
        scale: float,
        *,
        gamma: float = 1.0,
        eps: float = 0.5,
        beta: float = 1.0,
    ) -> None: ...
    def rounds(
        self,
        f: _Array,
        G: _Array,
        own: _Array,
        y: _Array,
        t: int,
        trace: float,
        H: _Array | None = None,
        u: _Array | None = None,
    ) -> tuple[_Array, float, _Array, _Array, _Array, _Array, _Array]: ...
