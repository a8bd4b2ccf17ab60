"""Readers hold a block, never the file."""

import tracemalloc

import numpy as np
import pytest

from nystream import streams

ROWS = 200_000


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).integers(0, 100, size=(ROWS, 6))


def peak(stream):
    """Rows read, and the most memory held at once beyond what was held before, in MB."""
    tracemalloc.start()
    try:
        rows = sum(len(X) for X, _ in stream.blocks(1024))
        return rows, tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_a_csv_file_is_read_in_a_few_megabytes(tmp_path, table):
    """3.5 MB of text and 9.6 MB of numbers; a chunk of 4096 lines is about 1 MB."""
    path = tmp_path / "a.csv"
    np.savetxt(path, table, fmt="%d", delimiter=",")
    for stream in (streams.csv(path), streams.csv(path).standardize(), streams.csv(path).shuffle(0, buffer=1000)):
        rows, megabytes = peak(stream)
        assert rows == ROWS
        assert megabytes < 4.0


def test_a_libsvm_file_is_read_in_a_few_megabytes(tmp_path, table):
    path = tmp_path / "a.libsvm"
    path.write_text("".join(f"1 1:{a} 2:{b} 90:{c}\n" for a, b, c in table[:50_000, :3].tolist()))
    rows, megabytes = peak(streams.libsvm(path, 90))  # 36 MB of dense numbers
    assert rows == 50_000
    assert megabytes < 6.0


def test_an_npz_file_is_read_in_a_few_megabytes(tmp_path, table):
    np.savez_compressed(tmp_path / "a.npz", X=table.astype(float), y=np.arange(ROWS))
    rows, megabytes = peak(streams.numpy(tmp_path / "a.npz"))
    assert rows == ROWS
    assert megabytes < 1.0


def test_a_generator_holds_one_block():
    rows, megabytes = peak(streams.friedman(ROWS).standardize())
    assert rows == ROWS
    assert megabytes < 2.0
