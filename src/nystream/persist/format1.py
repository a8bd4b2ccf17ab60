"""From format 1, which named classes by the modules they were in, to format 2, which has tags."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["NAMES", "upgrade"]

NAMES = {
    "nystream.cli.model.Model": "model/model",
    "nystream.dictionary.budget.Budget": "dictionary/budget",
    "nystream.dictionary.eigenpairs.Eigenpairs": "dictionary/eigenpairs",
    "nystream.dictionary.expansion.Expansion": "dictionary/expansion",
    "nystream.dictionary.gram_factor.GramFactor": "dictionary/gram-factor",
    "nystream.dictionary.gram_inverse.GramInverse": "dictionary/gram-inverse",
    "nystream.dictionary.growing.DistantAtoms": "dictionary/distant-atoms",
    "nystream.dictionary.growing.GivenAtoms": "dictionary/given-atoms",
    "nystream.dictionary.history.History": "dictionary/history",
    "nystream.dictionary.kmeans.MovingLandmarks": "dictionary/moving-landmarks",
    "nystream.dictionary.kors.KORS": "dictionary/kors",
    "nystream.dictionary.nested.Nested": "dictionary/nested",
    "nystream.dictionary.rows.Rows": "dictionary/rows",
    "nystream.dictionary.sampled.SampledAtoms": "dictionary/sampled-atoms",
    "nystream.dictionary.span.Span": "dictionary/span",
    "nystream.features.adaptive_nystrom.AdaptiveNystrom": "features/adaptive-nystrom",
    "nystream.features.base.Identity": "features/identity",
    "nystream.features.chain.Chain": "features/chain",
    "nystream.features.constant.WithConstant": "features/with-constant",
    "nystream.features.fastfood.Fastfood": "features/fastfood",
    "nystream.features.fourier.Fourier": "features/fourier",
    "nystream.features.kors.KORS": "features/kors",
    "nystream.features.landmarks.Landmarks": "features/landmarks",
    "nystream.features.metric.LearnedMetric": "features/learned-metric",
    "nystream.features.nystrom.Nystrom": "features/nystrom",
    "nystream.features.taylor.Taylor": "features/taylor",
    "nystream.kernels.base.Normalized": "kernel/normalized",
    "nystream.kernels.base.Product": "kernel/product",
    "nystream.kernels.base.Scaled": "kernel/scaled",
    "nystream.kernels.base.Sum": "kernel/sum",
    "nystream.kernels.gaussian.Gaussian": "kernel/gaussian",
    "nystream.kernels.laplacian.Laplacian": "kernel/laplacian",
    "nystream.kernels.linear.Linear": "kernel/linear",
    "nystream.kernels.matern.Matern": "kernel/matern",
    "nystream.kernels.polynomial.Polynomial": "kernel/polynomial",
    "nystream.learners.aggregate.Aggregate": "compose/aggregate",
    "nystream.learners.auto.Auto": "auto/auto",
    "nystream.learners.auto_bank.Bank": "auto/bank",
    "nystream.learners.auto_big.Big": "auto/big",
    "nystream.learners.auto_experts.Decaying": "auto/decaying",
    "nystream.learners.auto_experts.Linear": "auto/linear",
    "nystream.learners.auto_experts.Ridge": "auto/ridge",
    "nystream.learners.auto_experts.View": "auto/view",
    "nystream.learners.auto_experts.Window": "auto/window",
    "nystream.learners.auto_intervals.Intervals": "auto/intervals",
    "nystream.learners.auto_recipe.Recipe": "auto/recipe",
    "nystream.learners.auto_ring.Ring": "scaling/ring",
    "nystream.learners.auto_stack.Stack": "auto/stack",
    "nystream.learners.auto_targets.Targets": "auto/targets",
    "nystream.learners.baseline.Baseline": "auto/baseline",
    "nystream.learners.baseline.ScaledFeatures": "auto/scaled-features",
    "nystream.learners.bsgd.BSGD": "learner/bsgd",
    "nystream.learners.budget_pa.BudgetPA": "learner/budget-pa",
    "nystream.learners.classes.LeastSquaresCodes": "compose/least-squares-codes",
    "nystream.learners.classes.NativeClasses": "compose/native-classes",
    "nystream.learners.classes.OneVersusRest": "compose/one-versus-rest",
    "nystream.learners.classifier.Classifier": "compose/classifier",
    "nystream.learners.columns.Columns": "compose/columns",
    "nystream.learners.doubly_sgd.DoublySGD": "learner/doubly-sgd",
    "nystream.learners.dual_sgd.DualSGD": "learner/dual-sgd",
    "nystream.learners.fogd.FOGD": "learner/fogd",
    "nystream.learners.forgetron.Forgetron": "learner/forgetron",
    "nystream.learners.forgetting.Forgetting": "learner/forgetting",
    "nystream.learners.ilk.ILK": "learner/ilk",
    "nystream.learners.ilk.SILK": "learner/silk",
    "nystream.learners.kernel_awv.KernelAWV": "learner/kernel-awv",
    "nystream.learners.kernel_awv.KernelRidge": "learner/kernel-ridge",
    "nystream.learners.kons.KONS": "learner/kons",
    "nystream.learners.krls.KRLS": "learner/krls",
    "nystream.learners.mixture.Mixture": "compose/mixture",
    "nystream.learners.narow.NAROW": "learner/narow",
    "nystream.learners.nogd.NOGD": "learner/nogd",
    "nystream.learners.nolana.NOLANA": "learner/nolana",
    "nystream.learners.norma.NORMA": "learner/norma",
    "nystream.learners.nystrom_pkawv.NystromPKAWV": "learner/nystrom-pkawv",
    "nystream.learners.nystrom_pkawv.NystromPKRR": "learner/nystrom-pkrr",
    "nystream.learners.ons.ONS": "learner/ons",
    "nystream.learners.passive_aggressive.PassiveAggressive": "learner/passive-aggressive",
    "nystream.learners.perceptron.Perceptron": "learner/perceptron",
    "nystream.learners.perceptron.RandomBudgetPerceptron": "learner/random-budget-perceptron",
    "nystream.learners.pixels.Pixels": "video/pixels",
    "nystream.learners.pkawv.PKAWV": "learner/pkawv",
    "nystream.learners.pkawv.PKRR": "learner/pkrr",
    "nystream.learners.probabilities.Brier": "calibration/brier",
    "nystream.learners.probabilities.Logistic": "calibration/logistic",
    "nystream.learners.probabilities.Platt": "calibration/platt",
    "nystream.learners.probabilities.Softmax": "calibration/softmax",
    "nystream.learners.probabilities.Temperature": "calibration/temperature",
    "nystream.learners.projectron.Projectron": "learner/projectron",
    "nystream.learners.pros_n_kons.ProsNKons": "learner/pros-n-kons",
    "nystream.learners.rrf.RRF": "learner/rrf",
    "nystream.learners.second_order_perceptron.SecondOrderPerceptron": "learner/second-order-perceptron",
    "nystream.learners.sketched_kons.SketchedKONS": "learner/sketched-kons",
    "nystream.learners.sketched_ons.SketchedONS": "learner/sketched-ons",
    "nystream.learners.smoother.KernelSmoother": "learner/kernel-smoother",
    "nystream.learners.standardized.Standardized": "compose/standardized",
    "nystream.learners.svmd.SVMD": "learner/svmd",
    "nystream.learners.thresholded.Thresholded": "compose/thresholded",
    "nystream.losses.classification.Hinge": "loss/hinge",
    "nystream.losses.classification.Logistic": "loss/logistic",
    "nystream.losses.classification.Novelty": "loss/novelty",
    "nystream.losses.classification.SquaredHinge": "loss/squared-hinge",
    "nystream.losses.multiclass.MulticlassHinge": "loss/multiclass-hinge",
    "nystream.losses.multiclass.StructuredHinge": "loss/structured-hinge",
    "nystream.losses.regression.Absolute": "loss/absolute",
    "nystream.losses.regression.EpsilonInsensitive": "loss/epsilon-insensitive",
    "nystream.losses.regression.Huber": "loss/huber",
    "nystream.losses.regression.Pinball": "loss/pinball",
    "nystream.losses.regression.Squared": "loss/squared",
    "nystream.losses.softmax.Softmax": "loss/softmax",
    "nystream.metrics.auc.AUC": "metric/auc",
    "nystream.metrics.classification.Accuracy": "metric/accuracy",
    "nystream.metrics.classification.BalancedAccuracy": "metric/balanced-accuracy",
    "nystream.metrics.classification.F1": "metric/f1",
    "nystream.metrics.classification.Kappa": "metric/kappa",
    "nystream.metrics.classification.LogLoss": "metric/log-loss",
    "nystream.metrics.meters.Bytes": "meter/bytes",
    "nystream.metrics.meters.Regret": "meter/regret",
    "nystream.metrics.meters.RegretBound": "meter/regret-bound",
    "nystream.metrics.meters.RowsPerSecond": "meter/rows-per-second",
    "nystream.metrics.meters.Seconds": "meter/seconds",
    "nystream.metrics.meters.Size": "meter/size",
    "nystream.metrics.meters.Weights": "meter/weights",
    "nystream.metrics.regression.MAE": "metric/mae",
    "nystream.metrics.regression.MSE": "metric/mse",
    "nystream.metrics.regression.R2": "metric/r2",
    "nystream.metrics.regression.RMSE": "metric/rmse",
    "nystream.metrics.window.Windowed": "metric/windowed",
    "nystream.scaling.GlobalScale": "scaling/global",
    "nystream.scaling.LogScale": "scaling/log",
    "nystream.scaling.RunningScale": "scaling/running",
    "nystream.scaling.StandardScale": "scaling/standard",
    "nystream.solvers.awv.AWV": "solver/awv",
    "nystream.solvers.factored.Factored": "solver/factored",
    "nystream.solvers.forgetting.Forgetting": "solver/forgetting",
    "nystream.solvers.meter.Meter": "solver/meter",
    "nystream.solvers.nested_awv.NestedAWV": "solver/nested-awv",
    "nystream.solvers.ogd.OGD": "solver/ogd",
    "nystream.solvers.ons.ONS": "solver/ons",
    "nystream.solvers.sketched_ons.SketchedONS": "solver/sketched-ons",
    "nystream.solvers.stacker.RidgeStacker": "solver/ridge-stacker",
    "nystream.solvers.stacker.SoftmaxStacker": "solver/softmax-stacker",
}
"""Classes as the files of format 1 have them -> their tags. Nothing is ever added: format 1 is no longer written."""

_MODEL = "nystream.cli.model.Model"


def upgrade(tree: Any) -> Any:
    """Classes of nystream by their tags; those from elsewhere keep their names. Numbers that JSON lacks as text."""
    model = isinstance(tree, dict) and tree.get("$class") == _MODEL  # never inside another one
    whole = [tree]
    waiting: list[Any] = [whole]
    while waiting:
        part = waiting.pop()
        for key, value in list(part.items() if isinstance(part, dict) else enumerate(part)):
            if isinstance(value, (dict, list)):
                waiting.append(value)
            elif isinstance(value, float) and not math.isfinite(value):
                part[key] = {"$float": repr(value)}
            elif key == "$class" and isinstance(value, str):
                part[key] = NAMES.get(value, value)
                if part[key] == "compose/thresholded" and isinstance(part.get("params"), dict):
                    part["params"] |= {"positive": 1, "caution": 0.0}  # as it was then
    return _with_schema(whole[0]) if model else whole[0]


def _with_schema(tree: dict[str, Any]) -> dict[str, Any]:
    """What `nystream run` saved then, a learner with its task and names, as a model with a schema."""
    try:
        params, state = tree["params"], tree["state"]
        learner, task, names, classes = params["learner"], params["task"], params["columns"], state["names_"]
        trained = state["learner_"]
        width = trained["state"].get("d_", 0)
        names = names if names is not None else [str(j) for j in range(int(width))]
        columns = {"$dict": [[name, "number"] for name in names]}
    except (KeyError, TypeError, AttributeError, ValueError):
        return tree  # the reader says what is wrong with it
    schema = {"columns": columns, "target": None, "task": task, "classes": None, "formats": None}
    described = {"$class": "schema/schema", "params": schema, "state": {}}
    plain = {"$class": "tables/plain", "params": {"names": names}, "state": {}}
    fresh = {"learner": learner, "schema": described if names else None}
    known = {"learner_": trained, "schema_": described, "encoder_": plain, "classes_": classes, "counts_": []}
    known["notes_"] = {"$dict": []}
    return {"$class": tree["$class"], "params": fresh, "state": known if names and width else {}}
