from nystream.runtime.types import Array

def fading_shares(
    losses: Array, shares: Array, powers: Array, age: int, rate: float, given: Array | None = None
) -> Array: ...
def mix_fading(
    members: tuple[Array, ...],
    T: Array,
    shares: Array,
    powers: Array,
    age: int,
    rate: float,
    shift: Array,
    scale: Array,
    parts: Array,
    given: Array | None = None,
) -> tuple[Array, Array]: ...
def together(members: tuple[Array | float, ...], n: int, K: int) -> Array: ...
def standardised(V: Array, shift: Array, scale: Array) -> Array: ...
def spread_of_two(P: Array, share: Array, A: Array, a: Array, B: Array, b: Array) -> Array: ...
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
