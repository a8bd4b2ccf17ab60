import numpy as np
import numpy.typing as npt

from nystream._core.expansions.expansion import Terms
from nystream._core.expansions.inverse import Inverse
from nystream._core.expansions.loop import Correction
from nystream._core.expansions.mistakes import Mistakes

class Simple(Mistakes):
    def __init__(self, terms: Terms, rule: Correction, budget: int) -> None: ...

class Neighbour(Simple):
    def __init__(self, terms: Terms, rule: Correction, budget: int, gram: npt.NDArray[np.float64]) -> None: ...

class Projecting(Simple):
    def __init__(self, terms: Terms, rule: Correction, budget: int, inverse: Inverse) -> None: ...
