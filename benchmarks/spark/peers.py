"""`fit_auto` on Spark beside MLlib's boosted trees and forests and LightGBM: errors on new rows, seconds.

    python benchmarks/spark/peers.py [--sets casp,covtype,susy-30k,synthetic] [--rows 60000] [--peers fit_auto,gbt,rf]
                                     [--rough 2000]

The rows of a set in a random order, --rows of them at most (synthetic: --synthetic); a fifth is kept for the test.
Errors are shares of wrong classes, of casp and synthetic RMSE. Boosted trees of MLlib have 50 rounds of depth 6 (they
know two classes only), its forests 50 trees of depth 12; LightGBM has 500 rounds of 63 leaves, and runs beside Spark,
in this process, where it can be imported (pip install lightgbm). Nothing is tuned for a set. --rough: Laplacian
landmarks of `fit_auto`, with half as many Gaussian ones, in place of its defaults. Seconds are of cores, of Java and of
all Pythons. Control: the most frequent class or the mean, which all must beat.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from running import cpu_seconds, examples, session

import nystream.spark
from auto import PARTS, error, table


def rows_of(name: str, rows: int, synthetic: int) -> tuple[np.ndarray, np.ndarray, bool]:
    if name == "synthetic":
        return *examples(synthetic), False
    return table(name, rows)


def assembled(frame: Any) -> Any:
    from pyspark.ml.feature import VectorAssembler

    names = [name for name in frame.columns if name != "y"]
    return VectorAssembler(inputCols=names, outputCol="features").transform(frame).select("features", "y")


def by_mllib(frame: Any, test: Any, estimator: Any) -> np.ndarray:
    model = estimator.setLabelCol("y").fit(assembled(frame))
    return model.transform(assembled(test)).toPandas()["prediction"].to_numpy()


def gbt(frame: Any, test: Any, X: np.ndarray, y: np.ndarray, classes: bool) -> np.ndarray | None:
    from pyspark.ml.classification import GBTClassifier
    from pyspark.ml.regression import GBTRegressor

    if classes and len(np.unique(y)) > 2:
        return None
    return by_mllib(frame, test, (GBTClassifier if classes else GBTRegressor)(maxIter=50, maxDepth=6, seed=0))


def rf(frame: Any, test: Any, X: np.ndarray, y: np.ndarray, classes: bool) -> np.ndarray:
    from pyspark.ml.classification import RandomForestClassifier
    from pyspark.ml.regression import RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    return by_mllib(frame, test, kind(numTrees=50, maxDepth=12, seed=0))


def fit_auto(
    frame: Any, test: Any, X: np.ndarray, y: np.ndarray, classes: bool, rough: int | None = None
) -> np.ndarray:
    sizes = {} if rough is None else {"rough": rough, "big": rough // 2}
    task = "classification" if classes else "regression"
    model = nystream.spark.fit_auto(frame, "y", task=task, progress=partial(print, "   ", flush=True), **sizes)
    found = test.select(*[name for name in test.columns if name != "y"]).toPandas()
    return np.asarray(model.predict(found), dtype=np.float64)


def lightgbm(frame: Any, test: Any, X: np.ndarray, y: np.ndarray, classes: bool) -> np.ndarray | None:
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor
    except ImportError:
        return None
    kind = LGBMClassifier if classes else LGBMRegressor
    model = kind(n_estimators=500, num_leaves=63, n_jobs=1, verbose=-1).fit(X, y)
    return np.asarray(model.predict(test.drop("y").toPandas().to_numpy()), dtype=np.float64)


PEERS: dict[str, Callable[..., np.ndarray | None]] = {"fit_auto": fit_auto, "gbt": gbt, "rf": rf, "lightgbm": lightgbm}


def written(spark: Any, folder: Path, X: np.ndarray, y: np.ndarray, parts: int) -> Any:
    folder.mkdir(parents=True)
    for i, part in enumerate(np.array_split(np.arange(len(y)), parts)):
        columns = {f"x{j}": X[part, j] for j in range(X.shape[1])}
        pq.write_table(pa.table({**columns, "y": y[part]}), folder / f"{i}.parquet", compression="gzip")
    return spark.read.parquet(str(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="casp,covtype,susy-30k,synthetic")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--synthetic", type=int, default=100_000)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--rough", type=int)
    given = parser.parse_args()
    peers = {**PEERS, "fit_auto": partial(fit_auto, rough=given.rough)}
    folder, right = Path(tempfile.mkdtemp(prefix="peers-")), True
    spark = session(**{"spark.driver.memory": "2g"})
    for name in given.sets.split(","):
        X, y, classes = rows_of(name, given.rows, given.synthetic)
        cut = 4 * len(y) // 5
        frame = written(spark, folder / name / "train", X[:cut], y[:cut], PARTS).cache()
        test = written(spark, folder / name / "test", X[cut:], y[cut:], 1)  # one file: rows keep their order
        guess = np.bincount(y[:cut].astype(int)).argmax() if classes else y[:cut].mean()
        control = error(np.full(len(y) - cut, guess), y[cut:], classes)
        frame.count()
        print(f"{name}: {cut:,} rows, control {control:.4f}", flush=True)
        for peer in given.peers.split(","):
            used = cpu_seconds()
            found = peers[peer](frame, test, X[:cut], y[:cut], classes)
            if found is None:
                print(f"  {peer:<9} not possible here", flush=True)
                continue
            wrong = error(found, y[cut:], classes)
            right &= wrong < control
            print(f"  {peer:<9} {wrong:.4f} in {cpu_seconds() - used:.0f} s of cores", flush=True)
        frame.unpersist()
    spark.stop()
    shutil.rmtree(folder)
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
