"""Maps that are given, chained, or have a constant, each under the learner that shows most of them."""

from nystream import PKRR, Fourier
from nystream.features import Chain, Landmarks, WithConstant
from nystream.learners import Forgetting
from variants.parts import FEATURES, LANDMARKS, METRIC, POINTS, G

VARIANTS = {
    "pkrr": {
        "constant and landmarks": PKRR(WithConstant(LANDMARKS), lam=0.1),
        "constant and fourier": PKRR(WithConstant(Fourier(G, 30, seed=0)), lam=0.1),
        "constant": PKRR(WithConstant(), lam=0.1),
        "metric and fourier": PKRR(Chain(METRIC, FEATURES), lam=0.1),
        "metric and landmarks": PKRR(WithConstant(Chain(METRIC, Landmarks(G, METRIC.transform(POINTS)))), lam=0.1),
    },
    "forgetting": {"metric and constant": Forgetting(Chain(METRIC, WithConstant()), decay=0.95)},
}
