"""Which columns are for what. Workers read this: it imports nothing."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Roles"]


@dataclass(frozen=True)
class Roles:
    """Names of the columns by what they are for."""

    features: tuple[str, ...]
    targets: tuple[str, ...]
    weight: str | None = None

    @property
    def all(self) -> list[str]:
        return [*self.features, *self.targets, *([] if self.weight is None else [self.weight])]
