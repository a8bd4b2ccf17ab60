import numpy as np
import numpy.typing as npt

from nystream.runtime.types import Array

class Names:
    def __init__(self, hashes: npt.NDArray[np.uint32], votes: Array, names: list[str]) -> None: ...
