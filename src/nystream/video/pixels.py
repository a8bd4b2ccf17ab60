"""Pixels: one novelty learner for every pixel of a video, all of them updated together."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from nystream import persist
from nystream._core.pixels import TILE, Sweep
from nystream.kernels.base import Kernel
from nystream.kernels.gaussian import Gaussian
from nystream.kernels.laplacian import Laplacian
from nystream.runtime.params import Params, at_least, one_of, positive
from nystream.runtime.threads import run_parallel, threads

__all__ = ["Pixels"]

RULES = ("silk", "norma")
BIRTHS = {"float64": "int64", "float32": "int32"}
"""Number types, and the integers of the same width that hold the times of stored points."""
NAMES = ("points_", "coef_", "born_", "scale_")
"""The arrays of the state, as a model file calls them."""
WORTH_A_THREAD = 32
"""Fewest tiles for which another thread saves time."""


class Pixels(Params):
    """A novelty learner per pixel: colours that a pixel has shown recently score high, new colours score low.

    Every pixel has its own function f = sum_j a_j k(z_j, .) of at most `budget` colours z_j that it has shown. In a new
    frame the pixel has the colour x. Its score is f(x). Then it learns x with the novelty loss max(0, rho - f(x))::

        silk    f <- (1 - tau) f + a k(x, .),    a = clip(rho - (1 - tau) f(x), 0, (1 - tau) C)
                and of more than `budget` terms the smallest goes, which may be the new one (the oldest of equals)
        norma   f <- (1 - tau) f + C 1[f(x) < rho] k(x, .),    and terms live `budget` frames

    "silk" is `SILK(kernel, loss=Novelty(rho), tau=tau, C=C, budget=budget)` and "norma" is `NORMA(kernel,
    loss=Novelty(rho), eta=C, lam=tau / C, budget=budget)` in every pixel. Foreground is where the score is below a
    threshold; half of `ceiling` is a start. A new colour becomes background after about rho / C frames, so large C
    swallows slow objects.

    O(n budget c) time per frame for n pixels of c channels, n budget (c + 2) numbers of memory, nothing grows.

    Parameters
    ----------
    kernel : Gaussian or Laplacian
        Compares colours; for pixels in [0, 1], `Gaussian(0.1)` is a start.
    budget : int, default 20
        Colours stored per pixel at most.
    tau : float, default 0.02
        Decay per frame, in [0, 1).
    C : float, default 0.05
        Largest coefficient; the speed at which new colours are learnt.
    rho : float, default 1.0
        The score that a known colour should reach.
    rule : {"silk", "norma"}
    dtype : {"float64", "float32"}
        Of the state and the scores. Single precision takes half the memory and about a third of the time; scores
        then have some six digits, and the areas under ROC curves agree to four.
    threads : int, optional
        Bands of the image that are worked on at the same time; None: NYSTREAM_THREADS, or all processors. The scores do
        not depend on it.

    Deviations from the paper: it leaves the video network's details open; the rule above is its novelty step with one
    buffer per pixel. Frozen pixels are an addition.

    References
    ----------
    Cheng, Vishwanathan, Schuurmans, Wang, Caelli. Implicit Online Learning with Kernels. NIPS 2006. For "norma":
    Kivinen, Smola, Williamson. Online learning with kernels. IEEE Transactions on Signal Processing 52, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.kernels import Gaussian
    >>> from nystream.video import Pixels
    >>> wall = np.full((4, 6, 3), 120, dtype=np.uint8)
    >>> model = Pixels(Gaussian(0.1))
    >>> for _ in range(40):
    ...     scores = model.step(wall)
    >>> visitor = wall.copy()
    >>> visitor[1:3, 2:4] = 250, 30, 30
    >>> (model.score(visitor) < 0.4).astype(int).tolist()
    [[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0]]
    """

    shape_: tuple[int, ...] = ()
    n_seen_: int = 0
    clock_: int = 0
    """Number of the next frame, stored with its points. Unlike `n_seen_` it may be set back."""

    def __init__(
        self,
        kernel: Kernel,
        *,
        budget: int = 20,
        tau: float = 0.02,
        C: float = 0.05,
        rho: float = 1.0,
        rule: str = "silk",
        dtype: str = "float64",
        threads: int | None = None,
    ) -> None:
        if type(kernel) not in (Gaussian, Laplacian) or kernel.compiled is None:
            raise ValueError(f"kernel must be Gaussian(sigma) or Laplacian(sigma) for pixels, got {kernel!r}")
        self.kernel = kernel
        self.budget = at_least("budget", budget, 1)
        self.tau = positive("tau", tau, zero=True, below=1.0)
        self.C = positive("C", C)
        self.rho = positive("rho", rho)
        self.rule = one_of("rule", rule, RULES)
        self.dtype = one_of("dtype", dtype, tuple(BIRTHS))
        self.threads = None if threads is None else at_least("threads", threads, 1)

    # -- public methods --------------------------------------------------------------------------------------------
    def score(self, frame: Any) -> npt.NDArray[Any]:
        """Return the scores (H, W) of a frame without learning. Low scores are novel; 0 means that nothing is known.

        A frame is (H, W) or (H, W, c): uint8 or uint16, which are scaled to [0, 1], or floats, taken as they are.
        """
        pixels = self._checked(frame)
        return self._swept(pixels, np.shape(frame)[:2], None, learn=False)

    def step(self, frame: Any, freeze: Any = None) -> npt.NDArray[Any]:
        """Return the scores (H, W) of a frame, then learn it.

        Pixels where `freeze` (H, W) is true are scored but not changed: they neither learn nor fade.
        """
        pixels = self._checked(frame)
        shape = np.shape(frame)
        frozen = None if freeze is None else _mask(freeze, shape[:2])
        if not self.shape_:
            self._start(shape)
        try:
            return self._swept(pixels, shape[:2], frozen, learn=True)
        finally:  # Ctrl-C takes effect when every band has learnt the frame
            self.n_seen_ += 1
            self.clock_ += 1
            if self.clock_ == np.iinfo(BIRTHS[self.dtype]).max:
                self._renumber()

    def run(self, frames: Any) -> npt.NDArray[Any]:
        """Do `step` for every frame of an array (T, H, W[, c]) or another iterable and return the scores (T, H, W)."""
        return self._stacked([self.step(frame) for frame in frames])

    def predict(self, frames: Any) -> npt.NDArray[Any]:
        """Return the `score` of several frames, (T, H, W), without learning."""
        return self._stacked([self.score(frame) for frame in frames])

    @property
    def ceiling(self) -> float:
        """The approximate score of a pixel of constant colour: rho, or less if the budget is too small.

        `budget` coefficients of the largest size, each (1 - tau) times the next, sum to C' (1 - (1 - tau)^budget) /
        tau, where C' is (1 - tau) C for "silk" and C for "norma".
        """
        terms = (1 - (1 - self.tau) ** self.budget) / self.tau if self.tau else float(self.budget)
        return min(self.rho, self._cap * terms)

    @property
    def n_seen(self) -> int:
        """Frames learnt from."""
        return self.n_seen_

    @property
    def size(self) -> int:
        """Largest number of stored colours of a pixel."""
        return int((self._coef > 0).sum(axis=1).max()) if self.shape_ else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the model holds."""
        return sum(a.nbytes for a in self._arrays) if self.shape_ else 0

    def merge(self, other: Any) -> NoReturn:
        """Raise an error: the state depends on the order of the frames."""
        raise TypeError(f"{type(self).__name__} cannot merge: its state depends on the order of the frames")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically. `nystream.load` reads it, and the model continues bit for bit."""
        persist.save(self, path)

    def to_bytes(self) -> bytes:
        """Return the model as bytes in the format of `save`, for `nystream.from_bytes`."""
        return persist.to_bytes(self)

    # -- one frame -------------------------------------------------------------------------------------------------
    def _checked(self, frame: Any) -> npt.NDArray[Any]:
        """Return the pixels (n, c), contiguous: bytes as they are, other numbers in the type of the state."""
        pixels = np.asarray(frame)
        if pixels.ndim not in (2, 3) or 0 in pixels.shape:
            raise ValueError(f"frame must be (height, width) or (height, width, channels), got shape {pixels.shape}")
        if self.shape_ and pixels.shape != self.shape_:
            raise ValueError(f"frame has shape {pixels.shape}, but the first had {self.shape_}; resize it")
        if pixels.dtype != np.uint8:
            pixels = self._numbers(pixels)
        return np.ascontiguousarray(pixels).reshape(pixels.shape[0] * pixels.shape[1], -1)

    def _numbers(self, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if pixels.dtype == np.uint16:
            return pixels.astype(self.dtype) / np.dtype(self.dtype).type(65535)
        if pixels.dtype.kind not in "bf":
            raise ValueError(f"frame must be uint8, uint16 or float, got {pixels.dtype}; the scale matters: convert it")
        with np.errstate(over="ignore"):
            numbers = pixels.astype(self.dtype)
        bad = ~np.isfinite(numbers)
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"frame has {numbers[where]} at {where}; pixels must be finite numbers")
        return numbers

    def _swept(
        self, pixels: npt.NDArray[Any], shape: tuple[int, ...], frozen: npt.NDArray[np.bool_] | None, learn: bool
    ) -> npt.NDArray[Any]:
        if not self.shape_:
            return np.zeros(shape, dtype=self.dtype)
        scores = np.empty(shape, dtype=self.dtype)
        tiles = len(self._coef)
        bands = max(1, min(self.threads or threads(), tiles // WORTH_A_THREAD))
        cuts = [tiles * i // bands for i in range(bands + 1)]

        def band(i: int) -> None:
            self._sweep.band(pixels, scores, frozen, self.clock_, learn, cuts[i], cuts[i + 1])

        run_parallel([partial(band, i) for i in range(bands)], bands)
        return scores

    def _stacked(self, scores: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.stack(scores) if scores else np.zeros((0, *self.shape_[:2]), dtype=self.dtype)

    @property
    def _cap(self) -> float:
        """Return the largest coefficient of a new term."""
        return (1.0 - self.tau) * self.C if self.rule == "silk" else self.C

    # -- state -----------------------------------------------------------------------------------------------------
    def _start(self, shape: tuple[int, ...]) -> None:
        n, c = shape[0] * shape[1], shape[2] if len(shape) == 3 else 1
        tiles = -(-n // TILE)
        points = np.zeros((tiles, self.budget, c, TILE), dtype=self.dtype)
        coef = np.zeros((tiles, self.budget, TILE), dtype=self.dtype)
        born = np.full((tiles, self.budget, TILE), -1, dtype=BIRTHS[self.dtype])
        self._bind((points, coef, born, np.ones((tiles, TILE), dtype=self.dtype)), n)
        self.shape_ = tuple(shape)

    def _bind(self, arrays: tuple[npt.NDArray[Any], ...], n: int) -> None:
        self._arrays = arrays
        self._coef = arrays[1]
        squared, limits = isinstance(self.kernel, Gaussian), np.finfo(self.dtype)
        sigma = float(self.kernel.get_params()["sigma"])
        rate = 0.5 / sigma / sigma if squared else 1 / sigma
        points, coef, born, scale = arrays
        self._sweep = Sweep(
            points,
            coef,
            born,
            scale,
            n,
            absolute=not squared,
            ring=self.rule == "norma",
            rate=-min(max(rate, float(limits.tiny)), float(limits.max)),  # 0 or infinity could make NaN of a distance
            keep=1.0 - self.tau,
            cap=self._cap,
            rho=self.rho,
        )

    def _renumber(self) -> None:
        """Replace the times of points by their ranks within the pixel; only their order matters."""
        born = self._arrays[2]
        ranks = born.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        born[:] = np.where(born < 0, -1, ranks)
        self.clock_ = self.budget

    def _state(self) -> dict[str, Any]:
        """Return the arrays by pixel, (n, ...), in a fixed layout."""
        state = super()._state()
        if self.shape_:
            n = self.shape_[0] * self.shape_[1]
            for name, array in zip(NAMES, self._arrays, strict=True):
                by_pixel = np.moveaxis(array, -1, 1)
                state[name] = np.ascontiguousarray(by_pixel.reshape(-1, *by_pixel.shape[2:])[:n])
        return state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if name not in NAMES})
        if self.shape_:
            self._start(self.shape_)
            for name, array in zip(NAMES, self._arrays, strict=True):
                tiles = np.moveaxis(array, -1, 1)
                by_pixel = tiles.reshape(-1, *tiles.shape[2:])  # a copy with the padding of the last tile
                by_pixel[: len(state[name])] = state[name]
                tiles[:] = by_pixel.reshape(tiles.shape)


def _mask(freeze: Any, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    mask = np.asarray(freeze)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise ValueError(f"freeze must be a boolean array of shape {shape}, got {mask.dtype} of shape {mask.shape}")
    return np.ascontiguousarray(mask)
