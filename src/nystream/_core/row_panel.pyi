from typing import Any

class RowPanel:
    n: int
    def one_row(self, x: Any, y: Any, largest: float) -> float | None: ...
