"""ilk-figure3: what is new in a video whose camera shakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nystream import datasets
from nystream.reproduce.experiment import Experiment, Setting
from nystream.reproduce.ilk_video import CHOOSING, RULES, Frame, curve, masked, model, selected, sheet
from nystream.reproduce.outcome import Line, Outcome, Panel, Picture, Table
from nystream.reproduce.selection import Choice
from nystream.runtime.types import Array
from nystream.streams.frames import open_frames

__all__ = ["EXPERIMENT", "shaken"]

FAR = 3
"""Largest shift in pixels, down and to the right."""
LOOK = 750
"""The frame that is shown."""


def shaken(data: Any, far: int, thin: int, seed: int = 0) -> tuple[list[Frame], int]:
    """Return the frames of `highway` as seen by a camera that moves by up to `far` pixels from frame to frame.

    Frames keep every `thin`-th pixel both ways, of the part of the picture that is always in sight; this is the same
    part for any `far`. The second value is the frame at which reporting begins.
    """
    rng = np.random.default_rng(seed)
    truth = dict(open_frames(datasets.truth("highway", data)))
    frames: list[Frame] = []
    begin = 0
    for number, picture in open_frames(datasets.frames("highway", data)):
        begin = len(frames) if number <= CHOOSING else begin
        down, right = FAR + rng.integers(-far, far + 1, 2)
        height, width = picture.shape[0] - 2 * FAR, picture.shape[1] - 2 * FAR
        window = np.s_[down : down + height : thin, right : right + width : thin]
        frames.append((picture[window], masked(truth[number][window]) if number >= 470 else None))
    return frames, begin


def run(setting: Setting) -> Outcome:
    """Measure the areas under the ROC curve with a still and with a shaking camera."""
    thin, sizes = (8, (20,)) if setting.quick else (4, (5, 20, 60))
    rows: list[tuple[int, str, int, float, str]] = []
    chosen: dict[str, Choice] = {}
    for far in (0, 1, FAR):
        frames, begin = shaken(setting.data, far, thin)
        for method in setting.each(RULES, f"shifts up to {far}"):
            choice = chosen[method] = selected(method, frames[:begin], extensions=0)
            for budget in sizes:
                learner = model(method, budget=budget, **choice.setting)
                roc = curve(learner, frames, range(begin, len(frames)))
                rows.append((far, method, budget, roc.area, choice.text()))
    place = begin + LOOK - CHOOSING
    pictures: list[npt.NDArray[Any]] = [_grey(frames[place][0])]
    for method in RULES:
        learner = model(method, budget=sizes[-1], **chosen[method].setting)
        for picture, _ in frames[:place]:
            learner.step(picture)
        pictures.append(255.0 * (learner.step(frames[place][0]) < learner.ceiling / 2))
    table = Table(
        "highway from frame 600 on: area under the ROC curve",
        ("largest shift, pixels", "method", "stored colours of a pixel", "area", "chosen"),
        tuple(rows),
        4,
    )
    panels = []
    for far in (0, 1, FAR):
        area = {(method, budget): value for f, method, budget, value, _ in rows if f == far}
        curves = tuple(Line(m, sizes, tuple(area[m, b] for b in sizes), dashed=m != "SILK") for m in RULES)
        panels.append(Panel(f"shifts of up to {far} pixels", "stored colours of a pixel", "area under the ROC", curves))
    title = f"frame {LOOK} of the shaken clip; foreground by {' and by '.join(RULES)}"
    shown = Picture(title, sheet([pictures]))
    return Outcome((table,), tuple(panels), (_remark(rows, sizes[-1]),), (shown,))


def _grey(picture: Any) -> Array:
    grey = picture if picture.ndim == 2 else picture.mean(axis=2)
    return np.asarray(grey, dtype=np.float64)


def _remark(rows: list[tuple[int, str, int, float, str]], budget: int) -> str:
    area = {(far, method): value for far, method, b, value, _ in rows if b == budget}
    return (
        "; ".join(
            f"{method}, {budget} colours: {area[0, method]:.4f} with a still camera, {area[1, method]:.4f} with shifts "
            f"of up to 1 pixel, {area[FAR, method]:.4f} of up to {FAR}"
            for method in RULES
        )
        + "."
    )


EXPERIMENT = Experiment(
    "ilk-figure3",
    "Novelty in a video whose camera shakes.",
    "Cheng, Vishwanathan, Schuurmans, Wang, Caelli, Implicit Online Learning with Kernels (2006), Figure 3.",
    "The paper's clip is not public. highway (CDnet), every fourth pixel both ways; before every frame the camera is "
    "moved by a random number of pixels, at most 0, 1 or 3 in each direction, and the masks with it. One learner per "
    "pixel, tau = 0.02, every frame scored before it is learnt. Width and C are chosen by the area over labelled "
    "frames 470 to 599 with 20 colours, from nine settings for each method and shift; areas over frames 600 to 1100. "
    "Quick: every eighth pixel, 20 colours.",
    run,
    ("highway",),
)
