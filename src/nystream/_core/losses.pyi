from typing import Any

import numpy as np
import numpy.typing as npt

CODES: dict[str, int]
RULES: dict[str, int]

class CompiledLoss:
    name: str
    code: int
    constant: float
    margins: npt.NDArray[np.float64] | None
    similarity: npt.NDArray[np.float64] | None

    def __init__(
        self,
        name: str,
        constant: float = 0.0,
        *,
        margins: npt.NDArray[np.float64] | None = None,
        similarity: npt.NDArray[np.float64] | None = None,
    ) -> None: ...
    def value(self, y: float, p: float) -> float: ...
    def grad(self, y: float, p: float) -> float: ...
    def second(self, y: float, p: float) -> float: ...
    def implicit(self, y: float, p: float, s: float, c: float) -> float: ...
    def multi_value(self, y: int, p: Any) -> float: ...
    def multi_grad(self, y: int, p: Any) -> npt.NDArray[np.float64]: ...
    def multi_implicit(self, rule: str, y: int, p: Any, scores: Any, s: float, c: float) -> npt.NDArray[np.float64]: ...

class OutputLoss:
    K: int
    columns: int
    multiclass: bool

    def __init__(self, loss: Any, K: int, rule: str | None = None) -> None: ...
