"""Kernel expansions under gradients and implicit steps, with budgets of every kind."""

from nystream import BSGD, ILK, NORMA, SILK, SVMD, DualSGD, Gaussian, Laplacian, Linear, Matern
from variants.parts import ALIKE, ORDERED, G, OwnKernel, OwnLoss

VARIANTS = {
    "norma": {
        "linear": NORMA(Linear(), budget=30),
        "squared": NORMA(G, budget=30, loss="squared", eta=0.2),
        "classes": NORMA(G, loss="multiclass_hinge", offset=True, budget=30, keep="support"),
        "sum of kernels": NORMA(G + Linear() * Gaussian(0.3), loss="softmax", schedule="sqrt", offset=True),
        "novelty": NORMA(G, loss="novelty", nu=0.1, budget=30, keep="support"),
        "tube": NORMA(G, loss="epsilon_insensitive", nu=0.1, offset=True),
        "own kernel and loss": NORMA(OwnKernel(), loss=OwnLoss(), budget=20),
        "single precision": NORMA(G, budget=30, keep="support", offset=True, dtype="float32"),
    },
    "ilk": {
        "novelty": ILK(G, loss="novelty", C=0.1),
        "squared": ILK(G, loss="squared", lam=0.01),
        "single precision": ILK(Matern(1.5, 0.7), loss="softmax", dtype="float32"),
    },
    "silk": {
        "linear, squared": SILK(Linear(), budget=20, loss="squared"),
        "project": SILK(G, budget=20, drop="project", tau=0.01),
        "merge": SILK(G, budget=20, drop="merge", tau=0.01),
        "merge, logistic": SILK(G, loss="logistic", budget=20, drop="merge"),
        "sum, squared": SILK(G + Linear(), budget=20, drop="project", schedule="sqrt", lam=0.1, loss="squared"),
        "merge, classes": SILK(G, loss="multiclass_hinge", budget=20, drop="merge"),
        "project, softmax": SILK(G, loss="softmax", budget=20, drop="project"),
        "similar labels": SILK(G, loss=ORDERED, multiclass="runner_up", budget=20),
        "single precision": SILK(Laplacian(0.7), budget=20, dtype="float32"),
        "single precision, squared": SILK(G, budget=20, loss="squared", drop="contribution", dtype="float32"),
    },
    "svmd": {
        "squared": SVMD(G, loss="squared", budget=30),
        "softmax": SVMD(G, loss="softmax", budget=30),
        "novelty": SVMD(G, loss="novelty"),
        "similar labels": SVMD(G, budget=40, loss=ALIKE),
        "single precision": SVMD(G, budget=30, dtype="float32"),
    },
    "bsgd": {
        "linear": BSGD(Linear(), budget=10, lam=0.01, maintenance="project"),
        "remove": BSGD(G, budget=10, lam=0.01, maintenance="remove"),
        "project": BSGD(G, budget=10, lam=0.01, maintenance="project"),
        "squared": BSGD(G, budget=10, lam=0.01, loss="squared"),
        "softmax": BSGD(G, budget=10, lam=0.01, loss="softmax"),
        "similar labels": BSGD(G, budget=10, lam=0.01, loss=ALIKE),
        "single precision": BSGD(G, budget=10, lam=0.01, maintenance="remove", dtype="float32"),
    },
    "dual-sgd": {
        "softmax": DualSGD(G, budget=10, dim=30, lam=0.01, evict=3, loss="softmax", seed=0),
        "squared": DualSGD(G, budget=10, dim=30, lam=0.01, evict=1, loss="squared", seed=0),
        "single precision": DualSGD(G, budget=10, dim=30, lam=0.01, evict=3, seed=0, dtype="float32"),
    },
}
