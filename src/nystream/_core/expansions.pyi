from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.inputs import OneRow
from nystream._core.losses import OutputLoss
from nystream._core.terms import Eviction, Inverse, Span, Terms

_Array = npt.NDArray[np.float64]

RULES: dict[str, int]

class Correction:
    def __init__(self, loss: Any, rule: str, K: int, C: float = 1.0, multiclass: str = "exact") -> None: ...
    @property
    def K(self) -> int: ...
    @property
    def loss(self) -> OutputLoss: ...

class Blocks(OneRow):
    def step(self, x: _Array, y: _Array, weight: float, t: int) -> _Array: ...
    def run(self, X: _Array, Y: _Array, weights: _Array | None, t: int) -> _Array: ...

class Loop(Blocks):
    def __init__(self, terms: Terms, rule: Correction, limit: int | None = None) -> None: ...

class Mistakes(Loop): ...

class RandomMistakes(Mistakes):
    def __init__(self, terms: Terms, rule: Correction, budget: int, rng: np.random.Generator) -> None: ...

class Forgetting(Mistakes):
    def __init__(self, terms: Terms, rule: Correction, budget: int, ledger: npt.NDArray[np.float64]) -> None: ...

METHODS: dict[str, int]

class Rounds(Blocks):
    def __init__(
        self,
        terms: Terms,
        keeper: Eviction,
        loss: Any,
        method: str,
        *,
        eta: float,
        sqrt_schedule: bool,
        lam: float,
        C: float = 1.0,
        multiclass: str = "exact",
        offset: _Array | None = None,
        nu: float = 0.0,
        level: _Array | None = None,
    ) -> None: ...

class MetaDescent(Blocks):
    def __init__(
        self,
        terms: Terms,
        loss: Any,
        meta: _Array,
        *,
        lam: float,
        mu: float,
        decay: float,
        clamp: float,
        budget: int,
    ) -> None: ...

class Pegasos(Loop):
    def __init__(self, terms: Terms, keeper: Eviction, rule: Correction, lam: float, t0: float) -> None: ...

class DualPegasos(Pegasos):
    def __init__(
        self,
        terms: Terms,
        keeper: Eviction,
        rule: Correction,
        lam: float,
        t0: float,
        *,
        features: Any,
        budget: int,
        evict: int,
        W: _Array,
        past: _Array,
    ) -> None: ...

class Projections(Loop):
    def __init__(
        self, terms: Terms, rule: Correction, budget: int | None, span: Span, tol: float, plus: bool
    ) -> None: ...

class Simple(Mistakes):
    def __init__(self, terms: Terms, rule: Correction, budget: int) -> None: ...

class Neighbour(Simple):
    def __init__(self, terms: Terms, rule: Correction, budget: int, gram: npt.NDArray[np.float64]) -> None: ...

class Projecting(Simple):
    def __init__(self, terms: Terms, rule: Correction, budget: int, inverse: Inverse) -> None: ...
