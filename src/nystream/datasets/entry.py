"""The description of a dataset: its files, checksums, sources and reader."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from nystream.runtime.types import Array
from nystream.streams import Stream

__all__ = ["Dataset", "File", "Preparation", "Task"]

Task: TypeAlias = Literal["regression", "classification", "video"]


@dataclass(frozen=True)
class File:
    """One file of a dataset.

    Attributes
    ----------
    path : str
        Its path in a folder of datasets, with / between the parts.
    rows : int or None
        Rows (frames of a video); None for a file of labels or masks that accompanies another.
    part : str
        "train", "test", or "all" where the dataset is not split.
    sha256 : str or None
        Checksum of the content, after unpacking gzip, bzip2 or xz. None if no copy could be examined.
    url : str or None
        The publisher's address; None if no stable public address is known.
    served : "same", "<algorithm>:<hash>" or None
        How a download is checked: "same" means that it unpacks to `sha256`; a hash is that of the bytes as served.
        None means that its text differs from the examined copy, or that there was none. Then rows and columns are
        counted when it is read.
    """

    path: str
    rows: int | None = None
    part: str = "all"
    sha256: str | None = None
    url: str | None = None
    served: str | None = None

    @property
    def download(self) -> str | None:
        """Path of a download in the same folder: beside `path`, unzipped, with the publisher's name."""
        if self.url is None:
            return None
        return posixpath.join(posixpath.dirname(self.path), posixpath.basename(self.url).removesuffix(".zip"))

    @property
    def paths(self) -> list[str]:
        """All paths at which it may be found in a folder of datasets."""
        return [self.path] if self.download in (None, self.path) else [self.path, str(self.download)]


@dataclass(frozen=True)
class Preparation:
    """The preprocessing of published experiments, in words and as a function of the whole table."""

    text: str = "none: as distributed"
    apply: Callable[[Array, Array], tuple[Array, Array]] | None = None


@dataclass(frozen=True)
class Dataset:
    """A named dataset.

    Attributes
    ----------
    name : str
    task : "regression", "classification" or "video"
    columns : int
        Features; pixels of a frame for a video.
    files : tuple of File
    licence, citation, home : str
        The publisher's licence (or "not stated"), the citation, the page about it.
    read : callable or None
        A function from the paths of one part to its stream; None for a video.
    preparation : Preparation
    note : str
        Facts that matter for results, such as the order of the rows or missing values.
    frames, masks : str
        For a video: paths of frames and true masks, relative to its first file's folder, perhaps in an archive.
    """

    name: str
    task: Task
    columns: int
    files: tuple[File, ...]
    licence: str
    citation: str
    home: str
    read: Callable[..., Stream] | None = None
    preparation: Preparation = field(default_factory=Preparation)
    note: str = ""
    frames: str = ""
    masks: str = ""

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(file.rows or 0 for file in self.files)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts in the order in which they are read."""
        return tuple(dict.fromkeys(file.part for file in self.files))

    def of_part(self, part: str = "all") -> tuple[File, ...]:
        """Return the files of a part, or of all parts for "all"."""
        if part == "all":
            return self.files
        if part not in self.parts:
            has = f"its parts are {', '.join(self.parts)} and all" if self.parts != ("all",) else "it has no parts"
            raise ValueError(f"{self.name} has no part {part!r}; {has}")
        return tuple(file for file in self.files if file.part == part)
