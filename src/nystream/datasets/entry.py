"""What is known of a dataset: its files, their checksums, where they are published, how they are read."""

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
        Where it lies in a folder of datasets, with / between the parts.
    rows : int or None
        Rows (frames of a video); None for a file that only accompanies another, labels or masks.
    part : str
        "train", "test", or "all" where the dataset is not split.
    sha256 : str or None
        Checksum of the content: of what is inside, if the file is packed by gzip, bzip2 or xz, so that packing it
        otherwise changes nothing. None where no copy could be examined.
    url : str or None
        Where its publisher serves it; None where no stable public place is known.
    served : "same", "<algorithm>:<hash>" or None
        How a download is checked: "same" means that it unpacks to `sha256`; a hash is that of the bytes as served.
        None: its text differs from the copy that was examined, or there was none; then only rows and columns are
        counted, when it is read.
    """

    path: str
    rows: int | None = None
    part: str = "all"
    sha256: str | None = None
    url: str | None = None
    served: str | None = None

    @property
    def download(self) -> str | None:
        """Where a download of it lies in the same folder: beside `path`, under its publisher's name, unzipped."""
        if self.url is None:
            return None
        return posixpath.join(posixpath.dirname(self.path), posixpath.basename(self.url).removesuffix(".zip"))

    @property
    def paths(self) -> list[str]:
        """All names under which it may be found in a folder of datasets."""
        return [self.path] if self.download in (None, self.path) else [self.path, str(self.download)]


@dataclass(frozen=True)
class Preparation:
    """What published experiments do to the whole table before its first row is learnt, in words and as a function."""

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
        What its publisher states ("not stated" included), whom to cite, the page about it.
    read : callable or None
        From the paths of one part to its stream; None for a video.
    preparation : Preparation
    note : str
        What a reader of results should know: order of the rows, what is missing.
    frames, masks : str
        For a video: its frames and true masks, from the folder of its first file on; a path may go on in an archive.
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
        """Rows of all parts."""
        return sum(file.rows or 0 for file in self.files)

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts in the order in which they are read."""
        return tuple(dict.fromkeys(file.part for file in self.files))

    def of_part(self, part: str = "all") -> tuple[File, ...]:
        """The files of a part; "all" is every part."""
        if part == "all":
            return self.files
        if part not in self.parts:
            has = f"its parts are {', '.join(self.parts)} and all" if self.parts != ("all",) else "it has no parts"
            raise ValueError(f"{self.name} has no part {part!r}; {has}")
        return tuple(file for file in self.files if file.part == part)
