"""How many landmarks the rows of a frame are worth, and how many the memory of a task allows."""

from __future__ import annotations

from dataclasses import dataclass

from nystream.auto.recipe import WIDE

__all__ = ["GROWTH", "Growth", "landmark_counts"]


@dataclass(frozen=True)
class Growth:
    """Landmarks by rows."""

    factor: float = 28.0
    """Landmarks for each square root of a row: more rows pay for more landmarks, and n^(1/2) of them keep the
    statistical rate of exact ridge regression. On casp (36,584 rows) 28 gives an RMSE of 3.67, 16 one of 3.80."""
    fewest_big: int = 1000
    fewest_rough: int = 1500
    """What small frames get."""
    most: int = 6000
    """Solving costs the cube of it on the driver. The memory of a task usually allows fewer: 5,333 at 256 MB."""
    big_share: float = 0.5
    """Landmarks of the large ridge for each of the Laplacian one, which profits more."""


GROWTH = Growth()
BYTES_PER_ENTRY = 9
"""Of the matrix that a task sums up: 8, and one for everything else."""


def landmark_counts(
    rows: int, columns: int, outputs: int, memory: float, big: int | None, rough: int | None
) -> tuple[int, int]:
    """Return the landmarks of the large ridge and of the one with a Laplacian kernel; given ones stay as they are.

    The sums of r landmarks take 8 r^2 bytes; features of a block of rows and pieces on their way take a little more.
    """
    fit = int((memory / BYTES_PER_ENTRY) ** 0.5)
    wanted = int(GROWTH.factor * rows**0.5)
    if rough is None:
        rough = 0 if columns > WIDE else min(max(GROWTH.fewest_rough, wanted), GROWTH.most, fit)
    if big is None:
        big = min(max(GROWTH.fewest_big, int(GROWTH.big_share * wanted)), GROWTH.most, fit)
    return big, rough
