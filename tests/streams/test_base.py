"""What every stream keeps: blocks of one shape, the same rows however cut and in every pass."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams

X = np.random.default_rng(0).normal(size=(53, 3))
Y = np.random.default_rng(1).normal(size=53)


def _csv(folder):
    path = folder / "a.csv"
    np.savetxt(path, np.column_stack([X, Y]), delimiter=",", fmt="%.17g")
    return streams.csv(path)


def _csv_exact(folder):
    path = folder / "q.csv"
    rows = zip(X.tolist(), Y.tolist(), strict=True)
    path.write_text("".join(f'{a!r},{b!r},"{c!r}",{y!r}\n\n' for (a, b, c), y in rows))
    return streams.csv(path)


def _libsvm(folder):
    path = folder / "a.libsvm"
    rows = zip(X.tolist(), Y.tolist(), strict=True)
    path.write_text("".join(f"{y!r} 1:{a!r} 2:{b!r} 3:{c!r}\n" for (a, b, c), y in rows))
    return streams.libsvm(path)


def _arff(folder):
    path = folder / "a.arff"
    head = "@relation r\n" + "".join(f"@attribute {name} real\n" for name in "abcy") + "@data\n"
    rows = zip(X.tolist(), Y.tolist(), strict=True)
    path.write_text(head + "".join(f"{a!r},{b!r},{c!r},{y!r}\n" for (a, b, c), y in rows))
    return streams.arff(path)


def _npy(folder):
    np.save(folder / "a.npy", np.column_stack([X, Y]))
    return streams.numpy(folder / "a.npy")


def _npz(folder):
    np.savez_compressed(folder / "a.npz", X=X, y=Y)
    return streams.numpy(folder / "a.npz")


FIXED = {
    "csv": _csv,
    "csv with quotes and blank lines": _csv_exact,
    "libsvm": _libsvm,
    "arff": _arff,
    "npy": _npy,
    "npz": _npz,
    "arrays": lambda folder: streams.arrays(X, Y),
    "arrays in Fortran order": lambda folder: streams.arrays(np.asfortranarray(X), Y),
}
MADE = {name: (lambda folder, make=make: make(n=53)) for name, make in streams.GENERATORS.items()}
DERIVED = {
    "take": lambda folder: streams.sine(seed=3).take(53),
    "take from a file": lambda folder: _csv(folder).take(30),
    "skip": lambda folder: streams.sine(3000).skip(1500),
    "shuffle": lambda folder: _csv(folder).shuffle(5),
    "shuffle in a window": lambda folder: _csv(folder).shuffle(5, buffer=9),
    "shuffle in a wide window": lambda folder: _csv(folder).shuffle(5, buffer=1000),
    "shuffle in a window of one": lambda folder: _csv(folder).shuffle(5, buffer=1),
    "standardize": lambda folder: streams.friedman(3000).standardize(),
    "a chain": lambda folder: _npz(folder).skip(3).shuffle(0, buffer=7).standardize().take(40),
}
ALL = {**FIXED, **MADE, **DERIVED}


@pytest.fixture(params=list(ALL))
def stream(request, tmp_path):
    return ALL[request.param](tmp_path)


@pytest.mark.parametrize("make", FIXED.values(), ids=list(FIXED))
def test_a_source_gives_back_the_rows_that_went_in(make, tmp_path):
    got, targets = make(tmp_path).load()
    assert_array_equal(got, X)
    assert_array_equal(targets, Y)


def test_blocks_are_full_contiguous_float64_and_the_last_one_holds_the_rest(stream):
    sizes = []
    for X_block, Y_block in stream.blocks(8):
        assert X_block.dtype == Y_block.dtype == np.float64
        assert X_block.flags.c_contiguous
        assert Y_block.flags.c_contiguous
        assert X_block.shape == (len(Y_block), stream.d)
        sizes.append(len(X_block))
    assert set(sizes[:-1]) <= {8}
    assert 1 <= sizes[-1] <= 8
    assert stream.n in (None, sum(sizes))


@pytest.mark.parametrize("size", [1, 7, 1024, 10_000])
def test_how_a_stream_is_cut_changes_no_bit(stream, size):
    X_whole, Y_whole = stream.load()
    blocks = list(stream.blocks(size))
    assert_array_equal(np.concatenate([x for x, _ in blocks]), X_whole)
    assert_array_equal(np.concatenate([y for _, y in blocks]), Y_whole)


def test_a_second_pass_gives_the_same_rows_even_while_the_first_goes_on(stream):
    first = stream.blocks(16)
    X_first, _ = next(first)
    X_again, _ = next(stream.blocks(16))
    assert_array_equal(X_first, X_again)
    rest = [X_first, *(x for x, _ in first)]
    assert_array_equal(np.concatenate(rest), stream.load()[0])


def test_rows_are_the_rows_of_the_blocks_with_float_targets(stream):
    X_whole, Y_whole = stream.load()
    rows = list(stream.rows())
    assert_array_equal([x for x, _ in rows], X_whole)
    assert [y for _, y in rows] == Y_whole.tolist()
    assert type(rows[0][1]) is float


def test_a_stream_of_known_length_unpacks_into_its_arrays():
    got, targets = streams.sine(500, seed=0)
    assert got.shape == (500, 1)
    assert targets.shape == (500,)
    got, targets = streams.arrays(X, Y).shuffle(0).standardize().take(10)
    assert got.shape == (10, 3)


def test_unpacking_says_what_to_do_instead_where_the_length_is_not_known(tmp_path):
    with pytest.raises(TypeError, match=r"sine is endless: use .rows\(\)"):
        _, _ = streams.sine()
    with pytest.raises(TypeError, match=r"a\.csv does not know its length.*stream\.load\(\)"):
        _, _ = _csv(tmp_path)


def test_what_needs_an_end_refuses_an_endless_stream():
    with pytest.raises(ValueError, match=r"sine is endless; limit it with take\(n\)"):
        streams.sine().load()
    with pytest.raises(ValueError, match=r"sine is endless; shuffle it within a window"):
        streams.sine().shuffle(0)
    assert streams.sine().shuffle(0, buffer=10).standardize().skip(5).endless
    assert not streams.sine().take(10).endless


def test_take_and_skip_cut_where_they_say():
    whole, _ = streams.friedman(2500)
    assert_array_equal(streams.friedman().take(2500).load()[0], whole)
    assert_array_equal(streams.friedman(2500).skip(1030).load()[0], whole[1030:])
    assert streams.friedman(2500).skip(3000).n == 0
    assert streams.friedman(2500).take(3000).n == 2500
    assert streams.friedman(2500).take(0).load()[0].shape == (0, 10)


def test_what_is_chained_on_keeps_what_is_known_of_the_source():
    source = streams.arrays(X, ["a"] * 50 + ["b"] * 3, columns=["p", "q", "r"])
    chained = source.shuffle(0).standardize().skip(3)
    assert (chained.columns, chained.labels, chained.task, chained.d, chained.n) == (
        ("p", "q", "r"), ("a", "b"), "classification", 3, 50,
    )  # fmt: skip
    assert repr(chained) == "<stream arrays | shuffle | standardize | skip(3): 50 rows, 3 columns>"


def test_sizes_that_make_no_sense_are_refused_at_the_call():
    with pytest.raises(ValueError, match="size must be a whole number of at least 1, got 0"):
        streams.sine().blocks(0)
    with pytest.raises(ValueError, match="n must be a whole number of at least 0, got -1"):
        streams.sine().take(-1)
    with pytest.raises(ValueError, match="buffer must be a whole number of at least 1, got 0"):
        streams.sine().shuffle(0, buffer=0)


def test_the_functions_take_streams_pairs_and_objects_with_blocks():
    class Foreign:
        def blocks(self, size):
            for start in range(0, 53, size):
                yield X[start : start + size].astype(np.float32), Y[start : start + size]

    for source in (streams.arrays(X, Y), (X, Y)):
        assert_array_equal(streams.shuffle(source, 3).load()[1], Y[np.random.default_rng(3).permutation(53)])
    got, targets = streams.skip(streams.take(Foreign(), 20), 5).load()
    assert_array_equal(targets, Y[5:20])
    assert got.dtype == np.float64
    assert streams.standardize(Foreign()).load()[0].shape == (53, 3)
    with pytest.raises(ValueError, match=r"a pair \(X, y\) is needed, got list"):
        streams.take([1, 2], 1)
