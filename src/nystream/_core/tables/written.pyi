import numpy as np
import numpy.typing as npt

def rows_of_numbers(
    data: bytes | memoryview, lines: int, width: int, mark: str, blanks: bool
) -> npt.NDArray[np.float64] | None: ...
def end_of_lines(data: bytes | memoryview, start: int, count: int) -> tuple[int, int]: ...
