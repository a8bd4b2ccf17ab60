"""Real files, where they are: rows, columns, targets as their documentation counts them."""

import os
import pathlib

import numpy as np
import pytest

from nystream import streams

ROOT = pathlib.Path(__file__).parents[2]
DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", ROOT.parent / "shared" / "data"))


def found(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there; set NYSTREAM_DATA to the folder of the datasets")
    return path


def counted(stream):
    """Rows, columns, and how often each target occurs."""
    n, d, values = 0, 0, {}
    for X, y in stream.blocks(4096):
        n, d = n + len(X), X.shape[1]
        for value, count in zip(*np.unique(y, return_counts=True), strict=True):
            values[float(value)] = values.get(float(value), 0) + int(count)
    return n, d, values


def test_casp_has_45730_rows_of_9_features():
    stream = streams.open_stream(found("casp/CASP.csv.xz"), target="RMSD")
    X, y = stream.load()
    assert X.shape == (45_730, 9)
    assert stream.columns == tuple(f"F{i}" for i in range(1, 10))
    assert (y.min(), y.max(), round(y.mean(), 4)) == (0.0, 20.999, 7.7485)


def test_ijcnn1_has_49990_rows_of_22_features():
    n, d, values = counted(streams.open_stream(found("ijcnn1/ijcnn1.bz2")))
    assert (n, d, values) == (49_990, 22, {-1.0: 45_137, 1.0: 4_853})


def test_cod_rna_has_59535_rows_of_8_features_sorted_in_blocks_of_one_label():
    stream = streams.open_stream(found("cod-rna/cod-rna.bz2"))
    X, y = stream.load()
    assert X.shape == (59_535, 8)
    assert (y == 1).sum() == 19_845
    assert (np.diff(y) != 0).sum() == 5
    mixed = stream.shuffle(0).load()[1]
    assert (np.diff(mixed) != 0).sum() > 20_000


def test_elec2_has_45312_rows_of_8_features_or_of_14_one_hot():
    path = found("elec2/elecNormNew.arff.xz")
    stream = streams.open_stream(path)
    n, d, values = counted(stream)
    assert (n, d, values) == (45_312, 8, {0.0: 19_237, 1.0: 26_075})
    assert stream.labels == ("UP", "DOWN")
    X, _ = next(stream.blocks(5000))
    assert set(X[:, 1]) == set(range(1, 8))  # the day of the week, as declared
    assert next(streams.arff(path, nominal="onehot").blocks(10))[0].shape == (10, 14)


def test_cpusmall_is_the_same_in_libsvm_and_in_arff():
    X, y = streams.open_stream(found("cpusmall/cpusmall.bz2")).load()
    assert X.shape == (8_192, 12)
    assert (y.min(), y.max(), round(y.mean(), 3)) == (0.0, 99.0, 83.969)
    other, targets = streams.open_stream(found("cpusmall/cpu_small.arff.xz")).load()
    np.testing.assert_allclose(X, other, rtol=1e-6)
    np.testing.assert_array_equal(y, targets)


def test_covtype_begins_with_rows_of_54_features_and_classes_1_to_7():
    stream = streams.open_stream(found("covtype/covtype.data.gz"), labels=range(1, 8)).take(20_000)
    n, d, values = counted(stream)
    assert (n, d) == (20_000, 54)
    assert set(values) <= set(range(7))
    assert stream.labels == tuple(range(1, 8))
