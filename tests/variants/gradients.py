"""Gradient descent on features, on landmarks of the stream, on features that are drawn or rescaled on the way."""

from nystream import FOGD, NOGD, NOLANA, RRF, DoublySGD
from variants.parts import ALIKE, POINTS, G

VARIANTS = {
    "fogd": {
        "orthogonal, squared": FOGD(G, dim=40, loss="squared", features="orthogonal", seed=0),
        "fastfood, sqrt": FOGD(G, dim=40, schedule="sqrt", lam=0.01, features="fastfood", seed=0),
        "softmax": FOGD(G, dim=40, loss="softmax", seed=0),
        "multiclass hinge": FOGD(G, dim=40, loss="multiclass_hinge", seed=0),
        "novelty": FOGD(G, dim=40, loss="novelty", seed=0),
        "adagrad": FOGD(G, dim=40, method="adagrad", seed=0),
        "adam": FOGD(G, dim=40, method="adam", seed=0),
        "single precision": FOGD(G, dim=40, average=True, seed=0, dtype="float32"),
        "single precision, adam, softmax": FOGD(G, dim=40, loss="softmax", method="adam", seed=0, dtype="float32"),
        "single precision, fastfood": FOGD(G, dim=40, features="fastfood", seed=0, dtype="float32"),
        "implicit, logistic": FOGD(G, dim=40, loss="logistic", method="implicit", lam=0.01, seed=0),
    },
    "nogd": {
        "squared": NOGD(G, landmarks=20, loss="squared"),
        "adagrad, softmax": NOGD(G, landmarks=20, loss="softmax", method="adagrad"),
        "averaged, softmax": NOGD(G, landmarks=20, loss="softmax", average=True),
        "support": NOGD(G, landmarks=10, select="support"),
    },
    "nolana": {
        "squared": NOLANA(G, landmarks=20, eps=0.1, loss="squared"),
        "adagrad": NOLANA(G, landmarks=20, eps=0.1, method="adagrad", order="ls_gd"),
        "averaged": NOLANA(G, landmarks=20, eps=0.1, order="ls_gd", average=True),
        "given": NOLANA(G, landmarks=POINTS, eps=0.1),
    },
    "rrf": {
        "averaged": RRF(G, dim=40, average=True, seed=0),
        "squared": RRF(G, dim=40, loss="squared", seed=0),
        "similar labels": RRF(G, dim=40, loss=ALIKE, seed=0),
    },
    "doubly-sgd": {
        "squared": DoublySGD(G, step=5.0, block=4, loss="squared", seed=0),
        "similar labels": DoublySGD(G, step=5.0, block=4, loss=ALIKE, seed=0),
    },
}
