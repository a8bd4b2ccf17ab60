"""The output of `nystream video`: masks, pictures, or a movie with the foreground marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nystream.streams.frames import imageio

__all__ = ["Movie", "SideBySide", "Writer", "write_mask"]

Picture = npt.NDArray[np.uint8]

MARK = np.array([230, 40, 40], dtype=np.float32)
"""Colour of the foreground, over half of the picture's own."""
GAP = 4
"""White columns between pictures that stand side by side."""


class Writer(Protocol):
    """Takes a frame, its novelty in [0, 1] and its mask."""

    def add(
        self, number: int, frame: npt.NDArray[Any], novelty: npt.NDArray[Any], mask: npt.NDArray[np.bool_]
    ) -> None: ...
    def close(self) -> None: ...


class SideBySide:
    """A PNG for every frame: the frame, its novelty from black (known) to white, the mask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._write = imageio().imwrite

    def add(self, number: int, frame: npt.NDArray[Any], novelty: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> None:
        shade = (255 * np.clip(novelty, 0, 1)).round().astype(np.uint8)
        gap = np.full((len(mask), GAP, 3), 255, dtype=np.uint8)
        parts = [_colour(frame), gap, _grey(shade), gap, _grey(np.where(mask, 255, 0).astype(np.uint8))]
        self._write(self._folder / f"frame{number:06d}.png", np.hstack(parts))

    def close(self) -> None:
        """Do nothing, since no file is left open."""


class Movie:
    """One movie: the frames with the foreground tinted."""

    def __init__(self, path: Path, rate: float) -> None:
        try:
            self._file = imageio().imopen(path, "w", plugin="pyav")
        except ImportError:
            raise ValueError("--movie needs PyAV: pip install 'nystream[video]', or leave it out") from None
        self._rate: float | None = rate

    def add(self, number: int, frame: npt.NDArray[Any], novelty: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> None:
        picture = _colour(frame)
        picture[mask] = (0.5 * picture[mask] + 0.5 * MARK).astype(np.uint8)
        height, width = mask.shape
        if height % 2 or width % 2:  # the usual codecs halve the colour planes
            picture = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        if self._rate is not None:
            self._file.init_video_stream("libx264", fps=self._rate)
            self._rate = None
        self._file.write_frame(picture)

    def close(self) -> None:
        if self._rate is None:
            self._file.close()


def write_mask(path: Path, mask: npt.NDArray[np.bool_]) -> None:
    """Write a mask: foreground 255, background 0."""
    imageio().imwrite(path, np.where(mask, 255, 0).astype(np.uint8))


def _colour(frame: npt.NDArray[Any]) -> Picture:
    """Return a frame of any kind that can be learnt, as a new (H, W, 3) picture of bytes."""
    if frame.dtype == np.uint16:
        frame = frame >> 8
    elif frame.dtype != np.uint8:
        frame = (255 * np.clip(frame, 0, 1)).round()
    picture = frame.astype(np.uint8)
    if picture.ndim == 2:
        return _grey(picture)
    return picture if picture.shape[2] == 3 else _grey(picture.mean(axis=2).astype(np.uint8))


def _grey(picture: Picture) -> Picture:
    return np.repeat(picture[..., None], 3, axis=2)
