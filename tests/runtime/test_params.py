"""Parameters: from the signature, nested, validated; setting them drops what was learnt."""

from __future__ import annotations

import numpy as np
import pytest

from nystream import PKRR, Gaussian, KernelRidge, Nystrom, Standardized, Taylor
from nystream.runtime.params import Params, affordable, at_least, one_of, positive


def test_nested_parameters_are_read_and_set():
    learner = KernelRidge(Gaussian(2.0), lam=0.5)
    assert learner.get_params()["kernel__sigma"] == 2.0
    kernel = learner.kernel
    learner.set_params(kernel__sigma=3.0, lam=0.1)
    assert repr(learner) == "KernelRidge(Gaussian(sigma=3.0), lam=0.1)"
    assert kernel.sigma == 2.0  # the caller's object is not changed behind their back


def test_setting_parameters_drops_what_was_learnt():
    learner = KernelRidge(Gaussian(2.0))
    learner.run(np.zeros((3, 2)), np.ones(3))
    assert learner.set_params(lam=2.0).n_seen == 0


def test_bad_parameters_are_named():
    learner = KernelRidge(Gaussian(2.0))
    with pytest.raises(ValueError, match="KernelRidge has no parameter 'sigma'; it has kernel, lam, clip, max_points"):
        learner.set_params(sigma=1.0)
    with pytest.raises(ValueError, match=r"lam=1\.0 has no parameters of its own"):
        learner.set_params(lam__x=1.0)
    with pytest.raises(ValueError, match="sigma must be a number greater than 0, got 0"):
        learner.set_params(kernel__sigma=0)
    assert learner.kernel.sigma == 2.0


def test_checks_say_what_they_want():
    assert positive("a", 1.5) == 1.5
    assert positive("a", 0, zero=True) == 0
    for bad in (-1, float("nan"), float("inf"), True, "1", None):
        with pytest.raises(ValueError, match=r"^a must be a number greater than 0, got"):
            positive("a", bad)
    with pytest.raises(ValueError, match="less than 1"):
        positive("a", 1.0, below=1.0)
    with pytest.raises(ValueError, match="whole number of at least 2, got 1"):
        at_least("n", 1, 2)
    with pytest.raises(ValueError, match="one of 'a', 'b'; got 'c'"):
        one_of("kind", "c", ("a", "b"))


def test_repr_leaves_defaults_out():
    class Part(Params):
        def __init__(self, a, *, b=1, c=None):
            self.a, self.b, self.c = a, b, c

    assert repr(Part(3)) == "Part(3)"
    assert repr(Part(3, b=2, c="x")) == "Part(3, b=2, c='x')"


def test_arrays_are_shown_on_one_line():
    landmarks = np.arange(200.0).reshape(100, 2)
    assert repr(Nystrom(Gaussian(2.0), landmarks)) == "Nystrom(Gaussian(sigma=2.0), <array (100, 2)>)"
    assert repr(Taylor(Gaussian(2.0), 2, np.array([0.0, 1.0]))) == (
        "Taylor(Gaussian(sigma=2.0), degree=2, centre=array([0.0, 1.0]))"
    )


def test_a_clone_keeps_what_a_parameter_was_fitted_on():
    X = np.random.default_rng(0).normal(size=(50, 2))
    fitted = Nystrom(Gaussian(1.0), 10).fit(X)
    learner = PKRR(fitted)
    twin = Standardized(learner).clone().learner
    assert np.array_equal(twin.features.points, fitted.points)
    assert not np.shares_memory(twin.features.points, fitted.points)
    assert np.array_equal(learner.clone().run(X, X[:, 0]), learner.run(X, X[:, 0]))
    assert fitted.clone().dim == 0  # a clone of the map itself has learnt nothing


def test_what_no_memory_is_there_for_is_refused_with_its_size():
    affordable(10**6, "a little", "")
    with pytest.raises(ValueError, match=r"the table takes 1,000,000\.0 GB of memory, this machine .*; use less"):
        affordable(10**15, "the table", "use less")
