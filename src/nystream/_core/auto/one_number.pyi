from typing import Any

from nystream.runtime.types import Array

def learn_one(
    generation: Any,
    X: Array,
    Y: Array,
    around: float,
    paces: Array,
    eta: float,
    share: float,
    rate: float,
    reach: float,
) -> tuple[Array, Array, Array, Array] | None: ...
