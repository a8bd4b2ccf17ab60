from nystream._core.expansions.expansion import Terms
from nystream._core.expansions.loop import Correction, Loop
from nystream._core.expansions.span import Span

class Projections(Loop):
    def __init__(
        self, terms: Terms, rule: Correction, budget: int | None, span: Span, tol: float, plus: bool
    ) -> None: ...
