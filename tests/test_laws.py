"""Every law over every learner of the catalogue, and over settings and compositions that take other paths."""

from __future__ import annotations

import numpy as np
import pytest

from laws import LAWS
from nystream import (
    FOGD,
    KONS,
    KORS,
    NOGD,
    NOLANA,
    ONS,
    PKAWV,
    PKRR,
    RRF,
    SILK,
    SVMD,
    BudgetPA,
    Classifier,
    DoublySGD,
    Fastfood,
    Fourier,
    Gaussian,
    GaussianFilter,
    KernelRidge,
    Laplacian,
    Linear,
    Nystrom,
    PassiveAggressive,
    Perceptron,
    Projectron,
    RandomBudgetPerceptron,
    SketchedKONS,
    SparseLinear,
    Standardized,
    Thresholded,
)
from nystream.auto.learner import Auto
from nystream.auto.recipe import Recipe
from nystream.catalogue import CATALOGUE
from nystream.features import Landmarks, WithConstant
from nystream.learners import Forgetting, KernelSmoother
from nystream.losses import StructuredHinge

G = Gaussian(0.7)
SMALL = Recipe((1, 2, 5, 14, 40), landmarks=8, big=16, small=6, ring=20, refresh=15, windows=(15, 6), metric=30)
FEATURES = Fourier(G, 40, seed=0)
ALIKE = StructuredHinge(1 - np.eye(3), np.eye(3) + 0.4)
POINTS = np.random.default_rng(5).uniform(-1, 1, (15, 3))
VARIANTS = {
    "pkawv-clipped": PKAWV(FEATURES, clip=0.3),
    "pkrr-fastfood": PKRR(Fastfood(G, 40, seed=0), lam=0.1),
    "pkrr-laplacian": PKRR(Fourier(Laplacian(2.0), 40, seed=0), lam=0.1),
    "ons-linear-logistic": ONS(loss="logistic", clip=2.0),
    "ons-hinge": ONS(FEATURES, loss="hinge", clip=1.5),
    "ons-nystrom": ONS(Nystrom(G, 12), clip=2.0),
    "ons-kors": ONS(KORS(G, 0.5, seed=0), clip=2.0),
    "kons-hinge": KONS(G, loss="hinge", clip=1.5),
    "sketched-kons-logistic": SketchedKONS(G, loss="logistic", clip=2.0, gamma=0.0, seed=0),
    "silk-project-softmax": SILK(G, loss="softmax", budget=20, drop="project"),
    "silk-merge-logistic": SILK(G, loss="logistic", budget=20, drop="merge"),
    "fogd-orthogonal-squared": FOGD(G, dim=40, loss="squared", features="orthogonal", seed=0),
    "fogd-fastfood-sqrt": FOGD(G, dim=40, schedule="sqrt", lam=0.01, features="fastfood", seed=0),
    "fogd-softmax": FOGD(G, dim=40, loss="softmax", seed=0),
    "fogd-multiclass-hinge": FOGD(G, dim=40, loss="multiclass_hinge", seed=0),
    "fogd-novelty": FOGD(G, dim=40, loss="novelty", seed=0),
    "fogd-adagrad": FOGD(G, dim=40, method="adagrad", seed=0),
    "fogd-adam": FOGD(G, dim=40, method="adam", seed=0),
    "nogd-adagrad-softmax": NOGD(G, landmarks=20, loss="softmax", method="adagrad"),
    "nolana-adagrad": NOLANA(G, landmarks=20, eps=0.1, method="adagrad", order="ls_gd"),
    "fogd-implicit-logistic": FOGD(G, dim=40, loss="logistic", method="implicit", lam=0.01, seed=0),
    "classifier-least-squares": Classifier(PKRR(FEATURES, lam=0.1)),
    "classifier-kernel": Classifier(KernelRidge(G, lam=0.1)),
    "classifier-one-versus-rest": Classifier(FOGD(G, dim=40, seed=0)),
    "classifier-native": Classifier(FOGD(G, dim=40, loss="softmax", seed=0)),
    "pkrr-landmarks": PKRR(WithConstant(Landmarks(G, POINTS)), lam=0.1),
    "forgetting-affine": Forgetting(decay=0.95),
    "forgetting-landmarks": Forgetting(WithConstant(Landmarks(G, POINTS)), lam=0.1, decay=0.9),
    "classifier-forgetting": Classifier(Forgetting(FEATURES, decay=0.97)),
    "classifier-smoother": Classifier(KernelSmoother(window=30)),
    "auto-classes": Auto(recipe=SMALL, task="classification"),
    "auto-warming-up": Auto(lags=False),
    "classifier-auto": Classifier(Auto(recipe=SMALL, seed=3)),
    "sparse-linear-logistic": SparseLinear("logistic", bits=6, pairs=True),
    "sparse-linear-softmax": SparseLinear("softmax", bits=8, rates=(2.0,)),
    "sparse-linear-folded": SparseLinear("softmax", bits=8, max_bytes=2**12),
    "gaussian-filter-logistic": GaussianFilter("logistic", bits=8, prior=3.0),
    "gaussian-filter-softmax": GaussianFilter("softmax", bits=6, pairs=True, max_bytes=2**10),
    "standardized": Standardized(PKAWV(FEATURES, lam=0.1)),
    "standardized-classifier": Standardized(Classifier(PKRR(FEATURES, lam=0.1))),
    "nogd-averaged-softmax": NOGD(G, landmarks=20, loss="softmax", average=True),
    "nolana-averaged": NOLANA(G, landmarks=20, eps=0.1, order="ls_gd", average=True),
    "rrf-averaged": RRF(G, dim=40, average=True, seed=0),
    "perceptron-alike": Perceptron(G, loss=ALIKE),
    "perceptron-linear-alike": Perceptron(Linear(), loss=ALIKE),
    "passive-aggressive-alike": PassiveAggressive(G, variant="II", loss=ALIKE, multiclass="runner_up"),
    "random-budget-perceptron-alike": RandomBudgetPerceptron(G, budget=10, loss=ALIKE, seed=0),
    "budget-pa-alike": BudgetPA(G, budget=15, variant="NN", loss=ALIKE),
    "projectron-alike": Projectron(G, tol=0.3, plus=True, loss=ALIKE),
    "svmd-alike": SVMD(G, budget=40, loss=ALIKE),
    "rrf-alike": RRF(G, dim=40, loss=ALIKE, seed=0),
    "doubly-sgd-alike": DoublySGD(G, step=5.0, block=4, loss=ALIKE, seed=0),
    "classifier-nolana": Classifier(NOLANA(G, landmarks=20, eps=0.1)),
    "thresholded-silk": Thresholded(SILK(G, budget=20), criterion="f1", window=30, refresh=7),
    "thresholded-least-squares": Thresholded(PKRR(FEATURES, lam=0.1), criterion="recall", target=0.9, refresh=10),
    "standardized-thresholded": Standardized(Thresholded(FOGD(G, dim=40, seed=0), window=20, refresh=30)),
}

EXAMPLES = {**{entry.name: entry.example for entry in CATALOGUE.values()}, **VARIANTS}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_law(name, law, tmp_path):
    arguments = [tmp_path / "model.nys"] if law == "save_load_and_go_on" else []
    LAWS[law](EXAMPLES[name].clone, *arguments)
