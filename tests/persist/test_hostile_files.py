"""Files that somebody made up: each either loads or is refused with a ValueError of one line, and runs no code."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from forgery import opened, sealed
from releases import release
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import nystream
from nystream import Gaussian, KernelRidge
from nystream.dictionary.rows import Rows
from nystream.persist import tags
from nystream.persist.writing import pack


def refused(content, message, **options):
    with pytest.raises(ValueError, match=message) as caught:
        nystream.from_bytes(content, **options)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def model():
    learner = KernelRidge(Gaussian(0.7), lam=0.3)
    rng = np.random.default_rng(0)
    learner.run(rng.normal(size=(12, 2)), rng.normal(size=12))
    return learner


def change(path, value):
    """A change of the header: the value at a path of keys is replaced; None removes it."""

    def act(header, tensors):
        part = header
        for key in path[:-1]:
            part = part[key]
        if value is REMOVED:
            del part[path[-1]]
        else:
            part[path[-1]] = value

    return act


REMOVED = object()
STATE, PARAMS = ("model", "state"), ("model", "params")
TWICE = {"$dict": [["a", 1], ["a", 2]]}
CASES = {
    "format as text": (change(["format"], "2"), "its header is incomplete"),
    "format true": (change(["format"], True), "its header is incomplete"),
    "format 0": (change(["format"], 0), "its header is incomplete"),
    "format -1": (change(["format"], -1), "its header is incomplete"),
    "no format": (change(["format"], REMOVED), "its header is incomplete"),
    "no model": (change(["model"], REMOVED), "its header is incomplete"),
    "no version": (change(["version"], REMOVED), "its header is incomplete"),
    "version of lines": (change(["version"], "1\n2"), "its header is incomplete"),
    "long version": (change(["version"], "1" * 99), "its header is incomplete"),
    "model a list": (change(["model"], [1, 2]), "it describes no model"),
    "model a number": (change(["model"], 7), "it describes no model"),
    "model nothing": (change(["model"], None), "it describes no model"),
    "unknown form": (change(["model"], {"$set": []}), r"unknown form \['\$set'\]"),
    "half a form": (change([*PARAMS], REMOVED), r"unknown form \['\$class', 'state'\]"),
    "more than a form": (change(["model", "extra"], 1), r"unknown form"),
    "class a number": (change(["model", "$class"], 3), "a part has no name"),
    "parameters a list": (change([*PARAMS], []), "a part has no name, parameters or state"),
    "state a text": (change([*STATE], "x"), "a part has no name, parameters or state"),
    "empty tag": (change(["model", "$class"], "/"), "uses '/', which nystream .* does not know"),
    "module of nystream": (
        change(["model", "$class"], "nystream.persist.files.save"),
        "'nystream.persist.files.save', which nystream .* did not have",
    ),
    "module of Python": (change(["model", "$class"], "os.system"), "'os.system', which is not part of nystream"),
    "unknown parameter": (change([*PARAMS, "momentum"], 0.9), "unexpected keyword argument 'momentum'"),
    "bad parameter": (change([*PARAMS, "lam"], -1.0), r"lam must be a number greater than 0, got -1\.0"),
    "method as state": (change([*STATE, "predict"], 1), "are not the state of 'learner/kernel-ridge'"),
    "dunder as state": (change([*STATE, "__dict__"], 1), "are not the state of"),
    "no name as state": (change([*STATE, "a b_"], 1), "are not the state of"),
    "array not there": (change([*STATE, "x_"], {"$array": "none", "$shape": [1]}), "array 'none' is not there"),
    "array of no name": (change([*STATE, "x_"], {"$array": [], "$shape": [1]}), r"array \[\] is not there"),
    "NaN": (change([*STATE, "x_"], float("nan")), "nan is not a number of its format"),
    "infinity": (change([*PARAMS, "lam"], float("inf")), "inf is not a number of its format"),
    "odd number": (change([*STATE, "x_"], {"$float": "1.5"}), "unknown form"),
    "tuple of no list": (change([*STATE, "x_"], {"$tuple": {}}), "unknown form"),
    "table of no list": (change([*STATE, "x_"], {"$dict": 5}), "unknown form"),
    "table of no pairs": (change([*STATE, "x_"], {"$dict": [[1]]}), "something else than pairs"),
    "key twice": (change([*STATE, "x_"], TWICE), "key 'a' occurs twice"),
    "key a list": (change([*STATE, "x_"], {"$dict": [[[], 1]]}), "TypeError: .*unhashable"),
    "generator a number": (change([*STATE, "x_"], {"$generator": 5}), "unknown random generator None"),
    "generator a class": (
        change([*STATE, "x_"], {"$generator": {"$dict": [["bit_generator", "Generator"]]}}),
        "unknown random generator 'Generator'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_forged_header_is_refused_in_one_line(case):
    forge, message = CASES[case]
    header, tensors = opened(model().to_bytes())
    forge(header, tensors)
    refused(sealed(header, tensors), message)


@pytest.mark.parametrize("shape", [[-1], [10**30], [2.0], [True], "x", None, [[1]], [-3, -2], [5], [0]])
def test_a_shape_that_is_none_is_refused(shape):
    rows = Rows(2)
    rows.append(np.ones(2))
    header, tensors = opened(nystream.to_bytes(rows))
    header["model"]["state"]["rows_"]["$shape"] = shape
    refused(sealed(header, tensors), "corrupted: array 'model.rows_' has 2 numbers and shape")


def test_a_shape_of_nothing_that_no_memory_could_hold_is_refused():
    header, tensors = opened(nystream.to_bytes(Rows(3)))
    header["model"]["state"]["rows_"]["$shape"] = [0, 10**18]
    refused(sealed(header, tensors), "describes no model that nystream")
    header["model"]["state"]["rows_"]["$shape"] = [0, 3]
    header["model"]["params"]["d"] = 10**15
    refused(sealed(header, tensors), r"MemoryError|Unable to allocate")


def test_an_array_is_not_used_twice():
    header, tensors = opened(model().to_bytes())
    header["model"]["state"]["x_"] = {"$array": next(iter(tensors)), "$shape": list(next(iter(tensors.values())).shape)}
    refused(sealed(header, tensors), "is not there, or used twice")


def test_types_that_no_file_has_are_refused():
    header, tensors = opened(model().to_bytes())
    name, array = next(iter(tensors.items()))
    content = write_tensors({name: array.astype(np.float64)}, metadata={"nystream": "{}"})
    assert b'"F64"' in content
    for kind in (b'"C64"', b'"F6X"', b'"BFL"'):
        refused(content.replace(b'"F64"', kind), "not a nystream model|corrupted")
    tensors[name] = array.astype(np.complex64)
    if release("safetensors") >= (0, 7):
        refused(sealed(header, tensors), "has type complex64")
    else:  # knows no complex numbers: of 8 bytes, like fractions, they are told from them by their name alone
        tensors[name] = tensors[name].view(np.float64)
        refused(sealed(header, tensors).replace(b'"F64"', b'"C64"'), "corrupted")


@pytest.mark.parametrize("depth", [500, 100_000])
def test_a_header_nested_too_deeply_is_refused(depth):
    content = model().to_bytes()
    text = json.dumps({**opened(content)[0], "model": "here"}).replace('"here"', "[" * depth + "]" * depth)
    refused(write_tensors(read_tensors(content), metadata={"nystream": text}), "corrupted")


def test_a_key_that_occurs_twice_is_refused():
    content = model().to_bytes()
    header, tensors = opened(content)
    text = json.dumps(header)
    twice = text.replace('"lam": 0.3', '"lam": 0.3, "lam": 0.3')
    assert twice != text
    refused(write_tensors(tensors, metadata={"nystream": twice}), "a key occurs twice")


@pytest.mark.parametrize(
    "outer",
    [
        b"[]",
        b"{}",
        b"null",
        b'{"__metadata__":5}',
        b'{"__metadata__":{"nystream":5}}',
        b'{"__metadata__":{"nystream":"5"}}',
        b'{"__metadata__":{"nystream":"{}"},"a":5}',
        b'{"__metadata__":{"nystream":"{}"},"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"nystream":"{}"},"a":{"dtype":"F64","shape":[1],"data_offsets":["0","8"]}}',
        b'{"__metadata__":{"nystream":"{}"},"a":{"dtype":"F64","shape":[1],"data_offsets":[-8,0]}}',
        b'{"__metadata__":{"nystream":"{}"},"a":{"dtype":"F64","shape":[99],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"nystream":"{}"},"a":{"dtype":"F64","shape":[0,9223372036854775808],"data_offsets":[0,0]}}',
    ],
)
def test_a_forged_container_is_refused(outer):
    size = len(outer).to_bytes(8, "little")
    refused(size + outer, "not a nystream model|corrupted|truncated")
    refused(size + outer + b"12345678", "not a nystream model|corrupted")


def _generator(kind, **changes):
    tensors = {}
    state = np.random.Generator(getattr(np.random, kind)(1)).bit_generator.state
    for path, value in changes.items():
        part, _, name = path.partition("__")
        if name:
            state[part][name] = value
        else:
            state[part] = value
    return {"$generator": pack(state, "model.generator_", tensors)}, tensors


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("PCG64", {"state__state": -1}),
        ("PCG64", {"state__state": 2**200}),
        ("PCG64", {"state__inc": "x"}),
        ("PCG64", {"state": 5}),
        ("PCG64", {"has_uint32": 2**40}),
        ("PCG64", {"uinteger": -5}),
        ("PCG64DXSM", {"state": {}}),
        ("MT19937", {"state__pos": 625}),
        ("MT19937", {"state__pos": -1}),
        ("MT19937", {"state__pos": 1.5}),
        ("MT19937", {"state__key": np.zeros(5, np.uint32)}),
        ("MT19937", {"state__key": np.zeros(624)}),
        ("MT19937", {"state__key": [0] * 624}),
        ("Philox", {"buffer_pos": 5}),
        ("Philox", {"buffer_pos": -1}),
        ("Philox", {"buffer": np.zeros(1, np.uint64)}),
        ("Philox", {"state__counter": np.zeros(9, np.uint64)}),
        ("SFC64", {"state__state": np.zeros(3, np.uint64)}),
        ("SFC64", {"state__state": None}),
    ],
)
def test_a_generator_in_no_state_of_its_own_is_refused(kind, changes):
    header, tensors = opened(model().to_bytes())
    header["model"]["state"]["generator_"], arrays = _generator(kind)
    assert isinstance(nystream.from_bytes(sealed(header, {**tensors, **arrays})).generator_, np.random.Generator)
    header["model"]["state"]["generator_"], arrays = _generator(kind, **changes)
    refused(sealed(header, {**tensors, **arrays}), f"corrupted: the state of its {kind} is none")


def test_a_row_of_the_table_that_names_no_part_builds_nothing(monkeypatch):
    header, tensors = opened(model().to_bytes())
    header["model"]["$class"] = "learner/of-a-slip"
    for place in ("nystream.persist.files:save", "builtins:dict", "pathlib:Path"):
        monkeypatch.setitem(tags.TAGS, "learner/of-a-slip", place)
        refused(sealed(header, tensors), "'learner/of-a-slip' is not a part of a model")


def test_no_module_is_imported_that_was_not_trusted(tmp_path, monkeypatch):
    (tmp_path / "leaves_a_mark.py").write_text("import pathlib\npathlib.Path(__file__).with_suffix('.mark').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    header, tensors = opened(model().to_bytes())
    header["model"]["params"]["kernel"]["$class"] = "leaves_a_mark.Kernel"
    content = sealed(header, tensors)
    for trust in ((), False, "leaves_a_mark", ["leaves_a_mark.Other", "leaves_a_mark"]):
        refused(content, "not part of nystream", trust=trust)
        assert not (tmp_path / "leaves_a_mark.mark").exists()
    refused(content, "cannot be imported here", trust=True)
    assert (tmp_path / "leaves_a_mark.mark").exists()
    sys.modules.pop("leaves_a_mark")


@pytest.mark.parametrize("name", ["os.system", "os.path", "builtins.eval", "Kernel", ".kernel.Kernel", "a..b", ""])
def test_what_is_no_part_is_refused_even_where_all_is_trusted(name):
    header, tensors = opened(model().to_bytes())
    header["model"]["params"]["kernel"]["$class"] = name
    refused(sealed(header, tensors), "is not a part of a model|cannot be imported here", trust=True)
