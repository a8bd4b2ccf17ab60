"""Learners around other learners."""

from nystream import (
    FOGD,
    KRLS,
    NOLANA,
    ONS,
    PKAWV,
    PKRR,
    SILK,
    Aggregate,
    Classifier,
    Conformal,
    Encoded,
    Fourier,
    KernelAWV,
    KernelRidge,
    Mixture,
    Nystrom,
    NystromPKRR,
    Perceptron,
    Standardized,
    Thresholded,
)
from nystream.learners import Forgetting, KernelSmoother
from variants.automatic import SMALL_AUTO
from variants.parts import FEATURES, G

VARIANTS = {
    "aggregate": {
        "kernels": Aggregate([KernelAWV(G), KernelRidge(G, lam=0.1, clip=1.0)], bound=3.0, prior=[0.2, 0.8]),
        "nested": Aggregate(
            [
                Aggregate([PKAWV(Fourier(G, 20, seed=0)), KernelAWV(G)], bound=3.0),
                Standardized(KernelAWV(G)),
                ONS(clip=3.0),
            ],
            bound=3.0,
            rule="ewa",
        ),
        "maps that move": Aggregate([ONS(Nystrom(G, 12), lam=lam, clip=3.0) for lam in (0.5, 2.0)], bound=3.0),
    },
    "mixture": {
        "kernels": Mixture([KernelAWV(G), KernelRidge(G, lam=0.1), PKRR(FEATURES)], bound=3.0, share=0.05, eta=1.0)
    },
    "encoded": {
        "least squares": Encoded(PKAWV(FEATURES, lam=0.1)),
        "experts": Encoded(KernelRidge(G, lam=0.1), experts=True),
        "automatic": Encoded(SMALL_AUTO, experts=True),
        "classes": Encoded(Classifier(PKRR(FEATURES, lam=0.1))),
        "signs": Encoded(FOGD(G, dim=40, seed=0)),
        "novelty": Encoded(FOGD(G, dim=40, loss="novelty", seed=0)),
    },
    "classifier": {
        "least squares": Classifier(PKRR(FEATURES, lam=0.1)),
        "kernel": Classifier(KernelRidge(G, lam=0.1)),
        "dictionary": Classifier(NystromPKRR(G, lam=0.1, mu=0.5, seed=0)),
        "krls": Classifier(KRLS(G)),
        "forgetting": Classifier(Forgetting(FEATURES, decay=0.97)),
        "smoother": Classifier(KernelSmoother(window=30)),
        "one versus rest": Classifier(FOGD(G, dim=40, seed=0)),
        "one versus rest, landmarks": Classifier(NOLANA(G, landmarks=20, eps=0.1)),
        "one versus rest, unweighted": Classifier(Perceptron(G)),
        "native": Classifier(FOGD(G, dim=40, loss="softmax", seed=0)),
        "auto": Classifier(SMALL_AUTO),
    },
    "standardized": {
        "least squares": Standardized(PKAWV(FEATURES, lam=0.1)),
        "room": Standardized(KernelRidge(G, max_points=200)),
        "unweighted": Standardized(ONS(FEATURES, clip=2.0)),
        "classifier": Standardized(Classifier(PKRR(FEATURES, lam=0.1))),
        "thresholded": Standardized(Thresholded(FOGD(G, dim=40, seed=0), window=20, refresh=30)),
    },
    "conformal": {
        "many rates": Conformal(PKRR(FEATURES, lam=0.1), window=50),
        "one rate": Conformal(KernelRidge(G, lam=0.1), 0.7, method="aci", window=30, rate=0.1),
        "map that moves": Conformal(NystromPKRR(G, lam=0.1, mu=0.5, seed=0), 0.8, window=40),
        "automatic": Conformal(SMALL_AUTO, window=40),
    },
    "thresholded": {
        "silk": Thresholded(SILK(G, budget=20), criterion="f1", window=30, refresh=7),
        "least squares": Thresholded(PKRR(FEATURES, lam=0.1), criterion="recall", target=0.9, refresh=10),
        "never tuned": Thresholded(FOGD(G, dim=40, seed=0), window=0),
        "auto": Thresholded(SMALL_AUTO, criterion="f1", window=30, refresh=7),
        "auto, costs": Thresholded(SMALL_AUTO, costs={"fp": 1, "fn": 5}),
        "classifier of codes, costs": Thresholded(Classifier(PKRR(FEATURES, lam=0.1)), costs={"fp": 3, "fn": 1}),
        "classifier of margins, costs": Thresholded(Classifier(SILK(G, budget=20)), costs={"fp": 1, "fn": 5}),
        "classifier of log odds": Thresholded(Classifier(FOGD(G, dim=40, loss="logistic", seed=0)), refresh=10),
    },
}
