from typing import Any

import numpy as np
import numpy.typing as npt

EXACT: int
RUNNER_UP: int
CODES: dict[str, int]

def value(kind: int, a: float, y: float, p: float) -> float: ...
def grad(kind: int, a: float, y: float, p: float) -> float: ...
def second(kind: int, a: float, y: float, p: float) -> float: ...
def implicit(kind: int, a: float, y: float, p: float, s: float, c: float) -> float: ...
def multi_value(kind: int, D: npt.NDArray[np.float64] | None, y: int, p: Any) -> float: ...
def multi_grad(kind: int, D: npt.NDArray[np.float64] | None, y: int, p: Any) -> npt.NDArray[np.float64]: ...
def multi_implicit(
    kind: int,
    rule: int,
    D: npt.NDArray[np.float64] | None,
    M: npt.NDArray[np.float64] | None,
    y: int,
    p: Any,
    f: Any,
    s: float,
    c: float,
) -> npt.NDArray[np.float64]: ...
