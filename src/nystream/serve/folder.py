"""The folder of a server, held by one process at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError as error:
    raise ImportError(
        "the server needs Linux, macOS or another POSIX system: that it never forgets what it acknowledged rests on "
        "locks and on syncs of folders, which Windows does not have; learning, files and other commands work there"
    ) from error

__all__ = ["FolderLock", "has_workers", "lock_all", "log_folders", "mend_permissions", "worker_folder"]


class FolderLock:
    """A lock on a folder, which ends with the process whatever becomes of it.

    With `wait`, a process that holds the lock has so many seconds to end.
    """

    def __init__(self, folder: Path, wait: float = 0.0) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # rows of other people's lives are in it
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"{folder} cannot be written to")
        self._handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() < end:
                    time.sleep(0.02)
                    continue
                owner = os.read(self._handle, 20).decode(errors="replace").strip() or "unknown"
                os.close(self._handle)
                raise ValueError(f"{folder} is served by another process already (pid {owner})") from None
        with suppress(OSError):  # the disk may be full; the lock holds without the number
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._handle)


def worker_folder(folder: Path, number: int) -> Path:
    """Return the folder of one worker of a server."""
    return folder / "workers" / str(number)


def has_workers(folder: Path) -> bool:
    """Return whether a server with --workers has used this folder."""
    return (folder / "workers").is_dir()


def log_folders(folder: Path) -> list[Path]:
    """Return the folders with a log: that of each worker, or the folder itself. Raises ValueError without any."""
    workers = sorted((folder / "workers").iterdir()) if has_workers(folder) else []
    found = [path for path in [folder, *workers] if (path / "log.db").exists()]
    if not found:
        raise ValueError(f"{folder} is no folder of a server: it has no log.db")
    return found


@contextmanager
def lock_all(folder: Path) -> Iterator[list[Path]]:
    """Lock a folder and those of its workers; yield the folders with a log."""
    places = log_folders(folder)
    with ExitStack() as stack:
        for place in dict.fromkeys([folder, *places]):
            stack.callback(FolderLock(place).release)
        yield places


def mend_permissions(folder: Path, *files: Path | None) -> list[Path]:
    """Let only the owner read and write: 0700 for folders, 0600 for files. Return what was mended."""
    mended = []
    wanted = [(folder, 0o700), *((path, 0o600) for path in files if path is not None and path.exists())]
    for place, folders, names in os.walk(folder):
        wanted += [(Path(place, name), 0o700) for name in folders]
        wanted += [(Path(place, name), 0o600) for name in names]
    for path, mode in wanted:
        if path.is_symlink():
            continue
        try:
            if path.stat().st_mode & 0o777 & ~mode:
                path.chmod(mode)
                mended.append(path)
        except FileNotFoundError:
            continue
        except OSError:
            if path in files:  # a secret that the system put there, read-only, is the system's to protect
                continue
            raise PermissionError(f"{path} can be read by others, and this user may not change that") from None
    return mended
