from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.expansions.eviction import Eviction
from nystream._core.expansions.expansion import Terms
from nystream._core.expansions.loop import Blocks

_Array = npt.NDArray[np.float64]

METHODS: dict[str, int]

class Rounds(Blocks):
    def __init__(
        self,
        terms: Terms,
        keeper: Eviction,
        loss: Any,
        method: str,
        *,
        eta: float,
        sqrt_schedule: bool,
        lam: float,
        C: float = 1.0,
        multiclass: str = "exact",
        offset: _Array | None = None,
        nu: float = 0.0,
        level: _Array | None = None,
    ) -> None: ...
