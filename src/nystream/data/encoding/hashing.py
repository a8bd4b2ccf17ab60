"""The hash of names and levels: MurmurHash3 (x86, 32 bits) of their UTF-8 bytes. It is part of the file format.

A column has three seeds, the hashes of its name with the seeds 0, 1 and 2. A level of a category is hashed with the
first, a pair of levels by the eight bytes of their two hashes with the seed 0. Numbers, hours and bins are hashed by
their four bytes, the lowest first. Every machine gives the same number for the same text.
"""

from __future__ import annotations

from nystream._core.tables import murmur3, murmur3_pair

__all__ = ["hash_level", "hash_name", "hash_pair"]


def hash_name(column: str, which: int = 0) -> int:
    """Return the seed that the name of a column gives to the hashes of its levels.

    Examples
    --------
    >>> hash_name("carrier")
    2653907929
    """
    return murmur3(column.encode(), which)


def hash_level(column: str, level: str | None) -> int:
    """Return the token of a level of a category; a level of None is a missing one.

    Examples
    --------
    >>> hash_level("carrier", "UA") == hash_level("tail", "UA")
    False
    """
    return murmur3(b"\xff" if level is None else level.encode(), hash_name(column))


def hash_pair(one: int, two: int) -> int:
    """Return the token of two levels together. The level of the earlier column comes first."""
    return murmur3_pair(one, two, 0)
