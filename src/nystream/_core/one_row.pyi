from typing import Any

class RowMap:
    d: int

class OneRow:
    def one_row(self, x: Any, y: Any, t: int) -> float | None: ...
    def one_mapped(self, map: RowMap, x: Any, y: Any, t: int) -> float | None: ...
