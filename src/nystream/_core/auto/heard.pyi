from nystream.runtime.types import Array

def gathered(
    F: Array,
    first: int,
    low: Array,
    high: Array,
    shift: Array,
    scale: Array,
    answers: Array | None = None,
    scaled: bool = False,
    lags: Array | None = None,
    rates: Array | None = None,
    T: Array | None = None,
) -> Array: ...
