"""`nystream video`: folders, archives, arrays and movies in; masks, pictures, a movie and a ROC curve out."""

from __future__ import annotations

import io
import json
import lzma
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from scipy.stats import rankdata

import nystream
from nystream.cli.app import call
from nystream.streams.frames import open_frames

iio = pytest.importorskip("imageio.v3", reason="pictures are part of the video extra")

SHAPE = (24, 30)


def clip(T=60, seed=0):
    """Frames (T, 24, 30, 3) of a noisy scene and from frame 45 on a block that moves; its masks (T, 24, 30)."""
    rng = np.random.default_rng(seed)
    scene = rng.integers(40, 200, size=(*SHAPE, 3))
    frames = np.clip(scene + rng.normal(0, 4, size=(T, *SHAPE, 3)), 0, 255).astype(np.uint8)
    masks = np.zeros((T, *SHAPE), dtype=np.uint8)
    for t in range(45, T):
        place = (slice(6, 14), slice((2 * t) % 22, (2 * t) % 22 + 8))
        frames[(t, *place)] = 255 - frames[(t, *place)] // 2
        masks[(t, *place)] = 255
    return frames, masks


@pytest.fixture
def folder(tmp_path):
    """The clip as images in000100.png, ... and masks gt000145.png, ... with shadow and unknown pixels."""
    frames, masks = clip()
    for name in ("input", "truth"):
        (tmp_path / name).mkdir()
    for t, frame in enumerate(frames):
        iio.imwrite(tmp_path / "input" / f"in{100 + t:06d}.png", frame)
    masks[:, 0], masks[:, 1], masks[:, 2] = 50, 85, 170
    for t in range(45, 60):
        iio.imwrite(tmp_path / "truth" / f"gt{100 + t:06d}.png", masks[t])
    return tmp_path


def pictures(path):
    return {int(f.stem[-6:]): iio.imread(f) for f in sorted(path.iterdir())}


def test_masks_are_those_of_the_library_and_pictures_stand_beside_them(folder, capsys):
    assert call(["video", str(folder / "input"), str(folder / "out"), "-q", "--every", "7"]) == 0
    frames, _ = clip()
    model = nystream.Pixels(nystream.Gaussian(0.1), dtype="float32")
    expected = model.run(frames) < model.ceiling / 2
    masks = pictures(folder / "out" / "masks")
    assert list(masks) == list(range(100, 160, 7))
    for number, mask in masks.items():
        assert_array_equal(mask, np.where(expected[number - 100], 255, 0))
    side = pictures(folder / "out" / "side")
    assert list(side) == list(masks)
    last = side[156]
    assert last.shape == (24, 3 * 30 + 8, 3)
    assert_array_equal(last[:, :30], frames[56])
    assert_array_equal(last[:, -30:, 0], masks[156])
    assert 0 < expected[56].mean() < 0.5
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["frames"] == 60
    assert (summary["height"], summary["width"]) == SHAPE
    assert not (folder / "out" / "roc.png").exists()
    said = capsys.readouterr()
    assert said.out.startswith("60 frames of 30 x 24 in ")
    assert said.err == ""


def test_the_area_is_the_rank_formula_over_labelled_pixels(folder, capsys):
    arguments = [
        "video",
        str(folder / "input"),
        str(folder / "out"),
        "--truth",
        str(folder / "truth"),
        "-q",
        "--warmup",
        "50",
    ]
    assert call([*arguments, "--rule", "norma", "--budget", "9", "--tau", "0.01", "--C", "0.2", "--sigma", "0.2"]) == 0
    frames, masks = clip()
    model = nystream.Pixels(nystream.Gaussian(0.2), budget=9, tau=0.01, C=0.2, rule="norma", dtype="float32")
    scores = -model.run(frames)[50:, 3:].ravel()
    truth = masks[50:, 3:].ravel() == 255
    shadow = -model.clone().run(frames)[50:, 0].ravel()
    scores, truth = np.r_[scores, shadow], np.r_[truth, np.zeros(len(shadow), bool)]
    ranks, n = rankdata(scores), truth.sum()
    area = (ranks[truth].sum() - n * (n + 1) / 2) / n / (~truth).sum()
    found = json.loads((folder / "out" / "summary.json").read_text())["roc"]
    assert_allclose(found["area"], area, rtol=0, atol=found["error"] + 1e-12)
    assert found["error"] < 1e-3
    assert found["frames"] == 10
    assert found["foreground_pixels"] == n
    assert iio.imread(folder / "out" / "roc.png").shape[0] > 300
    assert f"ROC area {area:.3f}"[:-1] in capsys.readouterr().out


def test_folders_archives_arrays_and_patterns_give_the_same_frames(folder):
    frames, masks = clip()
    with zipfile.ZipFile(folder / "clip.zip", "w") as archive:
        for name in ("input", "truth"):
            for file in (folder / name).iterdir():
                archive.write(file, f"clip/{name}/{file.name}")
    with tarfile.open(folder / "clip.tar.xz", "w:xz") as archive:
        archive.add(folder / "input", "frames")
        archive.add(folder / "truth" / "gt000145.png", "frames/hand_145.png")
    np.save(folder / "clip.npy", frames)
    (folder / "clip.npy.xz").write_bytes(lzma.compress((folder / "clip.npy").read_bytes()))
    for spec in ("input", "clip.zip/clip/input", "clip.tar.xz/frames/in*", "input/in*.png"):
        found = open_frames(str(folder / spec))
        assert found.total == 60
        assert [n for n, _ in found] == list(range(100, 160))
        assert_array_equal(np.stack([frame for _, frame in found]), frames)
    for spec in ("clip.npy", "clip.npy.xz"):
        found = open_frames(str(folder / spec), first=100)
        assert [n for n, _ in found] == list(range(100, 160))
        assert_array_equal(np.stack([frame for _, frame in found]), frames)
    assert [n for n, _ in open_frames(str(folder / "clip.tar.xz/frames/hand*"))] == [145]
    single = dict(open_frames(str(folder / "truth" / "gt000150.png")))
    assert list(single) == [150]
    assert_array_equal(single[150][3:], masks[50, 3:])


def test_images_without_numbers_come_in_the_order_of_their_names(tmp_path):
    for name, value in (("b", 20), ("a", 10), ("c", 30)):
        iio.imwrite(tmp_path / f"{name}.png", np.full((4, 4), value, dtype=np.uint8))
    (tmp_path / "notes.txt").write_text("not an image")
    assert [(n, int(f[0, 0])) for n, f in open_frames(str(tmp_path))] == [(0, 10), (1, 20), (2, 30)]


def test_grey_alpha_and_black_and_white_pictures_are_made_plain(tmp_path):
    grey = np.arange(16, dtype=np.uint8).reshape(4, 4)
    iio.imwrite(tmp_path / "a1.png", np.dstack([grey, grey, grey, np.full_like(grey, 9)]))
    assert_array_equal(next(iter(open_frames(str(tmp_path / "a1.png"))))[1], np.dstack([grey] * 3))
    Image.fromarray(grey > 7).save(tmp_path / "b1.png")
    assert_array_equal(next(iter(open_frames(str(tmp_path / "b1.png"))))[1], np.where(grey > 7, 255, 0))
    np.save(tmp_path / "c.npy", grey[None, ..., None])
    assert next(iter(open_frames(str(tmp_path / "c.npy"))))[1].shape == (4, 4)


def test_a_movie_is_written_and_read(folder):
    pytest.importorskip("av", reason="movies are part of the video extra")
    frames, _ = clip()
    np.save(folder / "odd.npy", frames[:, :23, :29])
    assert call(["video", str(folder / "odd.npy"), str(folder / "out"), "-q", "--movie", "--fps", "10"]) == 0
    assert not (folder / "out" / "side").exists()
    movie = open_frames(str(folder / "out" / "overlay.mp4"), first=7)
    numbers, found = zip(*movie, strict=True)
    assert movie.total == len(found) == 60
    assert numbers == tuple(range(7, 67))
    assert found[0].shape == (24, 30, 3)
    mask = iio.imread(folder / "out" / "masks" / "mask000059.png") == 255
    red = found[59].astype(float)[:23, :29]
    assert (red[..., 0] - red[..., 2])[mask].mean() > 50 > abs(red[..., 0] - red[..., 2])[~mask].mean()


def test_a_saved_model_goes_on(folder):
    frames, _ = clip()
    for name, part in (("whole", frames), ("first", frames[:40]), ("second", frames[40:])):
        np.save(folder / f"{name}.npy", part)
    model = str(folder / "m.nys")
    assert call(["video", str(folder / "whole.npy"), str(folder / "a"), "-q"]) == 0
    assert call(["video", str(folder / "first.npy"), str(folder / "b"), "-q", "-f", model]) == 0
    assert call(["video", str(folder / "second.npy"), str(folder / "b"), "-q", "-i", model, "--first", "40"]) == 0
    whole, parts = pictures(folder / "a" / "masks"), pictures(folder / "b" / "masks")
    assert list(whole) == list(parts)
    for number, mask in whole.items():
        assert_array_equal(mask, parts[number])


def test_the_threshold_decides(folder):
    for theta in ("1e-9", "5"):
        assert (
            call(["video", str(folder / "input"), str(folder / theta), "-q", "--threshold", theta, "--every", "59"])
            == 0
        )
    low, high = (pictures(folder / theta / "masks")[159] for theta in ("1e-9", "5"))
    assert (low == 255).mean() < 0.2
    assert (high == 255).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing", "out"], "no file or folder 'missing'"),
        (["input/none", "out"], "no file or folder 'input/none'"),
        (["input/x*", "out"], "input/x* holds no images"),
        (["notes.txt", "out"], "notes.txt is not a video: give a folder of images"),
        (["broken.zip", "out"], "broken.zip: File is not a zip file"),
        (["broken.tar", "out"], "broken.tar: "),
        (["broken.npy", "out"], "broken.npy is not an array"),
        (["flat.npy", "out"], "must hold frames (frames, height, width[, channels])"),
        (["short.npy", "out"], "ends in frame 1 of 3: it is truncated"),
        (["none.npy", "out"], "none.npy has no frames"),
        (["whole.npy", "out"], "frame must be uint8, uint16 or float, got int64"),
        (["mixed", "out"], "frame 2 of mixed has shape (5, 4), the first has (4, 4)"),
        (["twice", "out"], "twice: in000001.png has the number of gt000001.png; choose"),
        (["partly", "out"], "partly: roi.png has no number in its name; choose the frames with a pattern"),
        (["spoilt", "out"], "spoilt: a1.png is not an image that can be read"),
        (["two.zip", "out"], "two.zip has images in clip/a, clip/b; say which"),
        (["input", "out", "--truth", "small"], "--truth has no frame with both"),
        (
            ["input", "out", "--truth", "small", "--warmup", "0"],
            "mask 100 of small has shape (4, 4), the frames have (24, 30)",
        ),
        (["input", "out", "--rule", "ilk"], "rule must be one of"),
        (["input", "out", "--sigma", "0"], "sigma must be"),
        (["input", "out", "--every", "0"], "--every must be a whole number of at least 1"),
        (["input", "out", "-i", "kernel.nys"], "kernel.nys holds a Gaussian"),
        (["input"], "Missing argument"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(folder, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(folder)
    _spoil(Path())
    assert call(["video", *arguments, "-q"]) == 2
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert refusal.startswith("nystream: ")
    assert message in refusal


def _spoil(folder):
    """Files with something wrong in each."""
    small = np.zeros((4, 4), dtype=np.uint8)
    for name in ("broken.zip", "broken.tar", "broken.npy", "notes.txt"):
        (folder / name).write_text("nothing of the kind")
    np.save(folder / "flat.npy", small)
    np.save(folder / "none.npy", np.zeros((0, 4, 4), dtype=np.uint8))
    np.save(folder / "whole.npy", np.zeros((2, 4, 4), dtype=int))
    content = io.BytesIO()
    np.save(content, np.zeros((3, 4, 4), dtype=np.uint8))
    (folder / "short.npy").write_bytes(content.getvalue()[:-20])
    for name in ("mixed", "twice", "partly", "spoilt", "small"):
        (folder / name).mkdir()
    for name in ("mixed/a1", "twice/in000001", "twice/gt000001", "partly/a1", "partly/roi", "small/gt000100"):
        iio.imwrite(folder / f"{name}.png", small)
    iio.imwrite(folder / "mixed" / "a2.png", np.zeros((5, 4), dtype=np.uint8))
    (folder / "spoilt" / "a1.png").write_bytes(b"no picture")
    with zipfile.ZipFile(folder / "two.zip", "w") as archive:
        for name in ("a", "b"):
            archive.write(folder / "mixed" / "a1.png", f"clip/{name}/a1.png")
    nystream.save(nystream.Gaussian(1.0), folder / "kernel.nys")


def test_without_imageio_the_refusal_names_the_extra(folder):
    program = (
        "import sys; sys.modules['imageio'] = sys.modules['imageio.v3'] = None; from nystream.cli.app import call;"
        f"sys.exit(call(['video', {str(folder / 'input')!r}, {str(folder / 'out')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("nystream: pictures and movies need two more packages: pip install 'nystream[video]'")
    assert done.stderr.count("\n") == 1
