from nystream._core.tables.sparse_rounds import SparseRounds
from nystream.runtime.types import Array

MOST_RATES: int

class Descent(SparseRounds):
    def __init__(
        self,
        loss: str,
        direct: int,
        pairs: bool,
        outputs: int,
        table: Array,
        moments: Array,
        norm: Array,
        rates: Array,
        shares: Array,
        curves: Array,
    ) -> None: ...
