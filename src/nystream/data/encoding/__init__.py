"""Batches as numbers: dense ones for kernels, hashed ones for linear models of sparse rows."""

from nystream.data.encoding.encoder import Encoder, Encoding
from nystream.data.encoding.hashing import hash_level, hash_name, hash_pair

__all__ = ["Encoder", "Encoding", "hash_level", "hash_name", "hash_pair"]
