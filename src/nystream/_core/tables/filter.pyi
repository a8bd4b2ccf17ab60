from nystream._core.tables.sparse_rounds import SparseRounds
from nystream.runtime.types import Array

class Filter(SparseRounds):
    def __init__(
        self,
        loss: str,
        direct: int,
        pairs: bool,
        outputs: int,
        table: Array,
        moments: Array,
        norm: Array,
        prior: float,
        noise: Array,
    ) -> None: ...
