import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

NOT_FINITE: str

class Turns:
    m: int
    r: int
    def __init__(self, W: _Array, E: _Array, rank: int, ridge: float, trace: float) -> None: ...
    def move(self, q: int, row: _Array, own: float) -> bool: ...
    def carry(self, A: _Array) -> None: ...
    @property
    def matrix(self) -> _Array: ...
