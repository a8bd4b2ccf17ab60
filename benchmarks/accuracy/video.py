"""Per-pixel novelty on real video, beside OpenCV's background subtractors on the same frames in the same run.

Run: python benchmarks/accuracy/video.py [OUT]        (benchmarks/accuracy/environment-video.txt lists what it needs)

highway (CDnet 2012, baseline; frames 300..1100 at 320 x 240, labelled from 470): frames per second with two threads,
and the area under the ROC curve over all labelled pixels. Parameters are the defaults of each library; nothing was
tuned on the labels. OpenCV gives masks, not scores: its decision threshold is swept over THRESHOLDS, one pass over the
video each, and the area is that of the straight lines through the points and the corners. MOG2 learns independently of
that threshold; KNN's update uses it. "same points" is our own curve read at MOG2's false positive rates and joined by
straight lines, which costs a little area.

The lights that go on and off (LightSwitch) are in `nystream reproduce ilk-figure2`, with a picture.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from nystream import Gaussian, Pixels
from nystream.evaluate.metrics.roc import ROC
from nystream.streams.frames import open_frames

try:
    import cv2
except ImportError:
    cv2 = None

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("NYSTREAM_DATA", ROOT.parent / "shared" / "data")) / "video"
THREADS = 2
LABELLED = 470
ROUNDS = 15
THRESHOLDS = {
    "MOG2": [0.25, 0.5, 1, 2, 4, 6, 9, 12, 16, 24, 36, 60, 100, 200, 400, 1000, 4000],
    "KNN": [1, 3, 10, 25, 50, 100, 200, 300, 400, 600, 900, 1400, 2200, 4000, 8000, 16000, 40000],
}
TARGETS = {"frames/s": 25, "area": 0.97}
PIXELS = {
    "SILK, float64": {},
    "SILK, float32": {"dtype": "float32"},
    "NORMA, float32": {"dtype": "float32", "rule": "norma"},
}


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out" / "video")
    out.mkdir(parents=True, exist_ok=True)
    results = {"highway": highway()}
    results["versions"] = {
        name: importlib.metadata.version(name)
        for name in ("nystream", "numpy", "opencv-python-headless")
        if name != "opencv-python-headless" or cv2 is not None
    }
    (out / "video.json").write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nreadings: {out / 'video.json'}")


# -- highway -------------------------------------------------------------------------------------------------------
def highway() -> dict[str, dict[str, float]]:
    frames = dict(open_frames(str(DATA / "highway.zip" / "highway" / "input")))
    masks = dict(open_frames(str(DATA / "highway.zip" / "highway" / "groundtruth")))
    truth = {n: m if m.ndim == 2 else m[..., 0] for n, m in masks.items() if n >= LABELLED}
    print(f"highway: {len(frames)} frames of 320 x 240, {len(truth)} labelled, {THREADS} threads")
    if cv2 is None:
        print("OpenCV is not installed: pip install -r benchmarks/accuracy/environment-video.txt")
    else:
        cv2.setNumThreads(THREADS)
    rows = {name: {"frames/s": speed} for name, speed in speeds(list(frames.values())).items()}
    points = {name: theirs(name, frames, truth) for name in THRESHOLDS if cv2 is not None}
    for name, curve in points.items():
        rows[name]["area"] = float(np.trapezoid(curve[:, 1], curve[:, 0]))
    for name in PIXELS:
        roc = ours(name, frames, truth)
        rows[name]["area"] = roc.area
        if points:
            at, (false, true, _) = points["MOG2"][:, 0], roc.curve()
            rows[name]["same points"] = float(np.trapezoid(np.interp(at, false, true), at))
    print(f"{'':>16} {'frames/s':>9} {'area':>7} {'same points':>12}")
    for name, row in rows.items():
        same = f"{row['same points']:>12.4f}" if "same points" in row else ""
        print(f"{name:>16} {row['frames/s']:>9.0f} {row['area']:>7.4f} {same}")
    print(f"{'wanted':>16} {TARGETS['frames/s']:>9} {TARGETS['area']:>7}")
    return rows


def speeds(frames: list[np.ndarray]) -> dict[str, float]:
    """Frames per second, scoring and learning: the best of several rounds in which all take turns on one clip."""
    workers = {name: Pixels(Gaussian(0.1), threads=THREADS, **setting).step for name, setting in PIXELS.items()}
    if cv2 is not None:
        workers |= {name: subtractor(name).apply for name in THRESHOLDS}
    best = dict.fromkeys(workers, 0.0)
    for start in range(0, 40 * ROUNDS, 40):
        for name, work in workers.items():
            began = time.perf_counter()
            for picture in frames[start : start + 40]:
                work(picture)
            speed = 40 / (time.perf_counter() - began)
            best[name] = max(best[name], speed if start else 0.0)  # the first round fills the buffers
    return best


def ours(name: str, frames: dict, truth: dict) -> ROC:
    model, roc = Pixels(Gaussian(0.1), threads=THREADS, **PIXELS[name]), ROC()
    for n, picture in frames.items():
        scores = model.step(picture)
        if n in truth:
            known = scored(truth[n])
            roc.update(truth[n][known] == 255, -scores[known])
    return roc


def theirs(name: str, frames: dict, truth: dict) -> np.ndarray:
    """Points (false positive rate, true positive rate) of OpenCV's ROC curve, corners included."""
    points = [(0.0, 0.0), (1.0, 1.0)]
    for threshold in THRESHOLDS[name]:
        model, counts = subtractor(name, threshold), np.zeros((2, 2))
        for n, picture in frames.items():
            mask = model.apply(picture)
            if n in truth:
                known = scored(truth[n])
                counts += np.bincount(2 * (truth[n][known] == 255) + (mask[known] == 255), minlength=4).reshape(2, 2)
        false, true = counts[:, 1] / counts.sum(axis=1)
        points.append((float(false), float(true)))
    return np.array(sorted(points))


def subtractor(name: str, threshold: float | None = None) -> object:
    """OpenCV's subtractor with its defaults, but for the threshold if one is given."""
    if name == "MOG2":
        return cv2.createBackgroundSubtractorMOG2(
            varThreshold=16 if threshold is None else threshold, detectShadows=False
        )
    return cv2.createBackgroundSubtractorKNN(
        dist2Threshold=400 if threshold is None else threshold, detectShadows=False
    )


def scored(mask: np.ndarray) -> np.ndarray:
    """Pixels that count: not outside the region (85), not unknown (170); shadow (50) counts as background."""
    return (mask != 85) & (mask != 170)


if __name__ == "__main__":
    main()
