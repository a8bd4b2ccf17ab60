"""The hash is part of the file format: its values are fixed here, by numbers that were published for it."""

from __future__ import annotations

import numpy as np
import pytest

from nystream._core.tables import mixed, murmur3, murmur3_number, murmur3_pair, words
from nystream.data.encoding import hash_level, hash_name, hash_pair
from oracles.sparse import mixed as slow_mixed
from oracles.sparse import murmur3 as slow_murmur3
from oracles.sparse import of_number, of_pair

PUBLISHED = [
    (b"", 0, 0x00000000),
    (b"", 1, 0x514E28B7),
    (b"", 0xFFFFFFFF, 0x81F16F39),
    (b"\xff\xff\xff\xff", 0, 0x76293B50),
    (b"!Ce\x87", 0, 0xF55B516B),
    (b"!Ce\x87", 0x5082EDEE, 0x2362F9DE),
    (b"!Ce", 0, 0x7E4A8634),
    (b"!C", 0, 0xA0F7B07A),
    (b"!", 0, 0x72661CF4),
    (b"\0\0\0\0", 0, 0x2362F9DE),
    (b"\0\0\0", 0, 0x85F0B427),
    (b"\0\0", 0, 0x30F4C306),
    (b"\0", 0, 0x514E28B7),
    (b"aaaa", 0x9747B28C, 0x5A97808A),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
]


@pytest.mark.parametrize(("content", "seed", "expected"), PUBLISHED)
def test_murmur3_gives_the_published_numbers(content, seed, expected):
    assert murmur3(content, seed) == expected


def test_murmur3_equals_its_slow_definition_for_every_length():
    rng = np.random.default_rng(0)
    for length in range(40):
        content, seed = rng.bytes(length), int(rng.integers(2**32))
        assert murmur3(content, seed) == slow_murmur3(content, seed)


def test_numbers_and_pairs_are_hashed_by_their_bytes():
    for one, two, seed in np.random.default_rng(1).integers(2**32, size=(20, 3)).tolist():
        assert murmur3_number(one, seed) == of_number(one, seed)
        assert murmur3_pair(one, two, seed) == of_pair(one, two, seed)
        assert mixed(one) == slow_mixed(one)


def test_tokens_of_columns_and_levels_never_change():
    assert hash_name("carrier") == 2653907929
    assert hash_level("carrier", "UA") == 2178592712
    assert hash_level("carrier", None) == 1866684901
    assert hash_level("Straße", "Köln") == 3434920109
    assert hash_pair(hash_level("carrier", "UA"), hash_level("origin", "EWR")) == 2538148844


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The CAT's 2 hats.", ["the", "cat", "'", "s", "2", "hats", "."]),
        ("", []),
        (" \t\n", []),
        (
            "under_score #tag @me http://t.co/x",
            ["under_score", "#", "tag", "@", "me", "http", ":", "/", "/", "t", ".", "co", "/", "x"],
        ),
        ("ÄRGER über ΣΟΦΙΑ Москва Ёлка", ["ärger", "über", "σοφια", "москва", "\u0451лка"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("한국어 말", ["한국어", "말"]),
        ("well… “yes” 🙂🙂", ["well", "…", "“", "yes", "”", "🙂", "🙂"]),
        ("a×b", ["a", "×", "b"]),
    ],
)
def test_words_are_letters_in_a_row_and_every_other_sign(text, expected):
    assert words(text) == expected
