"""Online Newton steps, on features and in the space of the kernel; other second-order learners of margins."""

from nystream import (
    AIOLI,
    GAF,
    KONS,
    KORS,
    NAROW,
    ONS,
    Linear,
    Nystrom,
    ProsNKons,
    SecondOrderPerceptron,
    SketchedKONS,
    SketchedONS,
)
from variants.parts import FEATURES, G

VARIANTS = {
    "aioli": {
        "linear, sharp": AIOLI(curvature="sharp"),
        "kors": AIOLI(KORS(G, 0.5, seed=0), lam=0.1),
        "collecting": AIOLI(Nystrom(G, 80), lam=0.1),
    },
    "gaf": {
        "linear": GAF(clip=5.0),
        "kors": GAF(KORS(G, 0.5, seed=0), lam=0.1),
        "collecting": GAF(Nystrom(G, 40), lam=0.1),
    },
    "ons": {
        "linear, logistic": ONS(loss="logistic", clip=2.0),
        "hinge": ONS(FEATURES, loss="hinge", clip=1.5),
        "nystrom": ONS(Nystrom(G, 12), clip=2.0),
        "kors": ONS(KORS(G, 0.5, seed=0), clip=2.0),
    },
    "sketched-ons": {"logistic": SketchedONS(FEATURES, sketch=5, loss="logistic", clip=2.0)},
    "kons": {"hinge": KONS(G, loss="hinge", clip=1.5), "linear": KONS(Linear(), clip=2.0)},
    "sketched-kons": {
        "logistic": SketchedKONS(G, loss="logistic", clip=2.0, gamma=0.0, seed=0),
        "weighted": SketchedKONS(G, clip=2.0, gamma=0.3, sketch_weights="inverse", seed=0),
    },
    "pros-n-kons": {
        "linear": ProsNKons(Linear(), clip=2.0, seed=0),
        "warm": ProsNKons(G, mu=0.5, clip=2.0, warm=True, max_atoms=30, seed=0),
        "hinge": ProsNKons(G, loss="hinge", clip=1.5, warm=True, seed=0),
        "logistic": ProsNKons(G, loss="logistic", clip=2.0, seed=0),
        "squared hinge": ProsNKons(G, loss="squared_hinge", clip=1.5, eta=0.1, seed=0),
    },
    "second-order-perceptron": {"linear": SecondOrderPerceptron(Linear())},
    "narow": {"linear": NAROW(Linear())},
}
