"""What a loss says about itself: its link, its symmetry, its margin, and what else other layers ask for."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax

from nystream.losses import LOSSES, Hinge, Loss, Novelty, Pinball, StructuredHinge, as_loss

NAMES = [name for name in LOSSES if name != "structured_hinge"]
SCALAR = [name for name in NAMES if not LOSSES[name].multiclass]


class Quartic(Loss):
    name = "quartic"

    def value(self, y, p):
        return (p - y) ** 4

    def grad(self, y, p):
        return 4 * (p - y) ** 3


def best_constant(loss, labels):
    """The number that costs least on all labels together."""
    return minimize_scalar(lambda p: np.sum(loss.value(labels, np.full(len(labels), p))), bounds=(-9, 9)).x


def test_the_link_of_the_logistic_loss_turns_its_best_prediction_into_the_share_of_the_label():
    labels = np.array([1.0] * 7 + [-1.0] * 3)
    assert as_loss("logistic").link == "logistic"
    assert expit(best_constant(as_loss("logistic"), labels)) == pytest.approx(0.7, abs=1e-4)


def test_the_link_of_softmax_turns_log_shares_into_the_shares_and_their_gradients_cancel():
    loss, shares = as_loss("softmax"), np.array([0.5, 0.3, 0.2])
    assert loss.link == "softmax"
    assert softmax(np.log(shares)) == pytest.approx(shares)
    assert sum(s * loss.grad(y, np.log(shares)) for y, s in enumerate(shares)) == pytest.approx(np.zeros(3), abs=1e-12)


def test_other_losses_have_no_link():
    assert [name for name in NAMES if LOSSES[name].link] == ["logistic", "softmax"]


@pytest.mark.parametrize("name", [name for name in SCALAR if LOSSES[name].labels == "real"])
def test_a_loss_estimates_the_mean_exactly_where_it_says_so(name):
    labels = np.array([0.0, 0.0, 0.5, 1.0, 5.0])
    assert LOSSES[name].estimates_mean == (abs(best_constant(as_loss(name), labels) - labels.mean()) < 1e-4)


@pytest.mark.parametrize("loss", [*(as_loss(name) for name in SCALAR), Pinball(0.3), Quartic()], ids=repr)
def test_a_loss_is_symmetric_exactly_where_it_says_so(loss):
    rng = np.random.default_rng(0)
    y, p = np.sign(rng.normal(size=200)), 3 * rng.normal(size=200)
    assert loss.symmetric == np.allclose(loss.value(-y, -p), loss.value(y, p))


@pytest.mark.parametrize("loss", [*(as_loss(name) for name in SCALAR if name != "logistic"), Hinge(0.3), Novelty(2.0)])
def test_nothing_is_lost_from_the_margin_on_and_something_below_it(loss):
    if loss.margin is None:
        assert loss.labels == "real"
        return
    assert loss.value(1.0, loss.margin) == loss.value(1.0, loss.margin + 5.0) == 0.0
    assert loss.value(1.0, loss.margin - 1e-3) > 0.0


@pytest.mark.parametrize("name", SCALAR)
def test_the_tail_curvature_is_the_growth_of_the_derivative_far_from_the_label(name):
    loss = as_loss(name)
    grown = loss.grad(1.0, -2e6) - loss.grad(1.0, -1e6)
    assert -grown / 1e6 == pytest.approx(loss.tail_curvature, abs=1e-5)


def test_the_losses_that_nu_adapts_are_declared():
    adaptable = {name: kind.adaptable for name, kind in LOSSES.items() if kind.adaptable}
    assert adaptable == {"epsilon_insensitive": "tube", "hinge": "margin", "novelty": "margin"}


def test_every_loss_answers_for_label_similarities_and_one_of_its_own_has_defaults():
    assert all(as_loss(name).label_similarity is None for name in NAMES)
    assert all(as_loss(name).label_margins is None for name in NAMES)
    M = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert StructuredHinge(1 - np.eye(2), M).label_similarity.tolist() == M.tolist()
    own = Quartic()
    assert (own.link, own.margin, own.adaptable, own.tail_curvature, own.symmetric) == (None, None, None, 0.0, True)
    own.check_rule("exact")
