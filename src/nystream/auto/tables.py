"""The parts of memory and time that `Auto` spends on tables and sparse rows."""

from __future__ import annotations

from collections.abc import Mapping

from nystream.data.encoding import Encoder
from nystream.learners.translator import Translator

__all__ = ["SHARE", "seconds_to_translate", "translator_for"]

SHARE = 0.3
"""Part of the memory for statistics of levels and for the weights of the sparse experts."""
LATE = 0.05
"""The same if the first category, time or text comes late, when the experts already have all of the memory."""
ENCODER = 0.25
"""Part of that for the statistics; the sparse experts have the rest."""
NAMES, NAME = 256, 140
"""Names of levels that are kept for each category, at most, and the bytes that one of them takes."""
FEW_NAMES = 16
"""Names that are kept for each category, at least."""
CALL = 100e-6
"""Seconds of one `step` that do not depend on sizes: encoding, three linear models, and their outputs as columns."""
TOKEN = 0.06e-6
"""Seconds to encode and to learn one token of a row, for each output."""
TOKENS = {"number": 3, "boolean": 3, "category": 4, "time": 12, "text": 60}
"""Tokens that a column of each kind counts as, with its pairs; a text counts as thirty words."""
ENTRIES = 100
"""Tokens that a sparse row counts as."""


def translator_for(
    kinds: Mapping[str, str] | None, outputs: int, memory: float, *, classes: bool, late: bool = False
) -> Translator:
    """Return the translator for columns of these kinds, or for sparse rows (None), within its part of the memory.

    `late`: experts and stackers have learnt numbers so far. The outputs of sparse experts are then only columns.
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
    """Return a cautious estimate of the time for one row, on the reference machine of `nystream.auto.budget`."""
    tokens = ENTRIES if kinds is None else sum(TOKENS[kind] for kind in kinds.values())
    return CALL + TOKEN * tokens * (1 + outputs)


def _named(kinds: Mapping[str, str]) -> int:
    """Return the number of categories; a text, which has four times as many names, counts as four."""
    return sum({"category": 1, "text": 4}.get(kind, 0) for kind in kinds.values())
