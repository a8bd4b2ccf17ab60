"""Learners that change only when they are wrong or not right enough."""

from laws import Variant
from nystream import BudgetPA, Forgetron, Linear, PassiveAggressive, Perceptron, Projectron, RandomBudgetPerceptron
from nystream.losses import MulticlassHinge
from variants.parts import ALIKE, G, OwnKernel

VARIANTS = {
    "perceptron": {
        "linear": Perceptron(Linear()),
        "three classes": Perceptron(G, loss=MulticlassHinge(3)),
        "linear, classes": Perceptron(Linear(), loss="multiclass_hinge"),
        "similar labels": Perceptron(G, loss=ALIKE),
        "linear, similar labels": Perceptron(Linear(), loss=ALIKE),
        "single precision": Perceptron(G, dtype="float32"),
    },
    "random-budget-perceptron": {
        "own kernel": RandomBudgetPerceptron(OwnKernel(), budget=8, seed=1),
        "classes": RandomBudgetPerceptron(G, budget=8, loss="multiclass_hinge", seed=1),
        "similar labels": RandomBudgetPerceptron(G, budget=10, loss=ALIKE, seed=0),
        "single precision": RandomBudgetPerceptron(G, budget=8, seed=1, dtype="float32"),
    },
    "passive-aggressive": {
        "pa": Variant(PassiveAggressive(G, variant=None), indifferent="there is no C that a weight could multiply"),
        "pa-ii": PassiveAggressive(G, variant="II"),
        "regression": PassiveAggressive(G, loss="epsilon_insensitive"),
        "classes": PassiveAggressive(G, loss="multiclass_hinge", variant="II"),
        "linear": PassiveAggressive(Linear()),
        "linear, classes": PassiveAggressive(Linear(), loss="multiclass_hinge"),
        "similar labels": PassiveAggressive(G, variant="II", loss=ALIKE, multiclass="runner_up"),
        "single precision": PassiveAggressive(G, loss="epsilon_insensitive", dtype="float32"),
    },
    "forgetron": {"tight": Forgetron(G, budget=4), "single precision": Forgetron(G, budget=9, dtype="float32")},
    "projectron": {
        "linear": Projectron(Linear(), tol=0.1),
        "budget": Projectron(G, tol=0.1, budget=15),
        "classes": Projectron(G, tol=0.3, plus=True, loss="multiclass_hinge"),
        "similar labels": Projectron(G, tol=0.3, plus=True, loss=ALIKE),
    },
    "budget-pa": {
        **{f"{kind}": BudgetPA(G, budget=12, variant=kind) for kind in ("S", "NN", "P")},
        **{
            f"{kind}, classes": BudgetPA(G, budget=12, variant=kind, loss="multiclass_hinge")
            for kind in ("S", "NN", "P")
        },
        "similar labels": BudgetPA(G, budget=15, variant="NN", loss=ALIKE),
        "single precision": BudgetPA(G, budget=12, dtype="float32"),
    },
}
