"""What a learner can do, whatever is around it can, with the right numbers; what it cannot is refused by name."""

from __future__ import annotations

import copy
import inspect
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from wrapped import ASK, CHANGES, WRAPPERS, Inside, wrapped

import nystream
from nystream import (
    FOGD,
    ILK,
    KONS,
    NOGD,
    NOLANA,
    NORMA,
    ONS,
    PKAWV,
    PKRR,
    RRF,
    SILK,
    SVMD,
    Aggregate,
    Auto,
    Classifier,
    Conformal,
    DoublySGD,
    DualSGD,
    Fourier,
    Gaussian,
    KernelRidge,
    Mixture,
    NystromPKAWV,
    ProsNKons,
    SketchedKONS,
    SketchedONS,
    Standardized,
    Thresholded,
    Unable,
    prequential,
)
from nystream.compose.wrapper import Wrapper
from nystream.learners import ABILITIES, BSGD, Abilities, Learner
from nystream.persist.tags import TAGS, class_of
from nystream.registry import LEARNERS

G = Gaussian(0.7)
FEATURES = Fourier(G, 12, seed=0)
FAMILIES = {
    "fogd": FOGD(G, dim=12, seed=0),
    "nogd": NOGD(G, landmarks=8),
    "nolana": NOLANA(G, landmarks=8, eps=0.3),
    "rrf": RRF(G, dim=12, seed=0),
    "doubly-sgd": DoublySGD(G, step=5.0, block=4, seed=0),
    "norma": NORMA(G, budget=20),
    "ilk": ILK(G),
    "silk": SILK(G, budget=20),
    "svmd": SVMD(G, budget=20),
    "bsgd": BSGD(G, budget=15, lam=0.01),
    "dual-sgd": DualSGD(G, budget=10, dim=12, lam=0.01, evict=4, seed=0),
    "ons": ONS(FEATURES, clip=2.0),
    "sketched-ons": SketchedONS(FEATURES, sketch=4, clip=2.0),
    "kons": KONS(G, clip=2.0),
    "sketched-kons": SketchedKONS(G, clip=2.0, gamma=0.2, seed=0),
    "pros-n-kons": ProsNKons(G, mu=0.5, clip=2.0, warm=True, seed=0),
}
"""One learner of every family in which the loss is free."""
ONE_SCORE = ("ons", "sketched-ons", "kons", "sketched-kons", "pros-n-kons")


def with_loss(name, loss):
    return FAMILIES[name].clone().set_params(loss=loss)


LEARNERS = {
    **{name: entry.example for name, entry in LEARNERS.items()},
    "pros-n-kons": ProsNKons(G, mu=0.5, clip=2.0, max_atoms=8, seed=0),  # the example still restarts after 60 rows
    **{f"{name} logistic": with_loss(name, "logistic") for name in FAMILIES},
    **{f"{name} softmax": with_loss(name, "softmax") for name in FAMILIES if name not in ONE_SCORE},
    **{
        f"{name} averaged": FAMILIES[name].clone().set_params(average=True)
        for name in ("fogd", "nogd", "nolana", "rrf")
    },
    "auto classes": LEARNERS["auto"].example.for_classes(),
    "nystrom-pkawv exact": NystromPKAWV(G, lam=0.1, memory="exact", seed=0),
}

rng = np.random.default_rng(0)
X = 0.3 + 0.6 * rng.uniform(-1, 1, (60, 3))  # in reach of the kernels, but not standardised
REAL = np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=60)
SIGN = np.where(X[:, 1] + 0.1 * rng.normal(size=60) > 0.3, 1.0, -1.0)
LABELS = {"real": REAL, "sign": SIGN, "class": (SIGN + 1) / 2, "none": None}
Q = 0.3 + 0.6 * rng.uniform(-1, 1, (5, 3))
PAIRS = [(around, name) for around in WRAPPERS for name in LEARNERS if wrapped(around, LEARNERS[name]) is not None]
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


def same(answer, expected):
    if isinstance(expected, dict):
        assert answer.keys() == expected.keys()
        answer, expected = list(answer.values()), list(expected.values())
    if isinstance(expected, str):
        assert answer == expected
    else:
        assert_allclose(answer, expected, **CLOSE)


def refused(model, name, ability):
    """An `Unable` that says who cannot do it."""
    with pytest.raises(Unable) as caught:
        ASK[ability](model, Q) if ability in ASK else CHANGES[ability](model)
    said = str(caught.value)
    assert type(model).__name__ in said
    assert type(LEARNERS[name]).__name__ in said
    assert ability in said


# -- the law -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("around", "name"), PAIRS)
def test_what_the_inner_learner_can_do_the_wrapped_one_can_with_the_right_numbers(around, name):
    oracle = wrapped(around, LEARNERS[name])
    model = oracle.pattern
    labels = LABELS[model.labels]
    model.run(X, labels)
    oracle.run(X, labels)
    same(model.predict(Q), oracle.predict(Q))
    assert np.ptp(model.predict(Q), axis=0).min() > 1e-3  # it has learnt something
    assert model.abilities == {ability for ability in ABILITIES if oracle.can(ability)}
    before = model.to_bytes()
    for ability in ABILITIES:
        if not oracle.can(ability):
            refused(model, name, ability)
        elif ability in ASK:
            answer, expected = ASK[ability](model, Q), oracle.ask(ability, Q)
            if expected is not None:
                same(answer, expected)
            else:  # probabilities by a map that follows the stream
                assert_allclose(answer.sum(axis=1), 1.0)
                assert_array_equal(answer.argmax(axis=1), model.predict(Q).argmax(axis=1))
    assert model.to_bytes() == before
    if oracle.can("add_outputs"):
        model.add_outputs(np.array([[-2.0]]))
        same(model.predict(Q), np.column_stack([oracle.predict(Q), -2 * oracle.predict(Q)]))
    if oracle.can("unlearn"):
        fewer = model.clone()
        fewer.run(X[20:], labels[20:])
        model.unlearn(X[:20], labels[:20])
        same(model.predict(Q), fewer.predict(Q))
        assert model.n_seen == fewer.n_seen
    if oracle.can("merge"):
        first, second, whole = (model.clone() for _ in range(3))
        first.run(X[:25], labels[:25])
        second.run(X[25:], labels[25:])
        whole.run(X, labels)
        if "nystrom" not in name:  # whose dictionaries are of different streams
            same(first.merge(second).predict(Q), whole.predict(Q))
        assert first.clone().merge(whole).n_seen == 60


def test_every_ability_is_in_the_law_and_those_that_some_learner_has_are_used(capsys):
    able, refusals = Counter(), Counter()
    for around, name in PAIRS:
        oracle = wrapped(around, LEARNERS[name])
        for ability in ABILITIES:
            (able if oracle.can(ability) else refusals)[ability] += 1
    with capsys.disabled():
        print(
            f"\n{len(PAIRS)} wrapped learners, {able.total()} abilities with their numbers, {refusals.total()} refused"
        )
    had = {ability for learner in LEARNERS.values() for ability in learner.abilities}
    assert had == set(ABILITIES)
    assert all(refusals[ability] > 0 for ability in ABILITIES)
    assert all(able[ability] > 0 for ability in had)
    assert {around for around, _ in PAIRS} == set(WRAPPERS)
    kinds = [class_of(tag) for tag in TAGS if tag.startswith("compose/")]
    around = {type(wrapped(around, LEARNERS[name]).pattern) for around, name in PAIRS}
    assert around == {kind for kind in kinds if issubclass(kind, Wrapper)}
    assert {name for _, name in PAIRS} == set(LEARNERS)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_does_what_it_says_it_can_and_refuses_the_rest(name):
    model = Inside(LEARNERS[name])
    model.run(X, LABELS[LEARNERS[name].labels])
    for ability in ABILITIES:
        if not model.learner.can(ability):
            refused(model.learner, name, ability)
        elif ability in ASK:
            answer = ASK[ability](model.learner, Q)
            assert isinstance(answer, (str, dict)) or np.all(np.isfinite(np.asarray(answer)) | np.isinf(answer))


# -- declarations ------------------------------------------------------------------------------------------------------
def test_every_ability_has_one_signature_in_all_classes():
    def kinds(cls):
        return {cls}.union(*(kinds(child) for child in cls.__subclasses__()))

    found = 0
    for cls in kinds(Abilities):
        for ability in ABILITIES:
            own = inspect.signature(vars(cls).get(ability, getattr(Abilities, ability)))
            declared = inspect.signature(getattr(Abilities, ability))
            assert list(own.parameters.values())[1:] == [
                parameter.replace(annotation=own.parameters[parameter.name].annotation)
                for parameter in list(declared.parameters.values())[1:]
            ], f"{cls.__name__}.{ability}"
            found += ability in vars(cls)
    assert found > len(ABILITIES) + 60


def test_every_method_of_the_declaration_is_an_ability_or_asks_for_one():
    public = [name for name in vars(Abilities) if not name.startswith("_")]
    assert public == [*ABILITIES, "can", "abilities", "why_not"]


def test_a_refusal_names_learners_that_have_the_ability_and_no_others():
    with pytest.raises(Unable, match=r"FOGD cannot unlearn: .*; learners with `unlearn` are .*PKAWV, PKRR"):
        FAMILIES["fogd"].unlearn(X, SIGN)
    with pytest.raises(Unable, match=r"Standardized\(FOGD\) has no standard deviations"):
        Standardized(FAMILIES["fogd"]).std(X)
    with pytest.raises(Unable, match="learners with `alarms` are Auto"):
        FAMILIES["fogd"].alarms()
    for ability in ABILITIES:
        with pytest.raises(Unable) as caught:
            raise Learner()._unable(ability)
        for named in str(caught.value).rpartition(" are ")[2].partition(" and ")[0].split(", "):
            if hasattr(nystream, named):
                assert any(
                    learner.can(ability) for learner in LEARNERS.values() if type(learner).__name__ == named
                ) or issubclass(getattr(nystream, named), Classifier | Conformal)
    with pytest.raises(ValueError, match="no ability is called 'fly'; there are probabilities, "):
        FAMILIES["fogd"].can("fly")


def test_what_parameters_rule_out_is_refused_with_the_way_out():
    with pytest.raises(Unable, match="create it with average=True"):
        Standardized(FAMILIES["fogd"]).averaged(Q)
    with pytest.raises(Unable, match="loss 'hinge' are not log odds; use 'logistic'"):
        FAMILIES["norma"].probabilities(Q)
    with pytest.raises(Unable, match="task='regression'"):
        Auto().probabilities(Q)
    with pytest.raises(Unable, match="task='classification'"):
        Classifier(Auto()).predict_interval(Q)
    with pytest.raises(Unable, match="use memory='frozen'"):
        LEARNERS["nystrom-pkawv exact"].merge(LEARNERS["nystrom-pkawv exact"])
    with pytest.raises(Unable, match="the scaling of a row depends on the rows before it"):
        Standardized(PKRR(FEATURES)).unlearn(Q, REAL[:5])
    with pytest.raises(Unable, match="window=0"):
        Thresholded(PKRR(FEATURES)).merge(Thresholded(PKRR(FEATURES)))


def test_a_bound_that_depends_on_the_comparator_asks_for_its_norm():
    for name in ONE_SCORE:
        for model in (FAMILIES[name], Standardized(FAMILIES[name])):
            with pytest.raises(ValueError, match="give norm2"):
                model.regret_bound()
            with pytest.raises(ValueError, match="against one comparator, got changes=2"):
                model.regret_bound(1.0, changes=2)
    grid = [PKAWV(FEATURES, lam=lam) for lam in (0.1, 1.0)]
    with pytest.raises(ValueError, match="changes=1"):
        Aggregate(grid, bound=2.0).regret_bound(changes=1)
    assert Standardized(Mixture(grid, bound=2.0)).regret_bound(changes=1) > Mixture(grid, bound=2.0).regret_bound()


# -- probabilities of a loss -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FAMILIES)
def test_a_logistic_loss_gives_two_columns_in_every_family(name):
    model = with_loss(name, "logistic")
    assert_array_equal(model.probabilities(Q), np.full((5, 2), 0.5))
    model.run(X, SIGN)
    f = model.predict(Q)
    assert np.abs(f).max() > 0
    assert_array_equal(model.probabilities(Q), np.column_stack([expit(-f), expit(f)]))


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ONE_SCORE])
def test_a_softmax_loss_gives_a_column_for_every_class_in_every_family(name):
    model = with_loss(name, "softmax")
    model.run(X, np.digitize(REAL, [-0.3, 0.4]))
    assert_allclose(model.probabilities(Q), softmax(model.predict(Q), axis=1), rtol=1e-12)
    assert model.probabilities(Q).shape == (5, 3)


@pytest.mark.parametrize("loss", ["logistic", "softmax", "hinge", "squared"])
def test_log_loss_of_a_wrapped_classifier_is_that_of_probabilities_asked_before_each_label(loss):
    y = np.digitize(REAL, [-0.3, 0.4])
    y[:20] = np.minimum(y[:20], 1)  # the third class appears late
    model = Standardized(Classifier(with_loss("fogd", loss)))
    found = prequential((X, y), model.clone(), "logloss", every=1)["logloss"]
    given = np.full(60, np.finfo(float).eps)
    for t in range(60):
        P = model.probabilities(X[t : t + 1])[0]
        given[t] = P[y[t]] if t and y[t] < len(P) else given[t]
        model.step(X[t], y[t])
    assert np.isnan(found[0])  # the first row is predicted before any label and does not count
    assert_allclose(found[1:], -np.cumsum(np.log(given[1:])) / np.arange(1, 60), rtol=1e-9)


# -- classes -----------------------------------------------------------------------------------------------------------
def test_one_learner_for_each_class_adds_up_and_stands_side_by_side():
    y = np.digitize(REAL, [-0.3, 0.4])
    pattern = KONS(G, clip=2.0)
    model = Classifier(pattern)
    model.reserve(3, 3)
    model.run(X, y)
    alone = [pattern.clone() for _ in range(3)]
    for k, learner in enumerate(alone):
        learner.run(X, np.where(y == k, 1.0, -1.0))
    for ability in ("log_det", "effective_dimension", "online_dimension"):
        same(ASK[ability](model, Q), sum(ASK[ability](learner, Q) for learner in alone))
    same(model.regret_bound(0.5), sum(learner.regret_bound(0.5) for learner in alone))
    mean, parts = Classifier(NORMA(G)), [NORMA(G) for _ in range(3)]
    mean.reserve(3, 3)
    mean.run(X, y)
    for k, learner in enumerate(parts):
        learner.run(X, np.where(y == k, 1.0, -1.0))
    same(mean.averaged(Q), np.column_stack([learner.averaged(Q) for learner in parts]))


def test_classifiers_of_least_squares_merge_and_unlearn_classes_that_one_of_them_never_saw():
    y = np.digitize(REAL, [-0.3, 0.4])
    low = np.minimum(y[:30], 1)
    first, second, whole = (Classifier(PKRR(FEATURES, lam=0.1)) for _ in range(3))
    first.run(X[:30], low)
    second.run(X[30:], y[30:])
    whole.run(X, np.r_[low, y[30:]])
    backwards = copy.deepcopy(second).merge(first)
    first.merge(second)
    for model in (first, backwards):
        same(model.predict(Q), whole.predict(Q))
        same(model.probabilities(Q), whole.probabilities(Q))
        assert model.n_seen == 60
    first.unlearn(X[30:], y[30:])
    only = Classifier(PKRR(FEATURES, lam=0.1))
    only.reserve(3, 3)
    only.run(X[:30], low)
    same(first.predict(Q), only.predict(Q))
    assert first.n_seen == 30
    with pytest.raises(ValueError, match="class 7 was never learnt"):
        first.unlearn(X[:1], [7])
    with pytest.raises(ValueError, match="equal parameters"):
        Classifier(PKRR(FEATURES)).merge(whole)


def test_a_threshold_that_only_tune_moves_is_merged_with_its_equal():
    left, right = (Thresholded(PKRR(FEATURES), window=0, caution=0.0) for _ in range(2))
    left.run(X, SIGN)
    right.run(X, SIGN)
    left.tune(X, SIGN)
    right.tune(X[:7], -SIGN[:7])
    with pytest.raises(ValueError, match="merge needs equal thresholds"):
        left.merge(right)
    assert left.n_seen == 60


# -- clean entries -----------------------------------------------------------------------------------------------------
def test_clean_entries_count_rows_check_weights_and_have_two_dimensions():
    model, twin = ONS(FEATURES, clip=2.0), ONS(FEATURES, clip=2.0)
    assert_array_equal(model.predict_clean(X), np.zeros((60, 1)))
    P = model.run_clean(X[:40], REAL[:40, None])
    steps = [model.step_clean(x, np.array([y])) for x, y in zip(X[40:], REAL[40:], strict=True)]
    assert_allclose(np.vstack([P, *steps])[:, 0], [twin.step(x, y) for x, y in zip(X, REAL, strict=True)], **CLOSE)
    assert (P.shape, steps[0].shape, model.n_seen) == ((40, 1), (1,), 60)
    with pytest.raises(ValueError, match="ONS does not take weights"):
        model.run_clean(X, REAL[:, None], np.ones(60))
    with pytest.raises(ValueError, match="ONS does not take weights"):
        model.step_clean(X[0], REAL[:1], 2.0)
    with pytest.raises(ValueError, match="y has 2 columns"):
        model.step(X[0], [1.0, 2.0])
    assert model.n_seen == 60


def test_rows_that_the_inner_learner_refuses_do_not_move_the_scale():
    model = Standardized(KernelRidge(G, max_points=10))
    model.run(X[:10], REAL[:10])
    before = model.to_bytes()
    for refused_rows in (lambda: model.run(X[10:], REAL[10:]), lambda: model.step(X[10], REAL[10])):
        with pytest.raises(ValueError, match="max_points=10"):
            refused_rows()
        assert model.to_bytes() == before
