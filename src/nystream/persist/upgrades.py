"""From each earlier format to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nystream.persist import format1

__all__ = ["UPGRADES"]

UPGRADES: dict[int, Callable[[Any], Any]] = {1: format1.upgrade}
"""Format n -> what makes a tree of format n + 1 of its tree, before anything is built."""
