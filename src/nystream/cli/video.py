"""`nystream video`: find what is new in a video, with one kernel learner per pixel."""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nystream import datasets, persist
from nystream.cli import options as opt
from nystream.cli.pictures import Movie, SideBySide, Writer, write_mask
from nystream.cli.rows import DATASET
from nystream.evaluate.metrics.roc import ROC
from nystream.kernels import Gaussian
from nystream.runtime.params import at_least, positive
from nystream.streams.frames import Frames, open_frames
from nystream.video.pixels import Pixels

__all__ = ["video"]

UNKNOWN = (85, 170)
"""Values of a truth mask that are not scored: outside the region of interest, and unknown."""
FOREGROUND = 128
"""Other values of a truth mask are foreground from here on; so shadow, 50, is background."""

_FRAMES = (
    "A folder of images, a .zip or .tar of images, a movie, or an array (.npy, .npy.xz). The path may go on inside an "
    "archive and end in a pattern, as in clip.zip/input or 'clip/in*.jpg'. Or dataset:NAME."
)


def video(
    source: Annotated[str, typer.Argument(metavar="INPUT", help=_FRAMES)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for what is written.")],
    truth: Annotated[
        str | None,
        typer.Option(help="True masks, numbered like the frames: foreground 255, not scored 85 and 170 (CDnet)."),
    ] = None,
    rule: Annotated[str, typer.Option(help="silk, or norma: truncated gradient descent.")] = "silk",
    budget: Annotated[int, typer.Option(help="Colours stored per pixel.")] = 20,
    tau: Annotated[float, typer.Option(help="Decay per frame.")] = 0.02,
    C: Annotated[float, typer.Option("--C", help="How fast new colours are learnt: in about 1/C frames.")] = 0.05,
    sigma: Annotated[float, typer.Option(help="Width of the Gaussian kernel, for pixels from 0 to 1.")] = 0.1,
    threshold: Annotated[
        float | None, typer.Option(help="Foreground scores below; default: half of what a steady pixel reaches.")
    ] = None,
    every: Annotated[int, typer.Option(help="Write masks and pictures of every so many frames.")] = 1,
    movie: Annotated[
        bool, typer.Option("--movie", help="overlay.mp4 with the foreground marked, instead of pictures side by side.")
    ] = False,
    warmup: Annotated[int, typer.Option(help="First frames, which the ROC curve leaves out.")] = 40,
    first: Annotated[int, typer.Option(help="Number of the first frame of a movie or array.")] = 0,
    fps: Annotated[float, typer.Option(help="Frames per second of overlay.mp4.")] = 25.0,
    threads: Annotated[int | None, typer.Option(help="Threads; default: all processors.")] = None,
    save: opt.Save = None,
    resume: opt.Resume = None,
    quiet: opt.Quiet = False,
) -> None:
    """Score every pixel of a video against its own past; low scores are foreground.

    Each frame is scored before it is learnt. OUT gets masks/ and side/ (or overlay.mp4), summary.json, and with --truth
    roc.png. With --initial the saved model's settings count, not those given here.
    """
    at_least("--every", every, 1)
    at_least("--warmup", warmup, 0)
    positive("--fps", fps)
    kernel = Gaussian(sigma)
    fresh = Pixels(kernel, budget=budget, tau=tau, C=C, rule=rule, dtype="float32", threads=threads)
    model = fresh if resume is None else _resumed(resume)
    theta = model.ceiling / 2 if threshold is None else positive("--threshold", threshold)
    if source.startswith(DATASET):
        source = datasets.frames(source.removeprefix(DATASET))
    if truth is not None and truth.startswith(DATASET):
        truth = datasets.truth(truth.removeprefix(DATASET))
    frames = open_frames(source, first)
    masks = _Truth(open_frames(truth, first)) if truth is not None else None
    (out / "masks").mkdir(parents=True, exist_ok=True)
    writer: Writer = Movie(out / "overlay.mp4", fps) if movie else SideBySide(out / "side")
    watch = _Watch(model, theta, out, writer, masks, warmup, every)
    console = Console(stderr=True, quiet=quiet)
    try:
        _learn(console, frames, watch)
    except KeyboardInterrupt:
        console.print("stopped", highlight=False)
    finally:
        writer.close()
    if save is not None:
        persist.save(model, save)
    _report(source, watch)


class _Truth:
    """The true masks by frame number, read in parallel with the frames."""

    def __init__(self, frames: Frames) -> None:
        self._name, self._coming = frames.name, iter(frames)
        self._next: tuple[int, npt.NDArray[Any]] | None = next(self._coming, None)

    def of(self, number: int, shape: tuple[int, ...]) -> npt.NDArray[Any] | None:
        """Return the mask of that frame, whose numbers must not fall; None where there is none."""
        while self._next is not None and self._next[0] < number:
            self._next = next(self._coming, None)
        if self._next is None or self._next[0] > number:
            return None
        mask = self._next[1]
        mask = mask[..., 0] if mask.ndim == 3 else mask
        if mask.shape != shape:
            raise ValueError(f"mask {number} of {self._name} has shape {mask.shape}, the frames have {shape}")
        return mask


class _Watch:
    """The processing of frames: scores, files, counts."""

    def __init__(
        self, model: Pixels, theta: float, out: Path, writer: Writer, truth: _Truth | None, warmup: int, every: int
    ) -> None:
        self.model, self.theta, self.out = model, theta, out
        self._writer, self._truth, self._warmup, self._every = writer, truth, warmup, every
        self.roc = ROC() if truth is not None else None
        self.frames = self.scored = 0
        self.learning = 0.0
        self.shape: tuple[int, ...] = ()
        self.began = time.perf_counter()

    def add(self, number: int, frame: npt.NDArray[Any]) -> None:
        began = time.perf_counter()
        scores = self.model.step(frame)
        self.learning += time.perf_counter() - began
        mask = scores < self.theta
        if self.frames % self._every == 0:
            write_mask(self.out / "masks" / f"mask{number:06d}.png", mask)
            self._writer.add(number, frame, 1 - scores / self.model.ceiling, mask)
        if self._truth is not None and self.roc is not None and self.frames >= self._warmup:
            labels = self._truth.of(number, scores.shape)
            if labels is not None:
                known = ~np.isin(labels, UNKNOWN)
                self.roc.update(labels[known] >= FOREGROUND, -scores[known])
                self.scored += bool(known.any())
        self.frames += 1
        self.shape = scores.shape

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began


def _learn(console: Console, frames: Frames, watch: _Watch) -> None:
    columns = (
        TextColumn(Path(frames.name).name),
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]:.0f} frames/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=frames.total, speed=0.0)
        for number, frame in frames:
            watch.add(number, frame)
            progress.update(bar, advance=1, speed=watch.frames / watch.seconds)
    if not watch.frames:
        raise ValueError(f"{frames.name} has no frames")


def _report(source: str, watch: _Watch) -> None:
    """Print the summary, and write it as JSON and the ROC curve as a picture."""
    height, width = watch.shape or (0, 0)
    summary: dict[str, Any] = {
        "input": source,
        "model": repr(watch.model),
        "threshold": watch.theta,
        "frames": watch.frames,
        "height": height,
        "width": width,
        "seconds": watch.seconds,
        "frames_per_second_learning": watch.frames / max(watch.learning, 1e-9),
    }
    words = (
        f"{watch.frames} frames of {width} x {height} in {watch.seconds:.1f} s, files included (learning alone: "
        f"{summary['frames_per_second_learning']:.0f} frames/s); threshold {watch.theta:.3g}; see {watch.out}"
    )
    if watch.roc is not None:
        background, foreground = watch.roc.counts
        if not background or not foreground:
            raise ValueError("--truth has no frame with both foreground and background after the warm-up")
        summary["roc"] = {
            "area": watch.roc.area,
            "error": watch.roc.error,
            "frames": watch.scored,
            "foreground_pixels": foreground,
            "background_pixels": background,
        }
        labelled = f"{watch.scored} labelled frame{'s' * (watch.scored != 1)}"
        title = f"{'/'.join(Path(source).parts[-3:])}: {labelled}"
        importlib.import_module("nystream.plot.roc").roc_chart(
            {f"{watch.model.rule.upper()} per pixel": watch.roc}, watch.out / "roc.png", title=title
        )
        words += f"\nROC area {watch.roc.area:.4f} over {labelled}: {watch.out / 'roc.png'}"
    (watch.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    print(words)


def _resumed(path: Path) -> Pixels:
    model = persist.load(path)
    if not isinstance(model, Pixels):
        raise ValueError(f"{path} holds a {type(model).__name__}; nystream video goes on with a saved Pixels")
    return model
