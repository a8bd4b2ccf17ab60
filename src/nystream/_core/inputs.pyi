from typing import Any

import numpy as np
import numpy.typing as npt

def is_clean_row(x: Any, d: int) -> bool: ...
def all_finite(a: npt.NDArray[np.float64]) -> bool: ...
