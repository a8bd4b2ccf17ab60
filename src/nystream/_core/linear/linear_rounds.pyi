import numpy as np
import numpy.typing as npt

from nystream._core.expansions.loop import Correction
from nystream._core.linear.row_loop import RowLoop

_Array = npt.NDArray[np.float64]

class LinearRounds(RowLoop):
    def __init__(self, W: _Array, past: _Array, rule: Correction) -> None: ...
