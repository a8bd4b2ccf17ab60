from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.expansions.expansion import Terms
from nystream._core.expansions.loop import Blocks

_Array = npt.NDArray[np.float64]

class MetaDescent(Blocks):
    def __init__(
        self,
        terms: Terms,
        loss: Any,
        meta: _Array,
        *,
        lam: float,
        mu: float,
        decay: float,
        clamp: float,
        budget: int,
    ) -> None: ...
