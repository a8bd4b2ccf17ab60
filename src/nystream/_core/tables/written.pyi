import numpy as np
import numpy.typing as npt

def columns_of_numbers(lines: list[str], width: int, mark: str, blanks: bool) -> npt.NDArray[np.float64] | None: ...
