"""Budget: every rule drops exactly one entry, the one its definition names, and gives away what it should."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.dictionary import Budget, Expansion
from nystream.kernels import Gaussian, Polynomial
from oracles.expansion import SIGMA, SlowExpansion, best_place

RULES = ["smallest", "oldest", "contribution", "project", "merge"]


def bounded(kernel, size, drop, outputs=1, d=2):
    f, budget = Expansion(kernel, limit=size), Budget(size, drop)
    f.start(d, outputs)
    budget.start(f)
    return f, budget


def fed(f, budget, X, A, start=0, decay=0.98):
    """Store the rows of X with coefficients A, one after the other, and count the points after each."""
    counts = []
    f.open(X)
    for j in range(len(X)):
        f.begin(j)
        f.decay(decay)
        budget.admit(A[j], birth=start + j)
        counts.append(f.n)
    f.close()
    return counts


def stream(n=120, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, outputs))
    X = rng.uniform(-1, 1, size=(n, 2))
    if n > 60:
        X[n // 2 : n // 2 + 4] = X[:4]  # some come back
    return X, A


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("drop", RULES)
def test_a_bounded_expansion_equals_the_list_of_terms(drop, outputs):
    X, A = stream(outputs=outputs)
    kernel = Polynomial(2) if drop == "contribution" else Gaussian(SIGMA)
    f, budget = bounded(kernel, 12, drop, outputs)
    slow = SlowExpansion(outputs, kernel=kernel)
    counts = fed(f, budget, X, A)
    for t, (x, alpha) in enumerate(zip(X, A, strict=True)):
        slow.begin()
        slow.decay(0.98)
        slow.append(x, alpha, t)
        if len(slow.terms) > 12:
            slow.drop(drop, t)
    assert counts == [min(t + 1, 12) for t in range(len(X))]
    loose = {"rtol": 2e-5, "atol": 2e-5} if drop == "merge" else {"rtol": 1e-7, "atol": 1e-8}
    assert sorted(f.birth.tolist()) == sorted(term.birth for term in slow.terms)
    assert_allclose(f.predict(X), np.array([slow.score(x) for x in X]), **loose)
    assert_allclose(f.averaged(X), np.array([slow.averaged(x, len(X)) for x in X]), **loose)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 40])
def test_the_oldest_of_equals_goes_wherever_it_stands(size):
    rng = np.random.default_rng(size)
    X, ages = rng.normal(size=(size + 1, 2)), rng.permutation(size) + 1
    f, budget = bounded(Gaussian(1.0), size, "smallest")
    for x, age in zip(X, [*ages.tolist(), size + 1], strict=True):
        fed(f, budget, x[None], np.ones((1, 1)), start=age, decay=1.0)
    assert sorted(f.birth.tolist()) == list(range(2, size + 2))


def test_the_oldest_of_equals_goes_and_the_new_one_only_if_it_is_smaller():
    X = np.arange(8.0).reshape(4, 2)
    f, budget = bounded(Gaussian(1.0), 3, "smallest")
    fed(f, budget, X, np.array([[1.0], [-0.5], [0.5], [0.5]]), decay=1.0)
    assert sorted(f.birth.tolist()) == [0, 2, 3]
    fed(f, budget, X[:1] + 9, np.array([[0.4]]), start=9, decay=1.0)
    assert sorted(f.birth.tolist()) == [0, 2, 3]
    fed(f, budget, X[:1] + 9, np.array([[0.5]]), start=10, decay=1.0)
    assert sorted(f.birth.tolist()) == [0, 3, 10]


def test_contribution_weighs_a_coefficient_by_the_norm_of_its_term():
    X = np.array([[3.0, 0.0], [0.1, 0.0], [1.0, 0.0]])
    A = np.array([[0.1], [0.5], [0.4]])  # norms of the terms with k = <x, z>: 0.3, 0.05, 0.4
    for drop, kept in (("smallest", [1, 2]), ("contribution", [0, 2])):
        f, budget = bounded(Polynomial(1, offset=0.0), 2, drop)
        fed(f, budget, X, A, decay=1.0)
        assert sorted(f.birth.tolist()) == kept


def test_projection_is_the_nearest_function_on_the_points_that_stay():
    X, A = stream(9)
    f, budget = bounded(Gaussian(SIGMA), 8, "project")
    fed(f, budget, X, A, decay=1.0)
    K = Gaussian(SIGMA)(X, X)
    best = min(range(9), key=lambda i: abs(A[i, 0]))
    stay = [i for i in range(9) if i != best]
    target = A[stay, 0] + A[best, 0] * np.linalg.solve(K[np.ix_(stay, stay)], K[stay, best])
    order = np.argsort(f.birth)
    assert_allclose(f.coef[order, 0], target, rtol=1e-6)


def test_the_factor_of_the_projection_follows_a_thousand_drops():
    X, A = stream(1000, seed=3)
    f, budget = bounded(Gaussian(SIGMA), 20, "project")
    fed(f, budget, X, A)
    state = budget._state()
    L = np.tril(state["factor_"].T)
    points = f.points[state["order_"]]
    K = Gaussian(SIGMA)(points, points) + 1e-10 * np.eye(20)
    assert_allclose(L @ L.T, K, atol=1e-12)


def test_projection_survives_points_that_coincide():
    X = np.repeat(stream(4)[0], 60, axis=0)
    X[100:] += 1e-9
    f, budget = bounded(Gaussian(SIGMA), 10, "project")
    fed(f, budget, X, np.random.default_rng(0).normal(size=(240, 1)), decay=0.9)
    assert np.isfinite(f.coef).all()
    assert abs(f.predict(X)).max() < 50


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_damage_of_a_merge_is_the_distance_in_the_kernels_norm(outputs):
    X, A = stream(6, outputs, seed=1)
    A = abs(A)  # every pair may merge
    f, budget = bounded(Gaussian(SIGMA), 5, "merge", outputs)
    fed(f, budget, X, A, decay=1.0)
    Z = np.vstack([X, f.points])
    C = np.vstack([A, -f.coef])
    lost = float(np.einsum("ic,ij,jc->", C, Gaussian(SIGMA)(Z, Z), C))
    i = min(range(6), key=lambda i: A[i].max())
    damage = []
    for j in set(range(6)) - {i}:
        k = float(Gaussian(SIGMA)(X[i : i + 1], X[j : j + 1])[0, 0])
        value = best_place(A[i], A[j], k)[1]
        damage.append(A[i] @ A[i] + A[j] @ A[j] + 2 * (A[i] @ A[j]) * k - value)
    assert lost == pytest.approx(min(damage), rel=1e-5, abs=1e-12)


def test_an_entry_without_a_partner_of_its_sign_is_dropped():
    X = stream(4)[0]
    f, budget = bounded(Gaussian(SIGMA), 3, "merge")
    fed(f, budget, X, np.array([[1.0], [1.0], [1.0], [-0.1]]), decay=1.0)
    assert_array_equal(f.points, X[:3])
    assert_array_equal(f.coef, np.ones((3, 1)))


def test_equal_points_merge_without_loss():
    X = np.tile(stream(3)[0], (4, 1))
    f, budget = bounded(Gaussian(SIGMA), 3, "merge")
    fed(f, budget, X, np.ones((12, 1)), decay=1.0)
    assert_allclose(f.coef, np.full((3, 1), 4.0), rtol=1e-9)


def test_points_too_far_apart_to_see_each_other_are_not_merged():
    X = 1e4 * np.arange(8.0).reshape(4, 2)
    f, budget = bounded(Gaussian(1.0), 3, "merge")
    fed(f, budget, X, np.array([[1.0], [2.0], [3.0], [4.0]]), decay=1.0)
    assert sorted(f.coef.ravel().tolist()) == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("drop", RULES)
def test_duplicates_in_the_buffer_are_harmless(drop):
    X, A = stream(60)
    X[1::2] = X[::2]
    f, budget = bounded(Gaussian(SIGMA), 10, drop)
    assert fed(f, budget, X, A) == [min(t + 1, 10) for t in range(60)]
    assert np.isfinite(f.predict(X)).all()


@pytest.mark.parametrize("drop", RULES)
def test_copies_and_files_go_on_bit_for_bit(drop):
    X, A = stream(100)
    f, budget = bounded(Gaussian(SIGMA), 12, drop)
    fed(f, budget, X[:70], A[:70])
    twins = [copy.deepcopy([f, budget]), [nystream.from_bytes(nystream.to_bytes(part)) for part in (f, budget)]]
    fed(f, budget, X[70:], A[70:], start=70)
    for g, other in twins:
        other.start(g)
        fed(g, other, X[70:], A[70:], start=70)
        assert nystream.to_bytes(g) == nystream.to_bytes(f)
        assert nystream.to_bytes(other) == nystream.to_bytes(budget)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="budget must be a whole number of at least 1, got 0"):
        Budget(0)
    with pytest.raises(ValueError, match="drop must be one of 'smallest'"):
        Budget(3, "random")
    with pytest.raises(ValueError, match="drop='merge' needs a Gaussian kernel, got Polynomial"):
        bounded(Polynomial(2), 3, "merge")


ISA_SCRIPT = """
import sys
sys.path.insert(0, "tests/dictionary")
from test_budget import *
for drop in RULES:
    f, budget = bounded(Gaussian(SIGMA), 12, drop, outputs=2)
    fed(f, budget, *stream(outputs=2))
    np.save(sys.stdout.buffer, f.predict(stream()[0]))
"""


def test_instruction_sets_agree(tmp_path):
    found = []
    for isa in ("base", "avx2", "avx512"):
        environment = {**os.environ, "NYSTREAM_ISA": isa, "PYTHONPATH": os.pathsep.join(["tests", "tests/helpers"])}
        root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        done = subprocess.run(
            [sys.executable, "-c", ISA_SCRIPT], env=environment, cwd=root, capture_output=True, check=True
        )
        (tmp_path / "out.npy").write_bytes(done.stdout)
        with open(tmp_path / "out.npy", "rb") as file:
            found.append([np.load(file) for _ in RULES])
    for other in found[1:]:
        for rule, a, b in zip(RULES, found[0], other, strict=True):
            assert_allclose(a, b, rtol=1e-4 if rule == "merge" else 1e-8, atol=1e-5 if rule == "merge" else 1e-9)
