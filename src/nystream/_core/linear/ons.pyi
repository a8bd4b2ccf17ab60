from typing import Any

from nystream._core.one_row import OneRow
from nystream.runtime.types import Array

class Newton(OneRow):
    samples: int
    def __init__(
        self,
        loss: Any,
        dim: int,
        tiles: Array,
        dinv: Array,
        q: Array,
        meter: Array,
        clip: float,
        eta: float,
        scale: float,
        sigma: float,
    ) -> None: ...
    def step(self, z: Array, y: Array, t: int) -> Array: ...
    def run(self, Z: Array, Y: Array, t: int) -> Array: ...
    def weights(self) -> Array: ...
