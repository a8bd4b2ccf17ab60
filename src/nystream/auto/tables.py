"""The shares of memory and time that `Auto` gives to tables and sparse rows."""

from __future__ import annotations

from collections.abc import Mapping

from nystream.data.encoding import Encoder
from nystream.learners.translator import Translator

__all__ = ["SHARE", "seconds_to_translate", "translator_for"]

SHARE = 0.3
"""Of the memory: what statistics of levels and tables of the sparse experts may take."""
LATE = 0.05
"""The same where the first category, time or text comes late, so that the experts have all of the memory already."""
ENCODER = 0.25
"""Of that: what the statistics may take; the experts have the rest."""
NAMES, NAME = 256, 140
"""Names that are kept of each category, at most, and what one of them takes in bytes."""
FEW_NAMES = 16
CALL = 100e-6
"""Seconds of one `step` that do not depend on sizes: encoding, three linear models, their answers as columns."""
TOKEN = 0.06e-6
"""Seconds per token of a row, and output, to encode and to learn it."""
TOKENS = {"number": 3, "boolean": 3, "category": 4, "time": 12, "text": 60}
"""Tokens that a column of each kind is counted for, pairs among them; of text some thirty words."""
ENTRIES = 100
"""The same for a sparse row."""


def translator_for(
    kinds: Mapping[str, str] | None, outputs: int, memory: float, *, classes: bool, late: bool = False
) -> Translator:
    """Return the encoder of columns of these kinds, or (None) of sparse rows, within its share of the memory.

    `late`: the experts and the stackers have learnt numbers so far, so that the translator may give them columns alone.
    """
    whole = int((LATE if late else SHARE) * memory)
    encoder, own = None, 0
    if kinds is not None:
        names, limit = NAMES, int(ENCODER * whole)
        while names > FEW_NAMES and NAME * names * _named(kinds) > limit // 2:
            names //= 2
        encoder = Encoder(names=names, max_bytes=max(1, limit - NAME * names * _named(kinds)))
        own = encoder.most_bytes(kinds, outputs, classes=classes) + NAME * names * _named(kinds)
    translator = Translator(classes, encoder=encoder, max_bytes=max(1, whole - own), apart=not late)
    translator.start(kinds, outputs)
    return translator


def seconds_to_translate(kinds: Mapping[str, str] | None, outputs: int) -> float:
    """A cautious estimate for one row, on the machine of `nystream.auto.budget`."""
    tokens = ENTRIES if kinds is None else sum(TOKENS[kind] for kind in kinds.values())
    return CALL + TOKEN * tokens * (1 + outputs)


def _named(kinds: Mapping[str, str]) -> int:
    """Return how many times as many names of a category are kept: text has four times as many."""
    return sum({"category": 1, "text": 4}.get(kind, 0) for kind in kinds.values())
