"""Moving landmarks: against the definition, and against the published counts of moves."""

from __future__ import annotations

import copy
import os
import pathlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist, streams
from nystream.dictionary import MovingLandmarks
from oracles.landmarks import move

ROOT = pathlib.Path(__file__).parents[2]
DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", ROOT.parent / "shared" / "data"))
EPS = (0, 25, 50, 100, 200, 300)


@pytest.mark.parametrize("count", ["moves", "all"])
@pytest.mark.parametrize("eps", [0.0, 0.1, 0.5, 1e9])
def test_landmarks_move_as_defined(eps, count):
    X = np.random.default_rng(0).normal(size=(400, 3))
    X[50:70] = X[:20]
    landmarks = MovingLandmarks(eps, count=count)
    landmarks.start(X[:20])
    points, counts = X[:20].copy(), np.ones(20)
    for x in X:
        expected, _ = move(points, counts, x, eps, count)
        assert landmarks.observe(x) == expected
        assert_allclose(landmarks.points, points, rtol=0, atol=1e-13)
    assert_array_equal(landmarks.counts_, counts)
    assert landmarks.moves == {0.0: 400, 1e9: 0}.get(eps, landmarks.moves)


def test_ties_go_to_the_landmark_of_least_index():
    landmarks = MovingLandmarks(0.0)
    landmarks.start(np.array([[2.0], [1.0], [-1.0], [1.0]]))
    assert landmarks.nearest(np.array([0.0])) == (1, 1.0)
    assert landmarks.observe(np.array([0.0])) == 1
    assert landmarks.points.ravel().tolist() == [2.0, 0.5, -1.0, 1.0]


def test_a_row_that_equals_its_landmark_counts_and_moves_nothing():
    """(N u + u) / (N + 1) would differ from u in the last bit."""
    points = np.array([[0.1, 0.7], [3.0, 3.0]])
    landmarks = MovingLandmarks(0.0)
    landmarks.start(points)
    for _ in range(5):
        assert landmarks.observe(points[0]) == 0
    assert_array_equal(landmarks.points, points)
    assert landmarks.counts_.tolist() == [6, 1]


def test_the_landmark_is_the_mean_of_what_moved_it():
    X = np.random.default_rng(1).normal(size=(200, 4))
    landmarks = MovingLandmarks(0.0)
    landmarks.start(X[:1])
    for x in X[1:]:
        landmarks.observe(x)
    assert_allclose(landmarks.points[0], X.mean(0), rtol=0, atol=1e-14)


def test_copies_go_on_where_they_were_and_share_nothing():
    X = np.random.default_rng(2).normal(size=(60, 2))
    landmarks = MovingLandmarks(0.2, count="all")
    landmarks.start(X[:10])
    for x in X[:30]:
        landmarks.observe(x)
    for twin in (copy.deepcopy(landmarks), persist.from_bytes(persist.to_bytes(landmarks))):
        before = landmarks.points.copy()
        moved = [twin.observe(x) for x in X[30:]]
        assert_array_equal(landmarks.points, before)
        assert any(q is not None for q in moved)
        assert twin.moves > landmarks.moves


@pytest.fixture(scope="module")
def usps():
    """The 9298 digits, the training file followed by the test file, in [-1, 1]."""
    blocks = []
    for name in ("usps.bz2", "usps.t.bz2"):
        path = DATA / "usps" / name
        if not path.exists():
            pytest.skip(f"{path} is not there; set NYSTREAM_DATA to the folder of the datasets")
        blocks.append(streams.open_stream(path).load()[0])
    return np.vstack(blocks)


def moves(X, count, thresholds=EPS):
    totals = []
    for eps in thresholds:
        landmarks = MovingLandmarks(eps, count=count)
        landmarks.start(X[:100])
        for x in X:
            landmarks.observe(x)
        totals.append(landmarks.moves)
    return totals


def test_usps_in_file_order_gives_the_published_numbers_of_moves(usps):
    """The numbers of updates that the paper prints for m = 100: N_q counts moves, the order is that of the files."""
    assert usps.shape == (9298, 256)
    assert moves(usps, "moves") == [9298, 7742, 5523, 1262, 23, 0]


def test_usps_in_another_order_gives_other_numbers_of_moves(usps):
    X = usps[np.random.default_rng(0).permutation(9298)]
    assert moves(X, "moves") == [9298, 7776, 5539, 1312, 18, 0]
    assert moves(X, "all", EPS[3:5]) == [1481, 43]
