"""Multi-class and structured hinge: the exact step against a quadratic programme and its optimality conditions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.losses import Hinge, MulticlassHinge, StructuredHinge
from oracles.losses import hinge_step, hinge_value


def unit(K):
    return 1.0 - np.eye(K)


def random_margins(rng, K):
    D = rng.uniform(0, 2, (K, K))
    np.fill_diagonal(D, 0.0)
    return D


def loss_and_margins(rng, K, structured):
    D = random_margins(rng, K) if structured else unit(K)
    return (StructuredHinge(D) if structured else MulticlassHinge()), D


def objective(D, y, p, s, c, alpha):
    return s / 2 * alpha @ alpha + c * hinge_value(D, y, p + s * alpha)


@pytest.mark.parametrize("structured", [False, True])
def test_value_and_subgradient_are_the_definition(structured):
    rng = np.random.default_rng(0)
    for K in (2, 3, 10):
        loss, D = loss_and_margins(rng, K, structured)
        for _ in range(30):
            p, y = rng.normal(0, 1, K), int(rng.integers(K))
            assert loss.value(y, p) == pytest.approx(hinge_value(D, y, p), abs=1e-15)
            g = loss.grad(y, p)
            for q in rng.normal(0, 2, (20, K)):  # subgradient inequality: tight for convex, piecewise linear L
                assert hinge_value(D, y, q) >= hinge_value(D, y, p) + g @ (q - p) - 1e-12
            h = 1e-7
            slopes = [(hinge_value(D, y, p + h * e) - hinge_value(D, y, p - h * e)) / (2 * h) for e in np.eye(K)]
            assert_allclose(g, slopes, atol=1e-6)  # random scores do not meet kinks
            assert not loss.second(y, p).any()


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("K", [2, 3, 5, 10])
def test_exact_step_is_the_minimiser_of_the_quadratic_programme(K, structured):
    rng = np.random.default_rng(K)
    loss, D = loss_and_margins(rng, K, structured)
    for _ in range(12):
        p, y = rng.normal(0, 1, K), int(rng.integers(K))
        s, c = 10 ** rng.uniform(-0.7, 0.7, 2)
        alpha, slow = loss.implicit(y, p, s, c), hinge_step(D, y, p, s, c)
        assert objective(D, y, p, s, c, alpha) <= objective(D, y, p, s, c, slow) + 1e-12
        assert_allclose(alpha, slow, atol=1e-5)


@pytest.mark.parametrize("structured", [False, True])
def test_exact_step_meets_the_optimality_conditions_to_rounding(structured):
    rng = np.random.default_rng(1)
    capped = free = idle = 0
    for _ in range(600):
        K = int(rng.integers(2, 12))
        loss, D = loss_and_margins(rng, K, structured)
        p, y = rng.normal(0, 1, K), int(rng.integers(K))
        s, c = 10 ** rng.uniform(-2, 2, 2)
        alpha = loss.implicit(y, p, s, c)
        nu, z = -np.delete(alpha, y), p + s * alpha
        violation = np.delete(D[y] + z - z[y], y)
        assert alpha[y] == pytest.approx(nu.sum(), rel=1e-14, abs=0)
        assert (nu >= 0).all()
        assert alpha[y] <= c
        if alpha[y] == 0:  # nothing to do
            idle += 1
            assert violation.max() <= 0
            continue
        assert_allclose(violation[nu > 0], violation.max(), atol=1e-12 * (1 + s * c))  # only the worst rivals move
        if alpha[y] < c * (1 - 1e-12):
            free += 1
            assert abs(violation.max()) < 1e-12 * (1 + s * c)
        else:
            capped += 1
            assert violation.max() > -1e-12 * (1 + s * c)
    assert min(capped, free, idle) > 10


def test_two_classes_are_the_binary_hinge_with_twice_the_feature():
    rng = np.random.default_rng(2)
    for _ in range(100):
        p, y = rng.normal(0, 1, 2), int(rng.integers(2))
        s, c = 10 ** rng.uniform(-2, 2, 2)
        step = Hinge().implicit(1.0, p[y] - p[1 - y], 2 * s, c)
        for rule in ("exact", "runner_up"):
            alpha = MulticlassHinge().implicit(y, p, s, c, rule=rule)
            assert_allclose(alpha[[y, 1 - y]], [step, -step], rtol=1e-13)


def test_exact_is_never_worse_than_runner_up_and_often_better():
    rng = np.random.default_rng(3)
    P, y = rng.normal(0, 1, (500, 10)), rng.integers(0, 10, 500)
    loss, D = MulticlassHinge(), unit(10)
    exact, runner_up = loss.implicit(y, P, 1.0, 1.0), loss.implicit(y, P, 1.0, 1.0, rule="runner_up")
    rows = range(len(P))
    a = np.array([objective(D, y[i], P[i], 1.0, 1.0, exact[i]) for i in rows])
    b = np.array([objective(D, y[i], P[i], 1.0, 1.0, runner_up[i]) for i in rows])
    assert (a <= b + 1e-12).all()
    assert (a < b - 1e-3).mean() > 0.5
    same = (runner_up != 0).sum(axis=1) == (exact != 0).sum(axis=1)  # the rival stayed the strongest
    assert same.any()
    assert_allclose(exact[same], runner_up[same], rtol=1e-12, atol=1e-14)


def test_runner_up_takes_its_rival_from_other_scores_when_given():
    p, scores = np.array([0.0, 0.5, 0.4]), np.array([0.0, 0.4, 0.5])
    loss = MulticlassHinge()
    assert_allclose(loss.implicit(0, p, 1.0, 10.0, rule="runner_up"), [0.75, -0.75, 0.0])
    assert_allclose(loss.implicit(0, p, 1.0, 10.0, rule="runner_up", scores=scores), [0.7, 0.0, -0.7])
    block = loss.implicit([0], p[None], 1.0, 10.0, rule="runner_up", scores=scores[None])
    assert_allclose(block, [[0.7, 0.0, -0.7]])


def test_ties_go_to_the_smallest_label():
    loss, p = MulticlassHinge(), np.zeros(4)
    assert loss.grad(1, p).tolist() == [1.0, -1.0, 0.0, 0.0]
    assert loss.implicit(0, p, 1.0, 1.0, rule="runner_up").tolist() == [0.5, -0.5, 0.0, 0.0]


def test_a_weight_lost_in_the_rounding_of_the_violations_still_moves():
    alpha = MulticlassHinge().implicit(0, np.array([0.0, 1e3, 1e3]), 1e-8, 1e-8)
    assert_allclose(alpha, [1e-8, -5e-9, -5e-9], rtol=1e-12)


def test_steps_are_finite_bounded_and_never_raise_the_loss_at_extremes():
    rng = np.random.default_rng(4)
    for loss in (MulticlassHinge(), StructuredHinge(random_margins(rng, 4))):
        for scale in (1e-3, 1.0, 1e3):
            s, c = (v.ravel() for v in np.meshgrid(np.geomspace(1e-8, 1e8, 9), np.geomspace(1e-8, 1e8, 9)))
            P, y = rng.normal(0, scale, (len(s), 4)), rng.integers(0, 4, len(s))
            for rule in ("exact", "runner_up"):
                alpha = loss.implicit(y, P, s, c, rule=rule)
                assert np.isfinite(alpha).all()
                assert (np.abs(alpha) <= c[:, None]).all()
                assert (alpha.sum(axis=1) <= 1e-15 * c).all()
            alpha = loss.implicit(y, P, s, c)
            assert (loss.value(y, P + s[:, None] * alpha) <= loss.value(y, P) + 1e-12 * (1 + scale)).all()


def test_no_rival_no_feature_or_no_weight_means_no_step():
    loss = MulticlassHinge()
    assert loss.value(0, np.array([3.0])) == 0.0
    assert loss.grad(0, np.array([3.0])).tolist() == [0.0]
    assert loss.implicit(0, np.array([3.0]), 1.0, 1.0).tolist() == [0.0]
    assert loss.implicit([0, 0], np.array([[3.0], [1.0]]), 1.0, 1.0).tolist() == [[0.0], [0.0]]
    for s, c in ((0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)):
        for rule in ("exact", "runner_up"):
            assert not loss.implicit(0, np.zeros(3), s, c, rule=rule).any()
            assert not loss.implicit([0, 1], np.zeros((2, 3)), s, c, rule=rule).any()


def test_joint_kernel_step_is_the_best_move_of_label_and_rival():
    rng = np.random.default_rng(5)
    K = 4
    B = rng.normal(0, 1, (K, K))
    M, D = B @ B.T, random_margins(rng, K)
    loss = StructuredHinge(D, similarity=M)
    v = np.linspace(0, 1, 200001)
    for _ in range(20):
        p, y = rng.normal(0, 1, K), int(rng.integers(K))
        s, c = 10 ** rng.uniform(-0.5, 0.5, 2)
        rival = max((j for j in range(K) if j != y), key=lambda j: D[y, j] + p[j])
        direction = np.eye(K)[y] - np.eye(K)[rival]
        norm = s * direction @ M @ direction  # |k_t(y,.) - k_t(y*,.)|^2
        cost = norm / 2 * (v * c) ** 2 + c * np.maximum(0.0, D[y, rival] + p[rival] - p[y] - norm * v * c)
        alpha = loss.implicit(y, p, s, c, rule="runner_up")
        assert_allclose(alpha, v[cost.argmin()] * c * direction, atol=2e-5 * c)


def test_labels_that_the_joint_kernel_cannot_tell_apart_make_no_step():
    loss = StructuredHinge(unit(3), similarity=np.ones((3, 3)))
    assert not loss.implicit(0, np.zeros(3), 1.0, 1.0, rule="runner_up").any()
    assert not loss.implicit([0], np.zeros((1, 3)), 1.0, 1.0, rule="runner_up").any()


def test_exact_step_with_a_joint_kernel_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match="identity as label similarity; use rule 'runner_up'"):
        StructuredHinge(unit(3), similarity=np.eye(3) + 0.5).implicit(0, np.zeros(3), 1.0, 1.0)
    identity = StructuredHinge(unit(3), similarity=np.eye(3))
    assert_allclose(identity.implicit(0, np.zeros(3), 1.0, 1.0), MulticlassHinge().implicit(0, np.zeros(3), 1.0, 1.0))
    with pytest.raises(ValueError, match="rule must be one of 'exact', 'runner_up'"):
        identity.implicit(0, np.zeros(3), 1.0, 1.0, rule="second")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1, 1], [1, 0, 1]],), r"margins must be a \(K, K\) table"),
        (([[0.0]],), r"margins must be a \(K, K\) table"),
        (([[0, -1], [1, 0]],), "margins must be at least 0, with a zero diagonal"),
        (([[1, 1], [1, 0]],), "margins must be at least 0, with a zero diagonal"),
        (([[0, np.nan], [1, 0]],), "margins must be finite"),
        (([[0, 1], [1, 0]], np.eye(3)), "similarity is .3, 3., but margins has 2 labels"),
        (([[0, 1], [1, 0]], [[1, 2], [0, 1]]), "similarity must be symmetric"),
        (([[0, 1], [1, 0]], [[1, 2], [2, 1]]), "similarity must be positive semi-definite"),
    ],
)
def test_bad_label_tables_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        StructuredHinge(*arguments)


def test_tables_are_copied_so_that_the_caller_cannot_change_the_loss():
    D = unit(3)
    loss = StructuredHinge(D)
    D[0, 1] = 100.0
    assert loss.value(0, np.zeros(3)) == 1.0
