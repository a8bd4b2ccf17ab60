"""scikit-learn's own checks of the estimators, counted: one line of JSON for each.

A program, not a test: SCIPY_ARRAY_API must be set before SciPy is imported, or the array checks are skipped.
"""

from __future__ import annotations

import json
from collections import Counter

from sklearn.utils.estimator_checks import check_estimator

from nystream.sklearn import OnlineKernelClassifier, OnlineKernelRegressor


def main() -> None:
    for estimator in (OnlineKernelRegressor(), OnlineKernelClassifier()):
        results = check_estimator(estimator, on_fail=None, on_skip=None)
        counts = Counter(result["status"] for result in results)
        other = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] != "passed"]
        print(json.dumps({"estimator": repr(estimator), "counts": counts, "not passed": other}))


if __name__ == "__main__":
    main()
