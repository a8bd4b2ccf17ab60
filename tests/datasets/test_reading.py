"""Readers and preparations of datasets, on small made-up files."""

import gzip

import numpy as np
import pytest

from nystream.datasets.reading import covtype_binary, idx_images, min_max, two_tables


def write_idx(path, values):
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))
    return path


def test_idx_images_become_rows(tmp_path):
    pixels = np.arange(24).reshape(2, 3, 4)
    images, labels = write_idx(tmp_path / "i.gz", pixels), write_idx(tmp_path / "l.gz", np.array([7, 3]))
    X, y = idx_images(images, labels)
    assert X.tolist() == pixels.reshape(2, 12).tolist()
    assert y.tolist() == [7.0, 3.0]


@pytest.mark.parametrize("content", [b"", b"\0\0", b"\0\0\x08\x01\0\0\0\x05ab", b"\0\0\x0d\x01\0\0\0\x01a"])
def test_a_broken_idx_file_is_refused(tmp_path, content):
    (tmp_path / "i").write_bytes(content)
    with pytest.raises(ValueError, match="i is no whole idx file of bytes"):
        idx_images(tmp_path / "i", tmp_path / "i")


def test_two_tables_are_joined(tmp_path):
    (tmp_path / "x").write_text("1,2\n3,4\n")
    (tmp_path / "y").write_text("0\n1\n")
    X, y = two_tables(tmp_path / "x", tmp_path / "y")
    assert (X.tolist(), y.tolist()) == ([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0])


def test_ranges_are_stretched_and_constants_put_at_the_bottom():
    X, y = min_max(-1.0, 1.0, np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0]]), np.arange(3.0))
    assert X.tolist() == [[-1.0, -1.0], [-0.5, -1.0], [1.0, -1.0]]
    assert y.tolist() == [0.0, 1.0, 2.0]


def test_covtype_is_its_second_class_against_the_rest():
    X, y = covtype_binary(np.array([[2.0], [3.0], [4.0]]), np.array([0.0, 1.0, 6.0]))
    assert (X.tolist(), y.tolist()) == ([[0.0], [0.5], [1.0]], [-1.0, 1.0, -1.0])
