"""Implicit updates, done again: the machinery on small data."""

import numpy as np
import pytest

from nystream.reproduce import Setting, find, ilk_shaking
from nystream.reproduce.ilk_digits import TASKS, learners, selected
from nystream.reproduce.ilk_drifting import METHODS, at_equal_steps, mistakes, tuned, without_decay
from nystream.reproduce.ilk_video import clip, curve, model, recovery


def test_every_method_on_drifting_gaussians_has_as_many_settings() -> None:
    sizes = {name: np.prod([len(values) for values in grid.values()]) for name, (_, grid) in METHODS.items()}
    assert len(set(sizes.values())) == 1


def test_without_decay_old_places_of_the_classes_spoil_the_prediction() -> None:
    choice = tuned("ILK", seeds=(1000,), extensions=0)
    make = METHODS["ILK"][0]
    assert mistakes(make(**without_decay(choice.setting)), 0).sum() > 2 * mistakes(make(**choice.setting), 0).sum()


def test_equal_steps_leave_out_what_norma_cannot_do() -> None:
    pairs = [(eta, lam) for eta, lam, _, _ in at_equal_steps(1)]
    assert (10.0, 0.1) not in pairs
    assert len(pairs) == 14


@pytest.mark.parametrize("task", TASKS, ids=lambda t: t.name)
def test_every_method_learns_digits_like_pictures_with_as_many_settings(task) -> None:
    rng = np.random.default_rng(0)
    digits = rng.integers(0, 10, size=300)
    images = np.clip(255 * (np.repeat(np.eye(10)[digits], 30, axis=1) + 0.3 * rng.uniform(size=(300, 300))), 0, 255)
    X, y = task.prepared(images, digits)
    tried = set()
    for make, grid in learners(task, budget=50).values():
        if grid is not None:
            choice = selected(make, grid, X, y, extensions=0)
            tried.add(choice.tried)
            assert choice.score < 40.0
    assert tried == {9}


def test_the_made_clip_has_a_block_that_pixels_find() -> None:
    frames = clip(0)
    assert len(frames) == 300
    assert frames[39][1].sum() == 0
    assert frames[40][1].sum() == 14 * 12
    assert np.mean(frames[160][0]) < 0.6 * np.mean(frames[149][0])
    roc = curve(model("SILK"), frames[:140], range(45, 140))
    assert roc.area > 0.97


def test_recovery_counts_frames_until_ten_are_calm() -> None:
    share = np.r_[np.zeros(5), np.full(7, 90.0), [10.0], [50.0], np.full(12, 3.0)]
    assert recovery(share, 5) == 9
    assert recovery(np.full(30, 90.0), 5) is None


def test_a_quick_run_of_the_drifting_gaussians_has_tables_panels_and_remarks() -> None:
    told: list[str] = []
    outcome = find("ilk-figure1").run(Setting(quick=True, progress=lambda what, done, total: told.append(what)))
    assert [len(table.rows) for table in outcome.tables] == [4, 14]
    assert len(outcome.panels) == 2
    assert "robust" in outcome.remarks[1]
    assert set(told) == {"tuned methods"}


def test_a_shaken_clip_has_the_shapes_of_the_still_one_and_the_masks_move_along(monkeypatch) -> None:
    pictures = {n: np.random.default_rng(n).integers(0, 255, (20, 24, 3)) for n in (599, 600, 601)}
    monkeypatch.setattr(ilk_shaking.datasets, "frames", lambda name, data: "frames")
    monkeypatch.setattr(ilk_shaking.datasets, "truth", lambda name, data: "truth")
    masks = {n: np.where(p[..., 0] > 127, 255, 0) for n, p in pictures.items()}
    monkeypatch.setattr(ilk_shaking, "open_frames", lambda f: (pictures if f == "frames" else masks).items())
    (still, begin), (moved, _) = (ilk_shaking.shaken(None, far, 2) for far in (0, 3))
    assert begin == 1
    assert [f.shape for f, _ in still] == [f.shape for f, _ in moved] == [(7, 9, 3)] * 3
    assert any((a != b).any() for (a, _), (b, _) in zip(still, moved, strict=True))
    for picture, mask in moved:
        np.testing.assert_array_equal(mask == 1, picture[..., 0] > 127)
