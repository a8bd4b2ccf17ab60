"""Random order, exact and windowed."""

import numpy as np
from numpy.testing import assert_array_equal

from nystream import streams

X = np.arange(100.0)[:, None]


def test_the_exact_shuffle_is_the_permutation_of_the_seed():
    got, y = streams.arrays(X, X[:, 0]).shuffle(7)
    order = np.random.default_rng(7).permutation(100)
    assert_array_equal(got[:, 0], order)
    assert_array_equal(y, order)


def test_a_window_shuffle_is_the_exchange_row_by_row():
    """Oracle: each row takes the place of a random held one, one draw per row; the rest is permuted at the end."""
    buffer = 13
    rng = np.random.default_rng(11)
    held, out = list(range(buffer)), []
    for row in range(buffer, 100):
        place = int(rng.random() * buffer)
        out.append(held[place])
        held[place] = row
    out += [held[i] for i in rng.permutation(buffer)]
    got, y = streams.arrays(X, X[:, 0]).shuffle(11, buffer=buffer)
    assert_array_equal(got[:, 0], out)
    assert_array_equal(y, out)


def test_a_window_shuffle_leaves_the_source_alone():
    source = X.copy()
    streams.arrays(source).shuffle(0, buffer=10).load()
    assert_array_equal(source, X)


def test_no_seed_gives_one_order_that_passes_share():
    stream = streams.arrays(X).shuffle()
    assert_array_equal(stream.load()[0], stream.load()[0])
    assert (stream.load()[0] != streams.arrays(X).shuffle().load()[0]).any()


def test_two_streams_from_one_generator_differ_and_do_not_change_its_draws():
    rng = np.random.default_rng(0)
    first, second = streams.arrays(X).shuffle(rng), streams.arrays(X).shuffle(rng)
    assert (first.load()[0] != second.load()[0]).any()
    assert_array_equal(rng.random(3), np.random.default_rng(0).random(3))
