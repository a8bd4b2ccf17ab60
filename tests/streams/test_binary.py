"""NumPy files: one matrix or two arrays, plain, zipped or compressed."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams

A = np.random.default_rng(0).normal(size=(2500, 4))


def _bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_npy_file_reads_like_the_plain_one(tmp_path, pack):
    (tmp_path / "a.npy.gz").write_bytes(pack(_bytes(A)))
    X, y = streams.numpy(tmp_path / "a.npy.gz")
    assert_array_equal(X, A[:, :3])
    assert_array_equal(y, A[:, 3])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_file_holds_features_and_targets_by_name_or_one_matrix(tmp_path, save):
    save(tmp_path / "two.npz", X=A.astype(np.float32), y=np.arange(2500))
    X, y = streams.numpy(tmp_path / "two.npz")
    assert_array_equal(X, A.astype(np.float32))
    assert_array_equal(y, np.arange(2500.0))
    save(tmp_path / "one.npz", A)
    assert_array_equal(streams.numpy(tmp_path / "one.npz", target=0).load()[1], A[:, 0])


def test_targets_may_come_from_a_second_file_or_an_array(tmp_path):
    np.save(tmp_path / "X.npy", np.asfortranarray(A))
    np.save(tmp_path / "y.npy", np.array(["a", "b"] * 1250))
    stream = streams.numpy(tmp_path / "X.npy", tmp_path / "y.npy")
    assert_array_equal(stream.load()[0], A)
    assert_array_equal(stream.load()[1][:4], [0.0, 1.0, 0.0, 1.0])
    assert stream.labels == ("a", "b")
    assert_array_equal(streams.numpy(tmp_path / "X.npy", np.arange(2500)).load()[1], np.arange(2500.0))
    assert isinstance(streams.numpy(A, A[:, 0]), streams.ArrayStream)


def test_columns_of_a_matrix_are_chosen_by_position(tmp_path):
    np.save(tmp_path / "a.npy", A)
    stream = streams.numpy(tmp_path / "a.npy", target=[0, 1], columns=[3, 2])
    assert_array_equal(stream.load()[0], A[:, [3, 2]])
    assert_array_equal(stream.load()[1], A[:, :2])
    assert np.isnan(streams.numpy(tmp_path / "a.npy", target=None).load()[1]).all()
    assert streams.numpy(tmp_path / "a.npy", drop=0).d == 2


def test_what_cannot_be_streamed_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=A, b=A)
    with pytest.raises(ValueError, match=r"a\.npz holds the arrays a, b; name them X and y"):
        streams.numpy(path)
    np.savez(path, X=np.asfortranarray(A), y=A[:, 0])
    with pytest.raises(ValueError, match=r"a\.npz holds a Fortran-ordered array"):
        streams.numpy(path)
    np.savez(path, X=A, y=A[:10, 0])
    with pytest.raises(ValueError, match=r"y must have one target for each of the 2500 rows, got shape \(10,\)"):
        streams.numpy(path)
    np.savez(path, X=np.array([[{}]], dtype=object))
    with pytest.raises(ValueError, match=r"a\.npz holds Python objects"):
        streams.numpy(path)
    (tmp_path / "cut.npy.gz").write_bytes(gzip.compress(_bytes(A)[:-1000]))
    with pytest.raises(ValueError, match=r"cut\.npy\.gz is cut off after 2468 rows"):
        streams.numpy(tmp_path / "cut.npy.gz").load()
    (tmp_path / "text.npy").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"text\.npy is not a NumPy file"):
        streams.numpy(tmp_path / "text.npy")
    np.save(tmp_path / "flat.npy", np.ones(4))
    with pytest.raises(ValueError, match=r"flat\.npy: X must be a matrix of numbers, got shape \(4,\)"):
        streams.numpy(tmp_path / "flat.npy")


def test_damaged_files_are_refused_by_name(tmp_path):
    np.savez(tmp_path / "a.npz", X=A, y=A[:, 0])
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:100])
    with pytest.raises(ValueError, match=r"cut\.npz is damaged or cut off"):
        streams.numpy(tmp_path / "cut.npz")
    (tmp_path / "bent.npz").write_bytes(whole[:5000] + bytes(100) + whole[5100:])
    with pytest.raises(ValueError, match=r"bent\.npz is damaged or cut off \(Bad CRC-32"):
        streams.numpy(tmp_path / "bent.npz").load()
    (tmp_path / "cut.npy").write_bytes(_bytes(A)[:-10])
    with pytest.raises(ValueError, match=r"cut\.npy is cut off"):
        streams.numpy(tmp_path / "cut.npy")
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    with pytest.raises(ValueError, match=r"objects\.npy is cut off, or holds no plain numbers"):
        streams.numpy(tmp_path / "objects.npy")
