"""scikit-learn's own checks of the estimators, counted: one line of JSON for each.

A program, not a test: SCIPY_ARRAY_API must be set before SciPy is imported, or the array checks are skipped.
"""

from __future__ import annotations

import json
import time
from collections import Counter

from sklearn.utils.estimator_checks import check_estimator

import nystream
from nystream.sklearn import OnlineKernelClassifier, OnlineKernelNovelty, OnlineKernelRegressor

SHUFFLED = (
    "the check shuffles the rows, and Auto follows the stream: what it learns depends on their order, as with "
    "scikit-learn's SGDClassifier, for which this is declared too"
)
ORDER = {f"check_sample_weight_equivalence_on_{kind}_data": SHUFFLED for kind in ("dense", "sparse")}
"""What cannot hold for the default learner. It does for learners whose state does not depend on the order of rows."""
WIDTH = {
    "check_class_weight_classifiers": "the rows to predict are 20 apart, and a kernel of width 2 without a constant "
    "says nothing there, however much a class weighs; learners that scale their inputs pass"
}
"""What cannot hold for least squares on features of one given width."""


def main() -> None:
    awv = nystream.PKAWV(nystream.Fourier(nystream.Gaussian(2.0), 60, seed=0), lam=0.1)
    estimators = [
        *((OnlineKernelRegressor(), ORDER), (OnlineKernelClassifier(), ORDER), (OnlineKernelNovelty(), {})),
        *((OnlineKernelRegressor(learner), {}) for learner in (nystream.Baseline(), awv)),
        *((OnlineKernelClassifier(nystream.Baseline()), {}), (OnlineKernelClassifier(awv), WIDTH)),
    ]
    for estimator, expected in estimators:
        began = time.perf_counter()
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
        counts = Counter(result["status"] for result in results)
        other = {r["check_name"]: f"{r['status']}: {r['exception']!r}" for r in results if r["status"] != "passed"}
        seconds = round(time.perf_counter() - began, 1)
        passed = [r["check_name"] for r in results if r["status"] == "passed"]
        line = {"estimator": " ".join(repr(estimator).split()), "counts": counts, "passed": passed, "not passed": other}
        print(json.dumps({**line, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
