"""Typed columns of a table as numbers: dense ones for kernels, hashed ones for linear models of sparse rows."""

from nystream.data.encoding.columns import KINDS, Columns, as_columns, is_table, kinds_of, one_row
from nystream.data.encoding.encoder import Encoder, Encoding
from nystream.data.encoding.hashing import hash_level, hash_name, hash_pair

__all__ = [
    "KINDS",
    "Columns",
    "Encoder",
    "Encoding",
    "as_columns",
    "hash_level",
    "hash_name",
    "hash_pair",
    "is_table",
    "kinds_of",
    "one_row",
]
