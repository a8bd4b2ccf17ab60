"""Read the frames of a video from a folder or archive of images, a movie, or an array."""

from __future__ import annotations

import fnmatch
import importlib
import lzma
import re
import shutil
import tarfile
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Frames", "imageio", "open_frames"]

Picture: TypeAlias = npt.NDArray[Any]

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".webp")
MOVIES = (".mp4", ".avi", ".mkv", ".mov", ".webm", ".m4v", ".mpg", ".mpeg")
ARRAYS = (".npy", ".npy.xz")
TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
KINDS = "a folder of images, a .zip or .tar of images, a movie (.mp4, .avi, ...) or an array (.npy, .npy.xz)"


@dataclass(frozen=True)
class Frames:
    """A video that can be read from its start: numbered pictures, and their count if it is known."""

    name: str
    total: int | None
    read: Callable[[], Iterator[tuple[int, Picture]]]

    def __iter__(self) -> Iterator[tuple[int, Picture]]:
        """Yield numbers and pictures (H, W) or (H, W, 3), all of one shape."""
        shape: tuple[int, ...] | None = None
        for number, raw in self.read():
            picture = _plain(raw, f"frame {number} of {self.name}")
            if shape is not None and picture.shape != shape:
                raise ValueError(f"frame {number} of {self.name} has shape {picture.shape}, the first has {shape}")
            shape = picture.shape
            yield number, picture


def open_frames(spec: str, first: int = 0) -> Frames:
    """Open the frames of a folder, archive, movie or array.

    A path may continue inside an archive, and end in a pattern: `highway.zip/highway/input`, `trees.tar.xz/b*.bmp`.
    Images are numbered by the last number in their names and read in that order, or in the order of their names if none
    has a number; frames of movies and arrays are numbered from `first`.
    """
    path, inner, pattern = _parts(Path(spec))
    lower = path.name.lower()
    if path.is_dir():
        files = [f for f in path.iterdir() if f.is_file()]
        return _images(spec, {f.name: f.read_bytes for f in files}, pattern)
    if lower.endswith(".zip"):
        return _zipped(spec, path, inner, pattern)
    if lower.endswith(TARS):
        return _tarred(spec, path, inner, pattern)
    if inner or pattern != "*":
        raise ValueError(f"no file or folder {spec!r}")
    if lower.endswith(ARRAYS):
        return _array(path, first)
    if lower.endswith(MOVIES):
        return _movie(path, first)
    if lower.endswith(IMAGES):
        return _images(spec, {path.name: path.read_bytes}, "*")
    raise ValueError(f"{path.name} is not a video: give {KINDS}")


def imageio() -> Any:
    """Return the library that reads and writes pictures, or raise a ValueError that names the extra."""
    try:
        return importlib.import_module("imageio.v3")
    except ModuleNotFoundError:
        raise ValueError("pictures and movies need two more packages: pip install 'nystream[video]'") from None


def _parts(path: Path) -> tuple[Path, str, str]:
    """Split a path into the existing file or folder, the folder inside it, and the pattern of names."""
    pattern = "*"
    if any(mark in path.name for mark in "*?[") and not path.exists():
        path, pattern = path.parent, path.name
    outer = path
    while not outer.exists():
        if outer == outer.parent:
            raise ValueError(f"no file or folder {str(path)!r}")
        outer = outer.parent
    inner = path.relative_to(outer).as_posix()
    if outer.is_dir() and inner != ".":
        raise ValueError(f"no file or folder {str(path)!r}")
    return outer, "" if inner == "." else inner, pattern


def _images(name: str, readers: dict[str, Callable[[], bytes]], pattern: str) -> Frames:
    """Return images by name; only those that match the pattern and end as images do."""
    chosen = [n for n in readers if n.lower().endswith(IMAGES) and fnmatch.fnmatch(n, pattern)]
    if not chosen:
        raise ValueError(f"{name} holds no images; give {KINDS}")
    numbers = _numbered(name, sorted(chosen))
    decode = imageio().imread

    def read() -> Iterator[tuple[int, Picture]]:
        for number, n in sorted(numbers.items()):
            try:
                picture = decode(readers[n](), plugin="pillow")
            except (OSError, RuntimeError) as error:
                raise ValueError(f"{name}: {n} is not an image that can be read ({error})") from None
            yield number, picture

    return Frames(name, len(chosen), read)


def _zipped(spec: str, path: Path, inner: str, pattern: str) -> Frames:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path}: {error}") from None
    names = _members(path, archive.namelist(), inner)
    return _images(spec, {n.rpartition("/")[2]: partial(archive.read, n) for n in names}, pattern)


def _tarred(spec: str, path: Path, inner: str, pattern: str) -> Frames:
    """Return the images of a tar archive, unpacked into a temporary folder, since tar has no random access."""
    folder = Path(tempfile.mkdtemp(prefix="nystream-frames-"))
    try:
        copies = _unpacked(path, folder)
        names = _members(path, list(copies), inner)
        frames = _images(spec, {n.rpartition("/")[2]: copies[n].read_bytes for n in names}, pattern)
    except BaseException:
        shutil.rmtree(folder)
        raise
    weakref.finalize(frames.read, shutil.rmtree, folder, ignore_errors=True)
    return frames


def _unpacked(path: Path, folder: Path) -> dict[str, Path]:
    """Unpack the images of a tar archive and return the copies by their names in it."""
    copies: dict[str, Path] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.name.lower().endswith(IMAGES) else None
                if content is not None:
                    copies[member.name] = folder / str(len(copies))
                    copies[member.name].write_bytes(content.read())
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise ValueError(f"{path}: {error}") from None
    return copies


def _array(path: Path, first: int) -> Frames:
    """Return the frames of an array (T, H, W[, c]), one at a time."""
    opened: Callable[[], Any] = partial(lzma.open if path.suffix.lower() == ".xz" else open, path, "rb")
    with opened() as file:
        shape, dtype = _header(file, path)
    frame = int(np.prod(shape[1:])) * dtype.itemsize

    def read() -> Iterator[tuple[int, Picture]]:
        with opened() as file:
            _header(file, path)
            for t in range(shape[0]):
                content = file.read(frame)
                if len(content) < frame:
                    raise ValueError(f"{path} ends in frame {t} of {shape[0]}: it is truncated")
                yield first + t, np.frombuffer(content, dtype=dtype).reshape(shape[1:])

    return Frames(str(path), shape[0], read)


def _header(file: Any, path: Path) -> tuple[tuple[int, ...], Any]:
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (ValueError, lzma.LZMAError, EOFError) as error:
        raise ValueError(f"{path} is not an array that can be read: {error}") from None
    if len(shape) not in (3, 4) or fortran or dtype.hasobject:
        raise ValueError(f"{path} must hold frames (frames, height, width[, channels]) in C order, got {shape} {dtype}")
    return tuple(shape), dtype


def _movie(path: Path, first: int) -> Frames:
    try:
        importlib.import_module("av")
    except ModuleNotFoundError:
        raise ValueError("movies need PyAV: pip install 'nystream[video]'") from None
    library = imageio()
    try:
        length = int(library.improps(path, plugin="pyav").shape[0])
    except (OSError, ValueError, IndexError) as error:
        raise ValueError(f"{path} is not a movie that can be read ({error})") from None

    def read() -> Iterator[tuple[int, Picture]]:
        for t, picture in enumerate(library.imiter(path, plugin="pyav")):
            yield first + t, picture

    return Frames(str(path), length if length > 0 else None, read)


def _plain(picture: Any, name: str) -> Picture:
    """Return a grey (H, W) or colour (H, W, 3) picture without alpha, channel axis of one, or booleans."""
    pixels = np.asarray(picture)
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * np.uint8(255)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        pixels = pixels[..., :-1]
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    if pixels.ndim not in (2, 3):
        raise ValueError(f"{name} has shape {pixels.shape}; a picture is (height, width) or (height, width, channels)")
    return pixels


def _numbered(name: str, images: list[str]) -> dict[int, str]:
    """Return images by the last number in their names, or by their places if none has one."""
    digits = {image: re.findall(r"\d+", Path(image).stem) for image in images}
    if not any(digits.values()):
        return dict(enumerate(images))
    numbers: dict[int, str] = {}
    for image, found in digits.items():
        number = int(found[-1]) if found else None
        if number is None or number in numbers:
            why = f"has the number of {numbers[number]}" if number is not None else "has no number in its name"
            raise ValueError(f"{name}: {image} {why}; choose the frames with a pattern, as in {name}/in*.jpg")
        numbers[number] = image
    return numbers


def _members(path: Path, names: list[str], inner: str) -> list[str]:
    """Return the images of an archive in the folder asked for, or in its only folder."""
    images = [n for n in names if n.lower().endswith(IMAGES)]
    folders = sorted({n.rpartition("/")[0] for n in images})
    if not inner and len(folders) > 1:
        raise ValueError(f"{path} has images in {', '.join(folders)}; say which: {path}/{folders[-1]}")
    return [n for n in images if not inner or n.rpartition("/")[0] == inner]
