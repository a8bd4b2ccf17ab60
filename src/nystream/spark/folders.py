"""A folder of model files named by micro-batch, on this machine or where pyarrow can write."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

from pyarrow import fs

from nystream import persist
from nystream.runtime.params import Params

__all__ = ["ModelFolder", "claim_folders", "has_started", "open_folder", "rows_of_batch"]

NAME = re.compile(r"(\d{6,})\.nys")
LEFT = re.compile(r"\.?\d{6,}\.nys\..*(tmp|new)|\d{6,}\.nys\.new")
"""Files that a process which was killed left half-written."""
IDENTITY = "nystream-stream.json"
"""In the models' folder and in the checkpoint: which stream they belong to, and what it learns."""
SHOWN_FILES = 3
"""Names of files in a message."""
SHOWN_OFFSET = 200
"""Characters of an offset in a message."""


class ModelFolder:
    """Files 000000.nys, 000001.nys, ...: each is written whole or not at all."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._files, self._root = open_folder(path)
        self._files.create_dir(self._root, recursive=True)

    def numbers(self) -> list[int]:
        """Return the numbers of batches that have a file, in order."""
        names = (info.base_name for info in self._files.get_file_info(fs.FileSelector(self._root)))
        return sorted(int(match.group(1)) for match in map(NAME.fullmatch, names) if match)

    def remove_unfinished(self) -> int:
        """Remove files that were left half-written by processes that were killed; return how many there were."""
        found = [
            info.path
            for info in self._files.get_file_info(fs.FileSelector(self._root))
            if LEFT.fullmatch(info.base_name)
        ]
        for path in found:
            self._files.delete_file(path)
        return len(found)

    def read(self, batch: int) -> bytes | None:
        """Return the content of the file of a batch; None where there is none."""
        name = self._name(batch)
        if self._files.get_file_info(name).type != fs.FileType.File:
            return None
        with self._files.open_input_stream(name) as file:
            return bytes(file.read())

    def write(self, batch: int, model: Params) -> None:
        """Write a model: on this machine flushed and renamed; elsewhere copied under another name, then moved."""
        name = self._name(batch)
        if isinstance(self._files, fs.LocalFileSystem):
            persist.save(model, name)
            return
        with self._files.open_output_stream(f"{name}.new") as file:
            file.write(persist.to_bytes(model))
        self._files.move(f"{name}.new", name)

    def keep(self, count: int) -> None:
        """Remove all files but the last ones."""
        for number in self.numbers()[:-count]:
            self._files.delete_file(self._name(number))

    def _name(self, batch: int) -> str:
        return f"{self._root}/{batch:06d}.nys"

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._files, self._root = open_folder(self.path)


def has_started(checkpoint: str) -> bool:
    """Return whether a query has planned a micro-batch with this checkpoint."""
    files, root = open_folder(checkpoint)
    info = files.get_file_info(f"{root}/offsets")
    if info.type != fs.FileType.Directory:
        return False
    return any(item.base_name.isdigit() for item in files.get_file_info(fs.FileSelector(f"{root}/offsets")))


def rows_of_batch(checkpoint: str, batch: int) -> str:
    """Return which rows a micro-batch has, by what its checkpoint notes: names of files, or offsets of the source."""
    try:
        lines = _read_lines(checkpoint, f"offsets/{batch}")[2:]  # after the version and Spark's own notes
        found = [_part_of_batch(checkpoint, number, batch, line) for number, line in enumerate(lines)]
    except (OSError, ValueError, KeyError, TypeError):  # a layout of files that is not known
        found = []
    return "; ".join(found) or f"offsets/{batch} of the checkpoint"


def _part_of_batch(checkpoint: str, source: int, batch: int, line: str) -> str:
    """Return what one source of a query has in a micro-batch; `line` is the source's entry among the offsets."""
    offset = json.loads(line)
    if not isinstance(offset, dict) or set(offset) != {"logOffset"}:
        return f"offsets up to {line[:SHOWN_OFFSET]}"
    entry = f"sources/{source}/{offset['logOffset']}"
    try:
        lines = _read_lines(checkpoint, entry)
    except FileNotFoundError:
        lines = _read_lines(checkpoint, f"{entry}.compact")
    paths = [item["path"] for item in map(json.loads, lines[1:]) if item["batchId"] == offset["logOffset"]]
    names = sorted(path.rpartition("/")[2] for path in paths)
    more = f" and {len(names) - SHOWN_FILES} more" if len(names) > SHOWN_FILES else ""
    return f"file{'s' * (len(names) != 1)} {', '.join(names[:SHOWN_FILES])}{more}"


def _read_lines(folder: str, name: str) -> list[str]:
    files, root = open_folder(folder)
    with files.open_input_stream(f"{root}/{name}") as file:
        return bytes(file.read()).decode().splitlines()


def claim_folders(checkpoint: str, models: str, learns: dict[str, str]) -> None:
    """Give the checkpoint and the models' folder of a new stream a common id; refuse folders of different streams.

    `learns` says what the stream learns, by name (learner, features ...); a later start must say the same.
    """
    ours, theirs = _read_identity(models), _read_identity(checkpoint)
    if theirs is None and has_started(checkpoint):
        raise ValueError(
            f"checkpoint={checkpoint!r} is that of a query that fit_stream did not start; give a new folder"
        )
    is_new = not has_started(checkpoint) and not ModelFolder(models).numbers()
    if is_new and (ours is None or theirs is None):  # one of them has an id if the first start was killed between both
        identity = {"id": uuid.uuid4().hex, **learns}
        for folder in (models, checkpoint):
            _write_identity(folder, identity)
        return
    if ours is None or theirs is None or ours["id"] != theirs["id"]:
        raise ValueError(
            f"models={models!r} and checkpoint={checkpoint!r} belong to different streams "
            f"({_identity(ours)} and {_identity(theirs)}); give the two that were used together, or two new folders"
        )
    for what, value in learns.items():
        if ours.get(what) != value:
            raise ValueError(
                f"{what} was {ours.get(what)} when this stream was first started and is {value} now; go on with what "
                "it was, or start a new stream with two new folders"
            )


def _identity(found: dict[str, str] | None) -> str:
    return "none" if found is None else found["id"][:8]


def _read_identity(folder: str) -> dict[str, str] | None:
    files, root = open_folder(folder)
    if files.get_file_info(f"{root}/{IDENTITY}").type != fs.FileType.File:
        return None
    with files.open_input_stream(f"{root}/{IDENTITY}") as file:
        found: dict[str, str] = json.loads(bytes(file.read()))
    return found


def _write_identity(folder: str, identity: dict[str, str]) -> None:
    files, root = open_folder(folder)
    files.create_dir(root, recursive=True)
    with files.open_output_stream(f"{root}/{IDENTITY}.new") as file:
        file.write(json.dumps(identity, indent=1).encode())
    files.move(f"{root}/{IDENTITY}.new", f"{root}/{IDENTITY}")


def open_folder(path: str) -> tuple[Any, str]:
    """Return the file system of an address, and the folder's name there."""
    if "://" in path:
        files, root = fs.FileSystem.from_uri(path)
        return files, str(root).rstrip("/")
    return fs.LocalFileSystem(), str(Path(path).absolute())
