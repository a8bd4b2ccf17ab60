import numpy as np
import numpy.typing as npt

def entries_of_pairs(
    data: bytes | memoryview, lines: int, base: int, d: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.float64], npt.NDArray[np.float64]] | None: ...
def extremes_of_pairs(data: bytes | memoryview, lines: int) -> tuple[int, int] | None: ...
