from nystream.types import Array

def fading_shares(
    losses: Array, shares: Array, powers: Array, age: int, rate: float, given: Array | None = None
) -> Array: ...
def placed(X: Array, where: Array, most: float) -> Array: ...
def few_rounds(
    Z: Array,
    T: Array,
    kept: Array,
    inverse: Array,
    whitened: Array,
    count: int,
    width: float,
    ridge: float,
    given: Array | None = None,
    learn: bool = True,
) -> tuple[Array, int]: ...
