"""Dictionaries that grow with the stream: blocks equal rows, coordinates are those of each row's own round."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.dictionary import KORS, Nested
from nystream.dictionary.growing import DistantAtoms, GivenAtoms
from nystream.dictionary.sampled import SampledAtoms
from nystream.kernels import Gaussian, Kernel, Linear

G = Gaussian(0.7)


class Brownian(Kernel):
    """A user's kernel, min(x, y) on x >= 0, Fortran-ordered, to be difficult; k(0, 0) = 0."""

    def __call__(self, X, Y):
        return np.asfortranarray(np.minimum(X[:, :1], Y[:, :1].T))


def rows(n=400, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, d))
    X[n // 3 :: 5] = X[rng.integers(n // 3, size=len(X[n // 3 :: 5]))]  # repeats
    X[n // 2] = 0.0
    return X


RULES = {
    "sampled": lambda k: SampledAtoms(KORS(k, 0.1)),
    "sampled, few": lambda k: SampledAtoms(KORS(k, 0.01, max_atoms=30)),
    "sampled, all": lambda k: SampledAtoms(KORS(k, 0.1, beta=float("inf"))),
    "distant": lambda k: DistantAtoms(k, 0.01),
    "distant, few": lambda k: DistantAtoms(k, 1e-6, max_atoms=30),
    "given": lambda k: GivenAtoms(k, rows(40, seed=1)),
}


def started(rule, kernel=G):
    atoms = RULES[rule](kernel)
    atoms.start(3, np.random.default_rng(0))
    return atoms


@pytest.mark.parametrize("kernel", [G, Brownian()], ids=["gaussian", "brownian"])
@pytest.mark.parametrize("rule", RULES)
def test_blocks_of_any_size_and_single_rows_do_the_same(rule, kernel):
    """To the last bit: atoms at 1e-5 of the span, which "sampled, all" brings, amplify any difference."""
    X = rows()
    whole, parts, single = (started(rule, kernel) for _ in range(3))
    k = whole.squares(X)
    Z, entered = whole.admit(X, k)
    for i in range(0, 400, 7):
        part, _ = parts.admit(X[i : i + 7], k[i : i + 7])
        assert_array_equal(part, Z[i : i + 7, : part.shape[1]])
        assert not Z[i : i + 7, part.shape[1] :].any()
    grew = []
    for t, x in enumerate(X):
        z, new = single.admit_row(x)
        assert_array_equal(z, Z[t, : len(z)])
        grew += [t] if new else []
    assert_array_equal(grew, entered)
    for other in (parts, single):
        assert_array_equal(other.points, whole.points)
        assert_allclose(other.missed, whole.missed, rtol=1e-6, atol=1e-9)
    if rule != "given":
        assert_array_equal(whole.points, X[entered])


@pytest.mark.parametrize("rule", RULES)
def test_coordinates_are_those_of_the_atoms_of_the_round(rule):
    X = rows()
    atoms = started(rule)
    before = atoms.n
    Z, entered = atoms.admit(X, atoms.squares(X))
    assert Z.shape == (400, atoms.width)
    assert atoms.width % 8 == 0
    assert atoms.n < atoms.width
    nested, missed = Nested(G), 0.0
    nested.start(3)
    nested.extend(atoms.points)
    full = nested.coordinates(X)
    for t in range(400):
        m = before + np.searchsorted(entered, t, side="right")
        assert_array_equal(Z[t, :m], full[t, :m])
        assert not Z[t, m:].any()
        missed += 1 - full[t, :m] @ full[t, :m]
    assert_allclose(atoms.missed, missed, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_asking_is_what_admitting_the_next_row_would_give(rule):
    X = rows()
    atoms = started(rule)
    atoms.admit(X[:60], atoms.squares(X[:60]))
    before = persist.to_bytes(atoms)
    Z, grows = atoms.ask(X[60:], atoms.squares(X[60:]))
    assert persist.to_bytes(atoms) == before
    for t in range(0, 340, 10):
        twin = copy.deepcopy(atoms)
        z, new = twin.admit_row(X[60 + t])
        assert new == grows[t]
        assert_allclose(Z[t, : min(len(z), atoms.width)], z[: atoms.width], atol=1e-9)


def test_rows_of_weight_zero_are_not_offered_and_not_counted():
    X, w = rows(), np.zeros(400)
    w[::3] = 2.0
    atoms, others = started("distant"), started("distant")
    _, entered = atoms.admit(X, np.ones(400), w)
    others.admit(X[::3], np.ones(134))
    assert set(entered) <= set(range(0, 400, 3))
    assert_array_equal(atoms.points, others.points)
    assert_allclose(atoms.missed, 2 * others.missed, rtol=1e-9)


def test_a_full_dictionary_is_settled():
    X = rows()
    for rule in ("sampled, few", "distant, few"):
        atoms = started(rule)
        assert not atoms.settled
        atoms.admit(X, np.ones(400))
        assert atoms.settled
        assert atoms.n == 30
        held = atoms.nbytes
        atoms.admit(X, np.ones(400))
        assert (atoms.n, atoms.nbytes) == (30, held)
    assert started("given").settled
    assert GivenAtoms(G, rows(40), max_atoms=7).max_atoms == 7
    few = GivenAtoms(G, rows(40), max_atoms=7)
    few.start(3, np.random.default_rng(0))
    assert_array_equal(few.points, rows(40)[:7])


@pytest.mark.parametrize("rule", ["sampled", "sampled, few", "distant", "given"])
def test_uniting_embeds_the_other_span(rule):
    X = rows()
    left, right = started(rule), started(rule)
    left.admit(X[:200], np.ones(200))
    right.admit(X[200:], np.ones(200))
    mine, theirs = left.points.copy(), right.points.copy()
    T = left.unite(right)
    assert T.shape == (left.n, right.n)
    assert_array_equal(left.points[: len(mine)], mine)
    assert_allclose(T @ right.nested_.matrix.T, left.nested_.coordinates(theirs).T, atol=1e-8)
    if rule == "sampled, few":
        assert left.n == 30
    else:
        assert_allclose(T.T @ T, np.eye(right.n), atol=1e-6)
    if rule.startswith("sampled"):
        assert left.kors_.n == min(30, 60) if rule == "sampled, few" else left.kors_.n > left.n - 1
        assert_array_equal(left.kors_.points[left.where_], left.points)
    Z, _ = left.admit(X, np.ones(400))
    assert np.isfinite(Z).all()


def test_a_sampled_dictionary_does_not_take_another_kind():
    with pytest.raises(TypeError, match="sampled by KORS cannot be merged with one of DistantAtoms"):
        started("sampled").unite(started("distant"))


@pytest.mark.parametrize("rule", RULES)
def test_copies_go_on_alone(rule):
    X = rows()
    atoms = started(rule)
    atoms.admit(X[:100], np.ones(100))
    size = atoms.n
    Z, _ = copy.deepcopy(atoms).admit(X[100:], np.ones(300))
    saved = persist.from_bytes(persist.to_bytes(atoms))
    assert_array_equal(saved.admit(X[100:], np.ones(300))[0], Z)
    assert atoms.n == size


def test_points_without_a_feature_never_enter():
    for rule in ("sampled", "sampled, all", "distant"):
        atoms = started(rule, Linear())
        Z, entered = atoms.admit(np.zeros((20, 3)), np.zeros(20))
        assert not len(entered)
        assert not Z.any()
        assert atoms.missed == 0
        assert not atoms.admit_row(np.zeros(3))[1]


def test_values_that_are_no_numbers_are_refused():
    class Broken(Kernel):
        def __call__(self, X, Y):
            return X[:, :1] * Y[:, 0] / X[:, 1:2]

    atoms = started("distant", Broken())
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"k\(x, x\) = nan at row 1 is too large to calculate with, or not a number"),
    ):
        atoms.squares(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="inf at row 0"):
        atoms.admit_row(np.array([1.0, 0.0, 0.0]))
