"""Model files on disk: written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nystream.persist.envelope import from_bytes, to_bytes
from nystream.runtime.params import Params

__all__ = ["check_target", "load", "save"]


def save(model: Params, path: str | os.PathLike[str]) -> None:
    """Write the model to a file. At every moment `path` holds either the old file or the whole new one."""
    target = Path(path)
    check_target(target)
    content = to_bytes(model)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if the path is a directory or its folder does not exist."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", os.fspath(target.parent))


def load(path: str | os.PathLike[str], *, trust: bool | str | Iterable[str] = ()) -> Any:
    """Read a model that `save` wrote. It continues bit for bit where it stopped. `trust` as in `from_bytes`."""
    try:
        return from_bytes(Path(path).read_bytes(), trust=trust)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_directory(folder: Path) -> None:
    """Make the rename durable, on systems with directory handles."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
