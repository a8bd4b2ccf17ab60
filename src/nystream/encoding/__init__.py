"""Typed columns of a table as numbers: dense ones for kernels, hashed ones for linear models of sparse rows."""

from nystream.encoding.columns import KINDS, Columns, kinds_of
from nystream.encoding.encoder import Encoder, Encoding
from nystream.encoding.hashing import hash_level, hash_name, hash_pair

__all__ = ["KINDS", "Columns", "Encoder", "Encoding", "hash_level", "hash_name", "hash_pair", "kinds_of"]
