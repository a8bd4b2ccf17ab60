import numpy as np
import numpy.typing as npt

from nystream._core.expansions.expansion import Terms
from nystream._core.expansions.loop import Correction, Loop

class Mistakes(Loop): ...

class RandomMistakes(Mistakes):
    def __init__(self, terms: Terms, rule: Correction, budget: int, rng: np.random.Generator) -> None: ...

class Forgetting(Mistakes):
    def __init__(self, terms: Terms, rule: Correction, budget: int, ledger: npt.NDArray[np.float64]) -> None: ...
