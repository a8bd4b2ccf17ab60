"""Load datasets by name as streams, arrays and frames."""

from __future__ import annotations

import os
from itertools import groupby

from nystream.datasets.entry import Dataset
from nystream.datasets.reading import PartStream
from nystream.datasets.registry import find
from nystream.datasets.store import fetch
from nystream.runtime.types import Array
from nystream.streams import ArrayStream, Stream

__all__ = ["frames", "load", "stream", "truth"]


def stream(
    name: str,
    part: str = "all",
    *,
    prepared: bool = False,
    data: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Stream:
    """Return a dataset as a stream in the order of its files, in bounded memory unless it is prepared.

    Parameters
    ----------
    name : str
        A name in `DATASETS`.
    part : str
        "train" or "test" where it is split; "all": one after the other.
    prepared : bool
        Apply the preparation of published experiments (`DATASETS[name].preparation`), which needs the whole table.
    data : path, optional
        The folder of the files; default: the environment variable NYSTREAM_DATA. Files that are not there are taken
        from earlier downloads, or downloaded.
    download : bool
        False: a missing file is an error.

    Examples
    --------
    >>> import nystream
    >>> nystream.datasets.DATASETS["ijcnn1"].rows
    141691
    """
    dataset = find(name)
    if dataset.read is None:
        raise ValueError(
            f"{name} is a video; watch it with `nystream video dataset:{name} OUT`, or use frames({name!r})"
        )
    files = dataset.of_part(part)
    streams = []
    for _, group in groupby(files, key=lambda file: file.part):
        members = list(group)
        paths = [fetch(dataset, file, data, download=download) for file in members]
        streams.append((dataset.read(*paths), sum(file.rows or 0 for file in members)))
    whole = PartStream(dataset, streams)
    apply = dataset.preparation.apply
    if not prepared or apply is None:
        return whole
    X, y = apply(*whole.load())
    return ArrayStream(X, y, columns=whole.columns, task=whole.task, name=f"{name}, prepared")


def load(
    name: str,
    part: str = "all",
    *,
    prepared: bool = False,
    data: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> tuple[Array, Array]:
    """Return a dataset in memory: X (n, d) and y (n,). Parameters as `stream`.

    Classes are -1 and +1 where the file says so, otherwise 0..K-1.
    """
    return stream(name, part, prepared=prepared, data=data, download=download).load()


def frames(name: str, data: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the frames of a video for `nystream video`. It may continue inside an archive."""
    dataset = _video(name)
    return str(fetch(dataset, dataset.files[0], data).parent / dataset.frames)


def truth(name: str, data: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the true masks of a video."""
    dataset = _video(name)
    if not dataset.masks:
        raise ValueError(f"{name} has no true masks")
    return str(fetch(dataset, dataset.files[0], data).parent / dataset.masks)


def _video(name: str) -> Dataset:
    dataset = find(name)
    if dataset.task != "video":
        raise ValueError(f"{name} is a table, not a video; use load({name!r}) or stream({name!r})")
    return dataset
