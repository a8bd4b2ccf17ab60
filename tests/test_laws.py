"""Every law over every learner of the catalogue, and over settings and compositions that take other paths."""

from __future__ import annotations

import pytest
from laws import LAWS

from nystream import (
    FOGD,
    KONS,
    KORS,
    ONS,
    PKAWV,
    PKRR,
    SILK,
    Classifier,
    Fastfood,
    Fourier,
    Gaussian,
    KernelRidge,
    Laplacian,
    Nystrom,
    SketchedKONS,
    Standardized,
)
from nystream.learners.catalogue import CATALOGUE

G = Gaussian(0.7)
FEATURES = Fourier(G, 40, seed=0)
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
    "fogd-implicit-logistic": FOGD(G, dim=40, loss="logistic", method="implicit", lam=0.01, seed=0),
    "classifier-least-squares": Classifier(PKRR(FEATURES, lam=0.1)),
    "classifier-kernel": Classifier(KernelRidge(G, lam=0.1)),
    "classifier-one-versus-rest": Classifier(FOGD(G, dim=40, seed=0)),
    "classifier-native": Classifier(FOGD(G, dim=40, loss="softmax", seed=0)),
    "standardized": Standardized(PKAWV(FEATURES, lam=0.1)),
    "standardized-classifier": Standardized(Classifier(PKRR(FEATURES, lam=0.1))),
}

EXAMPLES = {**{entry.name: entry.example for entry in CATALOGUE.values()}, **VARIANTS}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_law(name, law, tmp_path):
    arguments = [tmp_path / "model.nys"] if law == "save_load_and_go_on" else []
    LAWS[law](EXAMPLES[name].clone, *arguments)
