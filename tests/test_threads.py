"""Questions from several threads at once: of ensembles, of more than `predict`, with rows enough to meet."""

import numpy as np
import pytest

import nystream
from laws import Variant
from laws.threads import answers_alike
from nystream.catalogue import CATALOGUE

ROWS = 400  # enough work for threads to meet in compiled code


def trained(learner):
    Variant(learner).stream().into(learner)
    return learner, Variant(learner).stream(n=ROWS, seed=1).X


SHARED = nystream.Gaussian(0.7)
GRIDS = {
    "exact": [nystream.KernelAWV(SHARED, lam=lam) for lam in (0.1, 1.0)],
    "kernel Newton": [nystream.KONS(SHARED, clip=2.0, lam=lam) for lam in (0.5, 1.0)],
    "features": [nystream.PKAWV(nystream.Fourier(SHARED, 30, seed=0), lam=lam) for lam in (0.1, 1.0)],
    "corrections": [nystream.PassiveAggressive(nystream.Linear(), loss="epsilon_insensitive", C=C) for C in (0.1, 1.0)],
}


@pytest.mark.parametrize("kind", [nystream.Aggregate, nystream.Mixture])
@pytest.mark.parametrize("grid", GRIDS)
def test_learners_that_share_a_kernel_answer_four_threads_as_one_and_keep_their_kernels(kind, grid):
    learner, X = trained(kind([pattern.clone() for pattern in GRIDS[grid]], bound=3.0))
    before = learner.to_bytes()
    answers_alike(learner.predict, X)
    assert learner.to_bytes() == before
    for expert, pattern in zip(learner.experts, GRIDS[grid], strict=True):
        assert repr(expert) == repr(pattern)
        assert type(getattr(expert, "kernel", SHARED)) is type(getattr(pattern, "kernel", SHARED))


def test_an_ensemble_of_ensembles_answers_four_threads_as_one():
    inner = nystream.Mixture(GRIDS["exact"], bound=3.0)
    learner, X = trained(nystream.Aggregate([inner, *GRIDS["exact"], *GRIDS["features"]], bound=3.0))
    answers_alike(learner.predict, X)


@pytest.mark.parametrize(
    "learner",
    [
        nystream.NOLANA(SHARED, landmarks=20, eps=0.1, loss="softmax", average=True),
        nystream.SILK(SHARED, budget=20, drop="project", loss="multiclass_hinge"),
        nystream.FOGD(SHARED, dim=40, loss="softmax", average=True, seed=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_averages_of_several_classes_answer_four_threads_as_one(learner):
    learner, X = trained(learner.clone())
    answers_alike(learner.predict, X)
    answers_alike(learner.averaged, X)


def test_leverages_answer_four_threads_as_one():
    for pattern in (nystream.PKRR(nystream.Fourier(SHARED, 40, seed=0)), nystream.KernelRidge(SHARED)):
        learner, X = trained(pattern.clone())
        answers_alike(learner.leverage, X)
        answers_alike(learner.std, X)


def test_auto_answers_questions_about_classes_and_intervals_from_four_threads_as_from_one():
    example = CATALOGUE["auto"].example
    learner, X = trained(example.clone())
    answers_alike(lambda rows: np.stack(learner.predict_interval(rows), axis=1), X)
    classes = example.clone().for_classes()
    classes, X = trained(classes)
    answers_alike(classes.probabilities, X)


def test_the_law_notices_a_learner_that_writes_where_another_thread_reads():
    class Careless(nystream.FOGD):
        def _predict(self, X):
            if not hasattr(self, "_buffer") or len(self._buffer) != len(X):
                self._buffer = np.empty((len(X), self.dim))
            self.features_.transform(X, self._buffer)
            return self._buffer @ self.solver_.weights

    learner, X = trained(Careless(SHARED, dim=40, seed=0))

    def ask_again_and_again():
        for _ in range(20):
            answers_alike(learner.predict, X)

    with pytest.raises((AssertionError, ValueError)):
        ask_again_and_again()
