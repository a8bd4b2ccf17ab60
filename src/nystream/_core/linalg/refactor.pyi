import numpy as np
import numpy.typing as npt

from nystream.types import Array

def refactor(A: Array, b: Array, tiles: npt.NDArray[np.float64], dinv: Array, q: Array) -> int: ...
def fade(rows: Array, decay: float, gram: Array, right: Array) -> None: ...
