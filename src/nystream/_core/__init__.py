"""The compiled core: arrays and numbers in and out; no learner needs it to be right, only to be fast."""

import os

LEVELS = ("plain", "base", "avx2", "avx512")
"""The instruction sets that NYSTREAM_ISA may ask for, from the least (simd/isa.h)."""

_asked = os.environ.get("NYSTREAM_ISA", "")
if _asked not in ("", *LEVELS):  # the compiled kernels would take it for no wish at all
    raise ValueError(f"NYSTREAM_ISA must be one of {', '.join(LEVELS)}, or unset for the best there is; got {_asked!r}")
