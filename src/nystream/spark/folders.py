"""A folder of model files named by micro-batch, on this machine or where pyarrow can write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pyarrow import fs

from nystream import persist
from nystream.runtime.params import Params

__all__ = ["ModelFolder", "has_started"]

NAME = re.compile(r"(\d{6,})\.nys")


class ModelFolder:
    """Files 000000.nys, 000001.nys, ...: each is written whole or not at all."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._files, self._root = _opened(path)
        self._files.create_dir(self._root, recursive=True)

    def numbers(self) -> list[int]:
        """Batches that have a file, in order."""
        names = (info.base_name for info in self._files.get_file_info(fs.FileSelector(self._root)))
        return sorted(int(match.group(1)) for match in map(NAME.fullmatch, names) if match)

    def read(self, batch: int) -> bytes | None:
        """The content of the file of a batch; None where there is none."""
        name = self._name(batch)
        if self._files.get_file_info(name).type != fs.FileType.File:
            return None
        with self._files.open_input_stream(name) as file:
            return bytes(file.read())

    def write(self, batch: int, model: Params) -> None:
        """On this machine flushed to disk and renamed; elsewhere a copy under another name is moved to its place."""
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
        self._files, self._root = _opened(self.path)


def has_started(checkpoint: str) -> bool:
    """Whether a query has planned a micro-batch with this checkpoint."""
    files, root = _opened(checkpoint)
    info = files.get_file_info(f"{root}/offsets")
    if info.type != fs.FileType.Directory:
        return False
    return any(item.base_name.isdigit() for item in files.get_file_info(fs.FileSelector(f"{root}/offsets")))


def _opened(path: str) -> tuple[Any, str]:
    if "://" in path:
        files, root = fs.FileSystem.from_uri(path)
        return files, str(root).rstrip("/")
    return fs.LocalFileSystem(), str(Path(path).absolute())
