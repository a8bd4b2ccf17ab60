"""For every law, learners that break it and nothing else: what `test_laws_bite` holds against the laws."""

from __future__ import annotations

import time

import numpy as np

from laws import Variant
from nystream import FOGD, KONS, PKAWV, PKRR, SILK, Aggregate, Conformal, KernelRidge, Taylor, Thresholded
from nystream.runtime.threads import threads
from variants.parts import FEATURES, G


# -- rounds ------------------------------------------------------------------------------------------------------------
class CountsQuestions(PKRR):
    asked_ = 0

    def _predict(self, X):
        self.asked_ += len(X)
        return super()._predict(X)


class ComparesRows(PKRR):
    def _predict(self, X):
        return super()._predict(X) + 1e-3 * X[:1, :1]


class ComparesLaterRows(PKRR):
    def _predict_later(self, X):
        return super()._predict(X) + 1e-3 * X.mean()


class AnswersLaterRows(PKRR):
    def _predict(self, X):
        return super()._predict(X) + 1e-3


class TakesAnyAhead(PKRR):
    def predict(self, X, ahead=None):
        return super().predict(X, 1 if ahead == 1 else None)


class PeeksInSteps(PKRR):
    def _step(self, x, y, weight):
        return super()._step(x, y, weight) + 1e-12 * y

    def _step_one(self, x, y):
        return float(self._step(x, np.array([y]), 1.0)[0])


class PeeksInBlocks(PKRR):
    def _run(self, X, Y, weights):
        return super()._run(X, Y, weights) + 1e-12 * Y


class PeeksAhead(PKRR):
    def _run(self, X, Y, weights):
        return super()._run(X, Y, weights) + 1e-12 * Y[-1:]


class IgnoresLabels(PKRR):
    def _run(self, X, Y, weights):
        return super()._run(X, np.ones_like(Y), weights)

    def _step(self, x, y, weight):
        return super()._step(x, np.ones_like(y), weight)

    def _step_one(self, x, y):
        return super()._step_one(x, 1.0)


class HeavySteps(PKRR):
    def _step(self, x, y, weight):
        return super()._step(x, y, 2.0 * weight)

    def _step_one(self, x, y):
        return float(self._step(x, np.array([y]), 1.0)[0])


class LearnsBackwards(PKRR):
    def _run(self, X, Y, weights):
        return (
            super()._run(X[::-1].copy(), Y[::-1].copy(), None if weights is None else weights[::-1].copy())[::-1].copy()
        )


class Unseeded(PKRR):
    def _run(self, X, Y, weights):
        return super()._run(X, Y, weights) + 1e-12 * np.random.default_rng().normal(size=Y.shape)


class PrefersRows(PKRR):
    def run(self, X, Y=None, weights=None):
        return super().run(X if np.asarray(X).flags.c_contiguous else 1.000001 * np.asarray(X), Y, weights)


class SharedScratch(PKRR):
    def _predict(self, X):
        self._scratch = X
        time.sleep(1e-4)  # whoever else predicts may do so now
        return super()._predict(self._scratch)[: len(X)]


class CountsThreads(Aggregate):
    def _run(self, X, Y, weights):
        return super()._run(X, Y, weights) + 1e-12 * threads()


class ForgetsBetweenThreads(Thresholded):
    """Every thread chooses by the rows that itself was given."""

    def _choices_at(self, seen, stops):
        first = max(0, stops[0] - self.refresh)
        return super()._choices_at(np.concatenate([np.zeros_like(seen[:first]), seen[first:]]), stops)


# -- state -------------------------------------------------------------------------------------------------------------
class ForgetsOnDisk(PKRR):
    """What it has learnt is in an attribute that is no part of the state."""

    rounds = 0

    def _run(self, X, Y, weights):
        P = super()._run(X, Y, weights) + 0.1 * self.rounds
        self.rounds += len(X)
        return P


class SharesArrays(PKRR):
    def __deepcopy__(self, memo):
        twin = self.clone()
        twin._restore(self._state())
        return twin


class ClonesWhatItLearnt(PKRR):
    def clone(self):
        twin = super().clone()
        twin._restore(self._state())
        return twin


class ConvertsParameters(PKRR):
    def __init__(self, features, *, lam=1.0, clip=None):
        super().__init__(features, lam=lam, clip=clip)
        self.lam = np.float64(lam)


class MergesNothing(PKRR):
    def merge(self, other):
        self.n_seen_ += other.n_seen_
        return self


class MergesByTakingOver(PKRR):
    def merge(self, other):
        super().merge(other)
        other.n_seen_ = 0
        return self


class MergesInSilence(SILK):
    def merge(self, other):
        return self


class UnlearnsTwice(PKRR):
    def unlearn(self, X, Y, weights=None):
        seen = self.n_seen_
        super().unlearn(X[:1], Y[:1], weights)
        super().unlearn(X, Y, weights)
        self.n_seen_ = seen - len(X)
        return self


class ForgetsToCountBack(PKRR):
    def unlearn(self, X, Y, weights=None):
        super().unlearn(X, Y, weights)
        self.n_seen_ += len(X)
        return self


class BulkIgnoresWeights(PKRR):
    def fit_bulk(self, X, Y, weights=None):
        kept = slice(None) if weights is None else weights > 0
        return super().fit_bulk(X[kept], Y[kept])


class BulkCountsTwice(PKRR):
    def fit_bulk(self, X, Y, weights=None):
        super().fit_bulk(X, Y, weights)
        return super().fit_bulk(X[:1], Y[:1])


class PostponesBlocks(PKRR):
    """A block is learnt when the next one comes."""

    waiting = None

    def run(self, X, Y=None, weights=None):
        block, self.waiting = self.waiting, (X, Y, weights)
        if block is not None:
            super().run(*block)
        return self.predict(X)


class LearnsWhenLookedAt(PKRR):
    @property
    def size(self):
        if self.d_:
            self.step(np.zeros(self.d_), 0.0)
        return super().size


# -- inputs ------------------------------------------------------------------------------------------------------------
class CountsBeforeChecking(PKRR):
    offered_ = 0

    def run(self, X, Y=None, weights=None):
        self.offered_ += len(X)
        return super().run(X, Y, weights)


class TakesAnything(PKRR):
    def run(self, X, Y=None, weights=None):
        return super().run(np.nan_to_num(X), Y, weights)


class RefusesTooLate(PKRR):
    def _run(self, X, Y, weights):
        P = super()._run(X, Y, weights)
        if np.abs(X).max() > 1e100:
            raise ValueError("a row is too large, which is said after the block was learnt")
        return P


class OverflowsOnLargeRows(PKRR):
    def _run(self, X, Y, weights):
        with np.errstate(over="ignore", invalid="ignore"):
            return super()._run(X, Y, weights) + 0.0 * (X[:, :1] * X[:, :1])


class DividesByDistance(PKRR):
    def _predict(self, X):
        with np.errstate(invalid="ignore"):
            return super()._predict(X) * (X[:, :1] / X[:, :1])


class AnswersInSinglePrecision(PKRR):
    def run(self, X, Y=None, weights=None):
        return super().run(X, Y, weights).astype(np.float32)


class CountsTwice(PKRR):
    def run(self, X, Y=None, weights=None):
        P = super().run(X, Y, weights)
        self.n_seen_ += len(P)
        return P


class ExceedsItsBudget(SILK):
    def _limits(self):
        limits = super()._limits()
        return type(limits)(limits.size + 1, limits.drop)


class WidensWithOnes(KernelRidge):
    def _widen(self, d):
        old = self.factor_.points.shape[1]
        super()._widen(d)
        self.factor_.points[:, old:] = 1.0


class RefusesColumnsHalfway(KernelRidge):
    def _widen(self, d):
        super()._widen(d)
        raise TypeError("no more columns")


# -- labels ------------------------------------------------------------------------------------------------------------
class CountsWeightZero(PKRR):
    def _only_asked(self, X, Y):
        self.n_seen_ += len(X)
        return super()._only_asked(X, Y)


class AgesByWeightZero(FOGD):
    def _only_asked(self, X, Y):
        P = super()._only_asked(X, Y)
        if self.d_:
            self.solver_.t_ += len(X)
        return P


class IgnoresWeights(PKRR):
    def _run(self, X, Y, weights):
        return super()._run(X, Y, None)

    def _step(self, x, y, weight):
        return super()._step(x, y, 1.0)


class TakesWeightsItIgnores(SILK):
    def _run(self, X, Y, weights):
        return super()._run(X, Y, None)


class MixesTargets(PKRR):
    def _run(self, X, Y, weights):
        Y = Y.copy()
        Y[:, -1] += 0.1 * Y[:, 0] * (Y.shape[1] > 1)
        return super()._run(X, Y, weights)


class FavoursTheFirstTarget(PKRR):
    def _run(self, X, Y, weights):
        return super()._run(X, Y, None if Y.shape[1] == 1 else 1.0 + np.abs(Y[:, 0]))


class LosesSeveralTargets(PKRR):
    def run(self, X, Y=None, weights=None):
        return super().run(X, np.asarray(Y).reshape(len(X), -1)[:, 0], weights)


class KnowsLateClasses(FOGD):
    def _grow(self, outputs):
        super()._grow(outputs)
        self.solver_.W_[:, -1] = 1.0


class FavoursLateClasses(FOGD):
    def _grow(self, outputs):
        self.solver_.W_[:, 0] *= 0.5
        super()._grow(outputs)


class ForeseesClasses(FOGD):
    def run(self, X, Y=None, weights=None):
        return np.maximum(super().run(X, Y, weights), -1e9)


# -- bounds ------------------------------------------------------------------------------------------------------------
class ForgetsTheClip(KONS):
    def _note_labels(self, Y, stacklevel):
        return False


class PromisesHalf(PKAWV):
    def bound_terms(self, norm2, *, against="features"):
        terms = super().bound_terms(norm2, against=against)
        return terms._replace(dimension=0.5 * terms.dimension)


class IgnoresWhatFeaturesMiss(PKAWV):
    def _projection_price(self, energy):
        return 0.0


class SubtractsInfinities(KernelRidge):
    def regret(self):
        return float(self.meter_.loss.sum() - self.meter_.best.sum())


class NeverWidens(Conformal):
    def _radius(self, shares):
        return np.minimum(super()._radius(shares), 0.1)


class CountsFewerMisses(Conformal):
    def _learn(self, Y, P):
        super()._learn(Y, P)
        self.missed_ *= 0.5


PLAIN = {"features": FEATURES, "lam": 0.1}
CLASSES = {"kernel": G, "dim": 40, "loss": "softmax", "seed": 0}


def plain(kind: type[PKRR], **stream) -> Variant:
    return Variant(kind(**PLAIN), **stream)


BROKEN: dict[str, list[Variant]] = {
    "predict_changes_nothing": [plain(CountsQuestions)],
    "a_prediction_depends_on_its_row_alone": [plain(ComparesRows), plain(ComparesLaterRows)],
    "the_next_row_is_predicted_as_step_does": [plain(AnswersLaterRows)],
    "ahead_is_refused_unless_none_or_one": [plain(TakesAnyAhead)],
    "two_labels_one_prediction": [plain(k) for k in (PeeksInSteps, PeeksInBlocks, PeeksAhead, IgnoresLabels)],
    "run_equals_the_loop_of_step": [plain(HeavySteps), plain(LearnsBackwards)],
    "cutting_into_other_blocks_changes_nothing": [plain(LearnsBackwards)],
    "same_seed_same_bits": [plain(Unseeded)],
    "memory_layout_changes_no_bit": [plain(PrefersRows)],
    "predict_from_four_threads_equals_predict": [plain(SharedScratch)],
    "one_two_and_four_threads_give_the_same_bits": [
        Variant(CountsThreads([PKRR(FEATURES, lam=lam) for lam in (0.1, 1.0)], bound=3.0)),
        Variant(ForgetsBetweenThreads(FOGD(G, dim=40, seed=0), window=100, refresh=7)),
    ],
    "save_load_and_go_on": [plain(ForgetsOnDisk)],
    "a_clone_shares_no_memory": [plain(SharesArrays), plain(ClonesWhatItLearnt), plain(ForgetsOnDisk)],
    "parameters_round_trip": [plain(ConvertsParameters)],
    "merge_is_exact_or_refused": [
        plain(MergesNothing),
        plain(MergesByTakingOver),
        Variant(MergesInSilence(G, budget=20)),
    ],
    "what_is_unlearnt_was_never_there": [plain(UnlearnsTwice), plain(ForgetsToCountBack)],
    "rows_learnt_at_once_are_rows_learnt": [plain(BulkCountsTwice), plain(BulkIgnoresWeights, weights=True)],
    "an_interrupt_between_blocks_loses_nothing": [plain(PostponesBlocks), plain(ForgetsOnDisk)],
    "an_interrupted_evaluation_leaves_a_whole_learner": [plain(PostponesBlocks), plain(LearnsWhenLookedAt)],
    "bad_input_is_refused_and_changes_nothing": [plain(CountsBeforeChecking), plain(TakesAnything)],
    "a_row_too_large_is_learnt_or_its_block_refused_whole": [plain(RefusesTooLate), plain(OverflowsOnLargeRows)],
    "hard_points_give_finite_numbers": [plain(DividesByDistance)],
    "shapes_and_counts": [plain(AnswersInSinglePrecision), plain(CountsTwice)],
    "size_stays_within_the_declared_budget": [Variant(ExceedsItsBudget(G, budget=20))],
    "widened_it_is_as_if_the_columns_had_been_there": [
        Variant(WidensWithOnes(G, lam=0.1)),
        Variant(RefusesColumnsHalfway(G, lam=0.1)),
    ],
    "long_run_coverage_is_within_its_bound": [
        Variant(kind(PKRR(FEATURES, lam=0.1), window=50)) for kind in (NeverWidens, CountsFewerMisses)
    ],
    "weight_zero_leaves_no_trace": [plain(CountsWeightZero), Variant(AgesByWeightZero(G, dim=40, seed=0))],
    "weights_are_taken_or_refused": [plain(IgnoresWeights), Variant(TakesWeightsItIgnores(G, budget=20))],
    "several_targets_are_learnt_or_refused": [
        plain(MixesTargets),
        plain(FavoursTheFirstTarget),
        plain(LosesSeveralTargets),
        plain(MixesTargets, targets=2),
    ],
    "no_regret_exceeds_its_bound": [
        Variant(ForgetsTheClip(G)),
        Variant(PromisesHalf(FEATURES, lam=0.1)),
        Variant(IgnoresWhatFeaturesMiss(Taylor(G, degree=1), lam=0.01)),
    ],
    "labels_too_large_for_sums_of_squares_give_no_false_numbers": [Variant(SubtractsInfinities(G))],
    "late_classes": [
        Variant(KnowsLateClasses(**CLASSES)),
        Variant(FavoursLateClasses(**CLASSES)),
        Variant(ForeseesClasses(**CLASSES)),
    ],
}
"""By the name of the law."""
