from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.expansions.eviction import Eviction
from nystream._core.expansions.expansion import Terms
from nystream._core.expansions.loop import Correction, Loop

_Array = npt.NDArray[np.float64]

class Pegasos(Loop):
    def __init__(self, terms: Terms, keeper: Eviction, rule: Correction, lam: float, t0: float) -> None: ...

class DualPegasos(Pegasos):
    def __init__(
        self,
        terms: Terms,
        keeper: Eviction,
        rule: Correction,
        lam: float,
        t0: float,
        *,
        features: Any,
        budget: int,
        evict: int,
        W: _Array,
        past: _Array,
    ) -> None: ...
