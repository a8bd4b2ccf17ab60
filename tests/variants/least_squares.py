"""Least squares: on features, on a dictionary, on every row, with and without forgetting."""

from laws import Variant
from nystream import (
    KRLS,
    PKAWV,
    PKRR,
    Fastfood,
    Fourier,
    KernelAWV,
    KernelRidge,
    Laplacian,
    NystromPKAWV,
    NystromPKRR,
    StreamingGP,
)
from nystream.features import GrowingTaylor, WithConstant
from nystream.kernels import Linear, Polynomial
from nystream.learners import Forgetting, KernelSmoother
from variants.parts import FEATURES, LANDMARKS, POINTS, G, OwnKernel

VARIANTS = {
    "pkawv": {
        "clipped": PKAWV(FEATURES, clip=0.3),
        "landmarks, clipped": PKAWV(LANDMARKS, lam=0.1, clip=0.4),
        "averaged": PKAWV(FEATURES, lam=0.1, average=True),
        "growing Taylor": PKAWV(GrowingTaylor(G, max_features=40), lam=0.1, clip=2.0),
    },
    "pkrr": {
        "fastfood": PKRR(Fastfood(G, 40, seed=0), lam=0.1),
        "growing Taylor": PKRR(GrowingTaylor(G), lam=0.1),
        "laplacian": PKRR(Fourier(Laplacian(2.0), 40, seed=0), lam=0.1),
    },
    "nystrom-pkawv": {
        "kors": NystromPKAWV(G, lam=0.1, mu=0.5, seed=0),
        "given": NystromPKAWV(G, lam=0.1, dictionary=POINTS),
        "polynomial": NystromPKAWV(Polynomial(2), lam=0.1, seed=1),
        "exact": NystromPKAWV(G, lam=0.1, mu=0.5, memory="exact", seed=0),
        "exact, given": NystromPKAWV(G, lam=0.1, dictionary=POINTS, memory="exact"),
    },
    "nystrom-pkrr": {
        "full": NystromPKRR(G, lam=0.1, max_atoms=17, clip=0.6, seed=0),
        "ald": NystromPKRR(G, lam=0.1, dictionary="ald", nu=0.05),
        "averaged": NystromPKRR(G, lam=0.1, mu=0.5, average=True, seed=0),
        "exact, ald": NystromPKRR(G, lam=0.1, dictionary="ald", memory="exact", max_atoms=20),
    },
    "kernel-awv": {"own kernel": KernelAWV(OwnKernel(), lam=0.1), "linear": KernelAWV(Linear(), lam=10.0)},
    "kernel-ridge": {"clipped": KernelRidge(G, lam=0.1, clip=0.5), "room": KernelRidge(G, max_points=200)},
    "krls": {"small": KRLS(G, nu=0.01, max_atoms=40), "linear": KRLS(Linear())},
    "forgetting": {
        "affine": Forgetting(decay=0.95),
        "default decay": Forgetting(FEATURES, lam=0.1),
        "landmarks": Forgetting(WithConstant(LANDMARKS), lam=0.1, decay=0.9),
        "refreshed always": Forgetting(Fourier(G, 20, seed=0), decay=0.9, refresh=1, clip=0.5),
        "never": Forgetting(decay=1.0),
    },
    "streaming-gp": {
        "one model": StreamingGP(G, widths=1.0, lam=0.1),
        "full": StreamingGP(G, widths=(0.3, 1.0), lam=0.01, landmarks=9, scale=0.5),
        "polynomial": StreamingGP(Polynomial(2), widths=(1.0, 2.0), lam=(0.1, 1.0)),
    },
    "kernel-smoother": {
        "default": KernelSmoother(),
        "three neighbours": KernelSmoother(7, neighbours=3),
        "last row": Variant(KernelSmoother(1, neighbours=1), indifferent="one row is the mean of one row"),
        "fewer rows than neighbours": KernelSmoother(3, neighbours=10),
        "single precision": KernelSmoother(30, dtype="float32"),
    },
}
