"""Pixels: one scalar learner per pixel, whatever the layout, the threads and the kind of frame."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Gaussian, Laplacian, Pixels
from nystream.losses import Novelty
from oracles.expansion import SlowExpansion, norma, silk

SIGMA = 0.15


def clip(T=60, H=4, W=5, c=3, seed=0, noise=4):
    """A scene of two alternating colours per pixel with byte noise, and a block that passes from frame 40 on."""
    rng = np.random.default_rng(seed)
    scenes = rng.integers(30, 226, size=(2, H, W, c))
    pick = rng.random((T, H, W)) < 0.3
    frames = np.where(pick[..., None], scenes[1], scenes[0]) + rng.integers(-noise, noise + 1, size=(T, H, W, c))
    for t in range(40, T):
        frames[t, H // 2, (t - 40) % W] = 255 - frames[t, H // 2, (t - 40) % W]
    frames = np.clip(frames, 0, 255).astype(np.uint8)
    return frames[..., 0] if c == 1 else frames


def looped(make, frames):
    """One learner of nystream per pixel, one after the other."""
    T, H, W = frames.shape[:3]
    X = frames.reshape(T, H * W, -1) / 255.0
    return np.stack([make().run(np.ascontiguousarray(X[:, i])) for i in range(H * W)], axis=1).reshape(T, H, W)


# -- oracles -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "setting", [{}, {"tau": 0.0, "C": 0.3}, {"tau": 0.3, "C": 0.6, "budget": 3}, {"rho": 0.4, "budget": 6}]
)
@pytest.mark.parametrize("kernel", [Gaussian(SIGMA), Laplacian(SIGMA)], ids=repr)
def test_every_pixel_is_a_silk(kernel, setting):
    frames = clip(T=120)
    params = {"tau": 0.02, "C": 0.05, "budget": 20, **setting}
    loss = Novelty(params.pop("rho", 1.0))
    expected = looped(lambda: nystream.SILK(kernel, loss=loss, **params), frames)
    assert_allclose(Pixels(kernel, **setting).run(frames), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("setting", [{}, {"tau": 0.05, "C": 0.3, "budget": 5}, {"rho": 0.4}])
def test_every_pixel_is_a_truncated_norma(setting):
    frames = clip(T=120)
    params = {"tau": 0.02, "C": 0.05, "budget": 20, "rho": 1.0, **setting}
    loss, eta = Novelty(params["rho"]), params["C"]
    expected = looped(
        lambda: nystream.NORMA(Gaussian(SIGMA), loss=loss, eta=eta, lam=params["tau"] / eta, budget=params["budget"]),
        frames,
    )
    assert_allclose(Pixels(Gaussian(SIGMA), rule="norma", **setting).run(frames), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", ["silk", "norma"])
def test_pixels_agree_with_lists_of_terms_written_slowly(rule):
    frames = clip(T=60, H=2, W=2)
    X = frames.reshape(60, 4, 3) / 255.0
    P = Pixels(Gaussian(SIGMA), budget=5, rule=rule).run(frames).reshape(60, 4)
    for i in range(4):
        f = SlowExpansion(sigma=SIGMA)
        if rule == "silk":
            slow, _ = silk(X[:, i], np.zeros(60), Novelty(), lam=0.02 / 0.98, C=0.05, budget=5, f=f)
        else:
            slow, *_ = norma(X[:, i], np.zeros(60), Novelty(), eta=0.05, lam=0.4, budget=5, f=f)
        assert_allclose(P[:, i], slow[:, 0], rtol=1e-12, atol=1e-12)


def test_a_frozen_pixel_is_one_that_did_not_see_the_frame():
    frames = clip(T=80, c=1)
    frozen = np.random.default_rng(1).random(frames.shape) < 0.5
    model = Pixels(Gaussian(SIGMA), budget=6)
    for frame, freeze in zip(frames, frozen, strict=True):
        model.step(frame, freeze)
    last = model.score(frames[0])
    for i, j in np.ndindex(frames.shape[1:]):
        seen = frames[~frozen[:, i, j], i, j, None, None]
        alone = Pixels(Gaussian(SIGMA), budget=6)
        alone.run(seen)
        assert_allclose(last[i, j], alone.score(frames[0, i : i + 1, j : j + 1])[0, 0], rtol=1e-12, atol=1e-14)


# -- laws ----------------------------------------------------------------------------------------------------------
SETTINGS = [{}, {"rule": "norma"}, {"dtype": "float32"}, {"dtype": "float32", "rule": "norma", "tau": 0.3}]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_scoring_changes_nothing_and_is_what_step_returns(setting):
    frames = clip()
    model = Pixels(Gaussian(SIGMA), budget=4, **setting)
    model.run(frames[:50])
    before = model.to_bytes()
    P = model.predict(frames[50:])
    assert_array_equal(P[0], model.score(frames[50]))
    assert model.to_bytes() == before
    assert_array_equal(model.step(frames[50]), P[0])
    assert model.n_seen == 51


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_run_is_the_loop_of_step_and_blocks_may_be_cut_anywhere(setting):
    frames = clip()
    block, rows = (Pixels(Gaussian(SIGMA), budget=4, **setting) for _ in range(2))
    assert_array_equal(block.run(frames), np.stack([rows.step(f) for f in frames]))
    assert block.to_bytes() == rows.to_bytes()
    parts = Pixels(Gaussian(SIGMA), budget=4, **setting)
    assert_array_equal(np.concatenate([parts.run(frames[:17]), parts.run(iter(frames[17:]))]), rows.clone().run(frames))
    assert parts.run(frames[:0]).shape == (0, 4, 5)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("c", [1, 3])
def test_saved_and_loaded_it_goes_on_bit_for_bit(setting, c, tmp_path):
    frames = clip(c=c, T=90)
    for cut in (0, 1, 33):
        stayed = Pixels(Gaussian(SIGMA), budget=4, **setting)
        stayed.run(frames[:cut])
        stayed.save(tmp_path / "model.nys")
        resumed = nystream.load(tmp_path / "model.nys")
        assert repr(resumed) == repr(stayed)
        assert resumed.n_seen == cut
        twins = [resumed, copy.deepcopy(stayed), pickle.loads(pickle.dumps(stayed))]
        expected = stayed.run(frames[cut:])
        for twin in twins:
            assert_array_equal(twin.run(frames[cut:]), expected)
            assert twin.to_bytes() == stayed.to_bytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_change_no_bit(dtype):
    frames = clip(H=90, W=101, T=45)  # 143 tiles: enough for four bands
    freeze = np.random.default_rng(0).random((90, 101)) < 0.2
    models = [Pixels(Gaussian(SIGMA), budget=5, dtype=dtype, threads=threads) for threads in (1, 2, 3, 64, None)]
    results = [
        (m.run(frames[:40]), m.step(frames[40], freeze), m.score(frames[41]), *m._state().values()) for m in models
    ]
    for other in results[1:]:
        assert len(other) == len(results[0]) == 10
        for a, b in zip(other, results[0], strict=True):
            assert_array_equal(a, b)


def test_a_clone_shares_no_memory():
    frames = clip()
    model = Pixels(Gaussian(SIGMA), budget=4)
    model.run(frames[:30])
    before = model.to_bytes()
    twin, fresh = copy.deepcopy(model), model.clone()
    twin.run(frames[30:])
    fresh.run(frames[30:])
    assert model.to_bytes() == before


def test_the_budget_holds_and_memory_does_not_grow():
    frames = clip(T=60)
    model = Pixels(Gaussian(SIGMA), budget=7)
    assert model.size == model.nbytes == 0
    model.step(frames[0])
    assert model.size == 1
    held = model.nbytes
    model.run(frames)
    assert model.size == 7
    assert model.nbytes == held


# -- behaviour -----------------------------------------------------------------------------------------------------
def test_bytes_words_and_floats_of_one_picture_give_one_score():
    frames = clip(T=30)
    expected = Pixels(Gaussian(SIGMA)).run(frames)
    assert_array_equal(Pixels(Gaussian(SIGMA)).run(frames / 255.0), expected)
    assert_array_equal(Pixels(Gaussian(SIGMA)).run(np.asfortranarray(frames)), expected)
    assert_allclose(Pixels(Gaussian(SIGMA)).run(frames.astype(np.uint16) * 257), expected, rtol=1e-12, atol=1e-14)
    assert_allclose(Pixels(Gaussian(SIGMA), dtype="float32").run(frames), expected, rtol=1e-4, atol=1e-5)
    grey = frames[..., 0]
    assert_array_equal(Pixels(Gaussian(SIGMA)).run(grey), Pixels(Gaussian(SIGMA)).run(grey[..., None]))


def test_pixels_of_any_width_are_taken():
    rng = np.random.default_rng(0)
    frames = rng.random((30, 3, 3, 11))
    expected = looped(lambda: nystream.SILK(Gaussian(1.0), loss="novelty", tau=0.02, C=0.05, budget=20), 255.0 * frames)
    assert_allclose(Pixels(Gaussian(1.0)).run(frames), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", ["silk", "norma"])
@pytest.mark.parametrize(
    "setting", [{}, {"tau": 0.0}, {"budget": 3}, {"C": 0.3, "tau": 0.01}, {"C": 0.1, "tau": 0.002}]
)
def test_a_steady_pixel_settles_at_the_ceiling(rule, setting):
    model = Pixels(Gaussian(SIGMA), rule=rule, **setting)
    last = model.run(np.full((600, 2, 2), 0.5))[-50:]
    assert_allclose(last.mean(), model.ceiling, rtol=0.15)  # norma adds C below rho, nothing above: to and fro
    assert last.min() > model.ceiling - model.C


def test_after_a_change_of_light_and_back_silk_knows_the_old_scene_and_truncated_norma_does_not():
    dark = np.random.default_rng(0).integers(20, 60, size=(4, 5, 3)).astype(np.uint8)
    light = dark + np.uint8(120)
    scores = {}
    for rule in ("silk", "norma"):
        model = Pixels(Gaussian(0.1), tau=0.002, C=0.1, budget=40, rule=rule)
        model.run([dark] * 60 + [light] * 200)
        scores[rule] = model.score(dark) / model.ceiling
    assert scores["silk"].min() > 0.5
    assert scores["norma"].max() < 1e-6


def test_births_are_set_back_before_they_overflow():
    frames = clip(T=120)
    plain, late = (Pixels(Gaussian(SIGMA), budget=4, tau=0.0, C=0.3, dtype="float32") for _ in range(2))
    expected = plain.run(frames)
    first = late.run(frames[:50])
    late._arrays[2][late._arrays[2] >= 0] += 2**31 - 1 - 60
    late.clock_ += 2**31 - 1 - 60
    assert_array_equal(np.concatenate([first, late.run(frames[50:])]), expected)
    assert late.clock_ < 200
    assert late.n_seen == 120


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_long_run_with_fast_decay_stays_finite(dtype):
    frames = clip(T=40)
    model = Pixels(Gaussian(SIGMA), tau=0.9, C=0.9, dtype=dtype)
    for _ in range(30):
        P = model.run(frames)
    assert np.isfinite(P).all()
    assert P.max() > 0.05


@pytest.mark.parametrize("sigma", [1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_of_any_width_give_numbers(sigma, dtype):
    frames = np.random.default_rng(0).normal(size=(20, 2, 2)) * 1e30
    for kernel in (Gaussian(sigma), Laplacian(sigma)):
        assert np.isfinite(Pixels(kernel, dtype=dtype).run(frames)).all()


# -- refusals ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": nystream.Linear()}, "kernel must be Gaussian"),
        ({"kernel": Gaussian(1.0) + Gaussian(2.0)}, "kernel must be Gaussian"),
        ({"budget": 0}, "budget must be a whole number of at least 1, got 0"),
        ({"tau": 1.0}, "tau must be a number at least 0 and less than 1, got 1.0"),
        ({"C": 0}, "C must be"),
        ({"rho": -1.0}, "rho must be"),
        ({"rule": "ilk"}, "rule must be one of 'silk', 'norma'; got 'ilk'"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"threads": 0}, "threads must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        Pixels(**{"kernel": Gaussian(SIGMA), **params})


def test_bad_frames_are_refused_and_change_nothing():
    frames = clip()
    model = Pixels(Gaussian(SIGMA))
    model.run(frames[:20])
    before = model.to_bytes()
    spoilt = frames[0] / 255.0
    spoilt[2, 3, 1] = np.nan
    huge = np.full(frames[0].shape, 1e300)
    for frame, message in [
        (frames[0, 0, 0], "frame must be"),
        (frames, "frame must be"),
        (frames[0][:0], "frame must be"),
        (frames[0, :2], r"frame has shape \(2, 5, 3\), but the first had \(4, 5, 3\)"),
        (frames[0, ..., 0], "frame has shape"),
        (frames[0].astype(int), "must be uint8, uint16 or float, got int64"),
        (spoilt, r"frame has nan at \(2, 3, 1\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.step(frame)
        with pytest.raises(ValueError, match=message):
            model.score(frame)
    for freeze in (np.zeros((4, 5)), np.zeros((5, 4), bool)):
        with pytest.raises(ValueError, match="freeze must be a boolean array of shape"):
            model.step(frames[0], freeze)
    with pytest.raises(ValueError, match="frame has inf"):
        Pixels(Gaussian(SIGMA), dtype="float32").step(huge)
    assert model.to_bytes() == before
    with pytest.raises(TypeError, match="Pixels cannot merge"):
        model.merge(model.clone())


def test_a_fresh_model_knows_nothing():
    model = Pixels(Gaussian(SIGMA))
    assert_array_equal(model.score(clip()[0]), 0)
    assert model.n_seen == 0
    assert model.run([]).shape[0] == 0
