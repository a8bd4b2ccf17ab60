from nystream._core.one_row import RowMap
from nystream.runtime.types import Array

class StandardRows(RowMap):
    def __init__(self, inner: RowMap, mean: Array, scale: Array, most: float) -> None: ...
