"""The table of laws, and how one enters it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from laws.cases import Variant

LAWS: dict[str, Law] = {}


@dataclass(frozen=True)
class Law:
    """A check of one variant, and which variants it is for."""

    check: Callable[..., None]
    concerns: Callable[[Variant], bool]

    def __call__(self, variant: Variant, folder: Path) -> None:
        path = {"path": folder / "model.nys"} if "path" in inspect.signature(self.check).parameters else {}
        self.check(variant, **path)


def law(concerns: Callable[[Variant], bool] = lambda variant: True) -> Callable[[Callable[..., None]], Callable]:
    """Enter a function into the table under its own name."""

    def entered(check: Callable[..., None]) -> Callable[..., None]:
        LAWS[check.__name__] = Law(check, concerns)
        return check

    return entered
