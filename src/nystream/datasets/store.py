"""Where the files of datasets are on this machine, and how those that are missing are downloaded."""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import shutil
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from nystream.datasets.entry import Dataset, File
from nystream.streams.text import unpacked

__all__ = ["CACHE", "DATA", "cache_folder", "check", "content_sha256", "data_folder", "fetch", "locate"]

DATA = "NYSTREAM_DATA"
"""Environment variable: a folder that already holds files, one subfolder a dataset."""
CACHE = "NYSTREAM_CACHE"
"""Environment variable: where downloads are kept; default ~/.cache/nystream (under XDG_CACHE_HOME, if that is set)."""

_PIECE = 1 << 20  # bytes hashed at a time


def data_folder(data: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder given, else the one that NYSTREAM_DATA names, else None. One that does not exist is an error."""
    named = os.fspath(data) if data is not None else os.environ.get(DATA, "")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        whose = "the data folder" if data is not None else DATA
        raise FileNotFoundError(f"{whose} is {named!r}, which is no folder; name the one that holds the datasets")
    return folder


def cache_folder() -> Path:
    """Where downloads are kept."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nystream"


def locate(file: File, data: str | os.PathLike[str] | None = None) -> Path | None:
    """The file, in the data folder or else among the downloads; None where it is in neither."""
    for folder in (data_folder(data), cache_folder()):
        for path in file.paths if folder is not None else ():
            if folder is not None and (folder / path).is_file():
                return folder / path
    return None


def fetch(dataset: Dataset, file: File, data: str | os.PathLike[str] | None = None, *, download: bool = True) -> Path:
    """The file, downloaded if it has to be.

    A file that is here is taken as it is (`check` compares checksums). A download is checked before it gets its name,
    so that a wrong or interrupted one leaves nothing behind.

    Raises
    ------
    FileNotFoundError
        It is not here and cannot be had; the message says what to do.
    ValueError
        What was downloaded has another checksum.
    """
    found = locate(file, data)
    if found is not None:
        return found
    if file.url is None or file.download is None:
        raise FileNotFoundError(_missing(dataset, file, data, "no public download of it is known"))
    if not download:
        raise FileNotFoundError(_missing(dataset, file, data, "downloading was not asked for"))
    target = cache_folder() / file.download
    pooch = _pooch(dataset, file, data)
    log = pooch.get_logger()
    level = log.level
    log.setLevel(logging.WARNING)  # it advises programmers about checksums, which are compared here
    try:
        path = pooch.retrieve(
            file.url, None, fname=target.name, path=target.parent, downloader=_Checked(pooch, dataset, file)
        )
    except OSError as error:  # requests' errors are OSErrors too
        reason = f"{file.url} could not be downloaded ({type(error).__name__})"
        raise FileNotFoundError(_missing(dataset, file, data, reason)) from error
    finally:
        log.setLevel(level)
    return Path(path)


def check(dataset: Dataset, data: str | os.PathLike[str] | None = None) -> dict[str, bool | None]:
    """Whether the content of each file that is here has its checksum, by path; None where there is none to compare.

    A download that differs from the copy which was examined, and says so in `File.served`, has none.
    """
    verdicts: dict[str, bool | None] = {}
    for file in dataset.files:
        found = locate(file, data)
        if found is None:
            continue
        own = found.as_posix().endswith(file.path) or file.served == "same"
        expected = file.sha256 if own else None
        verdicts[file.path] = None if expected is None else content_sha256(found) == expected
    return verdicts


def content_sha256(path: str | os.PathLike[str]) -> str:
    """The checksum of what is inside a file packed by gzip, bzip2 or xz; any other, zip too, counts as it is."""
    if zipfile.is_zipfile(path):
        return _hash(path, "sha256")
    digest = hashlib.sha256()
    with open(path, "rb") as raw, unpacked(raw, os.path.basename(path)) as content:
        while piece := content.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


class _Checked:
    """pooch's download with a progress bar, unzipped and checked before pooch gives the file its name."""

    def __init__(self, pooch: ModuleType, dataset: Dataset, file: File) -> None:
        self._get = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), chunk_size=_PIECE)
        self._dataset, self._file = dataset, file

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        try:
            self._get(url, output_file, pooch)
        except OSError as error:
            if (response := getattr(error, "response", None)) is not None:
                response.close()  # pooch leaves the connection of a refused request open
            raise
        expected, got = self._file.sha256, ""
        if self._file.served == "same":
            _unzip(url, output_file)
            got = content_sha256(output_file)
        elif self._file.served is not None:
            algorithm, _, expected = self._file.served.partition(":")
            got = _hash(output_file, algorithm)
            _unzip(url, output_file)
        else:
            _unzip(url, output_file)
            return
        if got != expected:
            raise ValueError(
                f"{self._dataset.name}: {url} has another checksum than expected ({got} instead of {expected}) and was "
                f"not kept; try again, or put {self._file.path} into a folder that {DATA} names"
            )


def _unzip(url: str, path: str) -> None:
    """Put the one file of a zip archive in its place, where a publisher zips single files."""
    if not url.endswith(".zip"):
        return
    packed = f"{path}.packed"
    os.replace(path, packed)
    try:
        with zipfile.ZipFile(packed) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise ValueError(f"{url} holds {len(names)} files, not one")
            with archive.open(names[0]) as content, open(path, "wb") as plain:
                shutil.copyfileobj(content, plain)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{url} is no zip archive ({error}); try again later") from None
    finally:
        os.remove(packed)


def _hash(path: str | os.PathLike[str], algorithm: str) -> str:
    with open(path, "rb") as raw:
        return hashlib.file_digest(raw, algorithm).hexdigest()


def _pooch(dataset: Dataset, file: File, data: str | os.PathLike[str] | None) -> ModuleType:
    try:
        importlib.import_module("tqdm")
        return importlib.import_module("pooch")
    except ModuleNotFoundError:
        reason = "downloading needs two more packages (pip install 'nystream[datasets]')"
        raise FileNotFoundError(_missing(dataset, file, data, reason)) from None


def _missing(dataset: Dataset, file: File, data: str | os.PathLike[str] | None, reason: str) -> str:
    """One line: what is missing, why, and what to do."""
    folder = data_folder(data)
    where = f"in {folder}" if folder is not None else f"here ({DATA} is not set)"
    return (
        f"{dataset.name}: {file.path} is not {where}, and {reason}; get it from {dataset.home} and put it into a "
        f"folder DIR as DIR/{file.path}, then set {DATA}=DIR"
    )
