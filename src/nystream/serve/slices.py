"""Work in slices: a generator that pauses wherever other work may come between, and returns its result."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

__all__ = ["Slices", "complete"]

T = TypeVar("T")
Slices: TypeAlias = Generator[None, None, T]
"""Yields between slices of a few milliseconds."""


def complete(work: Slices[T]) -> T:
    """Run all slices; return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
