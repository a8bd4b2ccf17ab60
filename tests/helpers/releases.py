"""Which versions of other packages are here: what is asked of the newest is more than the oldest can give."""

from __future__ import annotations

from importlib.metadata import version


def release(package: str) -> tuple[int, int]:
    """The first two numbers of its version."""
    major, minor, *_ = version(package).split(".")
    return int(major), int(minor)
