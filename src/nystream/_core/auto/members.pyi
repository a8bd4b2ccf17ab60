from nystream.types import Array

def mix_targets(
    F: Array,
    stacked: Array,
    experts: Array,
    members: Array,
    eta: float,
    share: float,
    T: Array | None = None,
    given: Array | None = None,
    recent: Array | None = None,
    rate: float = 0.0,
) -> tuple[Array, Array]: ...
def mix_classes(
    F: Array,
    stacked: Array,
    experts: Array,
    members: Array,
    eta: float,
    share: float,
    T: Array | None = None,
    labels: Array | None = None,
    given: Array | None = None,
    recent: Array | None = None,
    rate: float = 0.0,
) -> Array: ...
