"""Files that earlier versions wrote load and go on as they did then; `golden/write.py` says how they came about."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors.numpy import load as tensors_of

import nystream

FOLDER = Path(__file__).parent / "golden"
FORMATS = {folder.name: json.loads((folder / "expected.json").read_text()) for folder in sorted(FOLDER.glob("format*"))}
FILES = [(folder, path.stem) for folder in FORMATS for path in sorted((FOLDER / folder).glob("*.nys"))]
READ = [pytest.param(*file, id="/".join(file)) for file in FILES]
"""Files that load. Were those of the first automatic learner refused one day, they would be left out here: they are
the entries of `expected.json` with "learner": "Auto"."""
SINCE = {"columns": "schema_.names", "names_": "classes"}
"""What the parts of a model of the command line are called now."""
CLOSE = 1e-9
"""Processors round differently; entries with a wider tolerance give the reason."""


@pytest.mark.parametrize("folder", FORMATS)
def test_every_expected_file_is_there_and_expected(folder):
    assert {name for where, name in FILES if where == folder} == set(FORMATS[folder]["files"])
    assert len(FORMATS[folder]["files"]) >= 367


@pytest.mark.parametrize(("folder", "name"), READ)
def test_what_a_file_holds_is_what_is_loaded_bit_for_bit(folder, name):
    content, loaded = content_of(folder, name), load(folder, name)
    again = nystream.to_bytes(loaded)
    assert not arrays(content) - arrays(again)
    assert numbers(content) <= numbers(again)
    twin = nystream.from_bytes(again, trust=entry_of(folder, name).get("trust", ()))
    assert nystream.to_bytes(twin) == again


NOTHING_LEARNT = ("auto-fresh",)
"""Automatic learners without a row are their parameters alone: they begin with the experts of now."""


@pytest.mark.parametrize("saved_again", [False, True], ids=["loaded", "saved again"])
@pytest.mark.parametrize(("folder", "name"), READ)
def test_a_loaded_model_goes_on_as_it_did_then(folder, name, saved_again):
    entry, model = entry_of(folder, name), load(folder, name)
    if saved_again:  # in the format of now
        model = nystream.from_bytes(nystream.to_bytes(model), trust=entry.get("trust", ()))
    for call in entry["calls"]:
        found = model
        for part in SINCE.get(call["name"], call["name"]).split("."):
            found = getattr(found, part)
        given = found(*(argument(folder, a) for a in call["args"])) if "args" in call else found
        if name not in NOTHING_LEARNT:
            compare(given, call["gives"], entry.get("tolerance", CLOSE))
        elif isinstance(given, np.ndarray):
            assert np.isfinite(given).all()
            assert given.shape == np.shape(call["gives"])


def test_an_array_that_is_not_in_the_model_would_be_noticed():
    folder, name = FILES[0]
    content = content_of(folder, name)
    changed = bytearray(content)
    changed[-1] ^= 1
    assert arrays(content) - arrays(bytes(changed))
    assert not arrays(content) - arrays(content)


def content_of(folder: str, name: str) -> bytes:
    return (FOLDER / folder / f"{name}.nys").read_bytes()


def entry_of(folder: str, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = FORMATS[folder]["files"][name]
    return entry


def load(folder: str, name: str) -> Any:
    return nystream.load(FOLDER / folder / f"{name}.nys", trust=entry_of(folder, name).get("trust", ()))


def argument(folder: str, given: Any) -> Any:
    """[table, start, stop] are rows of a table, one of them without a stop; all else is itself."""
    if not isinstance(given, list):
        return given
    name, start, stop = given
    rows = table(folder, name)
    if stop is not None:
        return rows[start:stop]
    return rows[start] if rows.ndim > 1 else rows[start].item()


@cache
def table(folder: str, name: str) -> np.ndarray:
    found = FORMATS[folder]["tables"][name]
    return np.array(found["rows"], dtype=found["dtype"])


def compare(given: Any, expected: Any, tolerance: float) -> None:
    if expected is None:
        return  # a method that returns its object
    if isinstance(expected, (list, float)) and np.asarray(expected).dtype.kind in "if":
        assert_allclose(np.asarray(given, dtype=float), np.asarray(expected, dtype=float), tolerance, tolerance)
    else:
        given = given.tolist() if isinstance(given, np.ndarray) else given
        assert given == (tuple(expected) if isinstance(given, tuple) else expected)


def arrays(content: bytes) -> Counter[tuple[str, tuple[int, ...], bytes]]:
    """What a file has in arrays, whatever they are called."""
    return Counter((str(a.dtype), a.shape, a.tobytes()) for a in tensors_of(content).values())


def numbers(content: bytes) -> set[str]:
    """The fractions and the large whole numbers (of random generators) in a file's header, wherever they are in it."""
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    leaves = (leaf for text in metadata.values() for leaf in _leaves(json.loads(text)))
    return {repr(leaf) for leaf in leaves if leaf % 1 or abs(leaf) > 2**53}


def _leaves(tree: Any) -> Iterator[float]:
    if isinstance(tree, (dict, list)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(part)
    elif isinstance(tree, (int, float)) and np.isfinite(float(tree)):
        yield tree
