"""An experiment of a paper: its description, its datasets, and the function that computes it again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import TypeVar

from nystream.reproduce.outcome import Outcome

__all__ = ["Experiment", "Setting"]

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many of its steps are done, and how many there are."""


@dataclass(frozen=True)
class Setting:
    """The settings with which an experiment is run.

    Attributes
    ----------
    quick : bool
        Fewer rows, shuffles or settings, in about a minute: shows that everything works, not what the paper says.
    data : path or None
        Folder of datasets, as in `nystream.datasets.load`.
    whole : bool
        Also whole files, where an experiment takes a part by default.
    progress : callable
        For a progress bar.
    """

    quick: bool = False
    data: str | os.PathLike[str] | None = None
    whole: bool = False
    progress: Progress = lambda what, done, total: None

    def each(self, items: Iterable[T], what: str) -> Iterator[T]:
        """Yield the items, and report progress after each."""
        listed = items if isinstance(items, Sized) else list(items)
        total = len(listed)
        self.progress(what, 0, total)
        for done, item in enumerate(listed, 1):
            yield item
            self.progress(what, done, total)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes
    ----------
    name : str
        As in `nystream reproduce NAME`.
    title : str
        One line: what the paper shows there.
    source : str
        The paper, with the number of the table or figure.
    protocol : str
        What is done here, and with which data, in a few sentences; what `quick` leaves out too.
    run : callable
        From a setting to what was found.
    datasets : tuple of str
        Names of `nystream.datasets.DATASETS` that it reads.
    """

    name: str
    title: str
    source: str
    protocol: str
    run: Callable[[Setting], Outcome]
    datasets: tuple[str, ...] = ()
