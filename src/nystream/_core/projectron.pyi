from nystream._core.expansion import Terms
from nystream._core.inverse import Inverse
from nystream._core.loop import Correction, Loop

class Projections(Loop):
    def __init__(
        self, terms: Terms, rule: Correction, budget: int | None, inverse: Inverse, tol: float, plus: bool
    ) -> None: ...
