"""Find the files of datasets on this machine, and download missing ones."""

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
from nystream.streams.text import unpack

__all__ = ["CACHE", "DATA", "cache_folder", "check", "content_sha256", "data_folder", "fetch", "locate"]

DATA = "NYSTREAM_DATA"
"""Environment variable: a folder that holds files, with one subfolder for each dataset."""
CACHE = "NYSTREAM_CACHE"
"""Environment variable: the folder of downloads; default ~/.cache/nystream (under XDG_CACHE_HOME, if that is set)."""

_PIECE = 1 << 20  # bytes hashed at a time


def data_folder(data: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the given folder, else the one that NYSTREAM_DATA names, else None. A missing folder is an error."""
    named = os.fspath(data) if data is not None else os.environ.get(DATA, "")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        whose = "the data folder" if data is not None else DATA
        raise FileNotFoundError(f"{whose} is {named!r}, which is not a folder; name the folder that holds the datasets")
    return folder


def cache_folder() -> Path:
    """Return the folder of downloads."""
    if os.environ.get(CACHE):
        return Path(os.environ[CACHE]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nystream"


def locate(file: File, data: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the path of the file in the data folder or among the downloads, or None."""
    for folder in (data_folder(data), cache_folder()):
        for path in file.paths if folder is not None else ():
            if folder is not None and (folder / path).is_file():
                return folder / path
    return None


def fetch(dataset: Dataset, file: File, data: str | os.PathLike[str] | None = None, *, download: bool = True) -> Path:
    """Return the path of the file, after downloading it if necessary.

    An existing file is not checked (`check` compares checksums). A download is checked before it gets its name, so a
    wrong or interrupted download leaves no file behind.

    Raises
    ------
    FileNotFoundError
        It is not here and cannot be downloaded. The message says what to do.
    ValueError
        The download has another checksum.
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
    log.setLevel(logging.WARNING)  # its advice about checksums does not apply: they are compared here
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
    """Return, by path, whether each existing file has its checksum; None if there is none to compare.

    A download that differs from the examined copy (see `File.served`) has none.
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
    """Return the checksum of the content of a gzip, bzip2 or xz file, or of the bytes of any other file."""
    if zipfile.is_zipfile(path):
        return _hash(path, "sha256")
    digest = hashlib.sha256()
    with open(path, "rb") as raw, unpack(raw, os.path.basename(path)) as content:
        while piece := content.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


class _Checked:
    """A downloader for pooch with a progress bar. It unzips and checks a file before pooch names it."""

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
    """Replace a zip archive of one file by that file."""
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
    """Return a message of one line: what is missing, why, and what to do."""
    folder = data_folder(data)
    where = f"in {folder}" if folder is not None else f"here ({DATA} is not set)"
    return (
        f"{dataset.name}: {file.path} is not {where}, and {reason}; get it from {dataset.home} and put it into a "
        f"folder DIR as DIR/{file.path}, then set {DATA}=DIR"
    )
