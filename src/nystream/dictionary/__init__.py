"""Which points are kept, and the factors built on them."""

from nystream.dictionary.rows import Rows

__all__ = ["Rows"]
