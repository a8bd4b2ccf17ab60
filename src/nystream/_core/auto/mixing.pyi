from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.row_panel import RowPanel

_Array = npt.NDArray[np.float64]

def mix(
    Q: _Array,
    log_prior: _Array,
    regrets: _Array,
    bound: float,
    eta: float,
    aggregating: bool,
    Y: _Array | None = None,
) -> _Array: ...

class Aggregated(RowPanel):
    def __init__(
        self,
        learners: list[Any],
        groups: list[list[int]],
        told: list[Any],
        log_prior: _Array,
        regrets: _Array,
        bound: float,
        eta: float,
        aggregating: bool,
    ) -> None: ...
