"""Model files taken apart, changed and sealed again with the right checksum, as a forger would."""

from __future__ import annotations

import copy
import json

import numpy as np
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from nystream.persist import envelope


def opened(content):
    """Header and arrays of a file."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["nystream"]), dict(read_tensors(content))


def sealed(header, tensors):
    """A file with the right checksum, whatever is in it."""
    header = {key: value for key, value in header.items() if key != "sha256"}
    signed = {**header, "sha256": envelope._digest(envelope._dumped(header), tensors)}
    return write_tensors(tensors, metadata={"nystream": json.dumps(signed)})


def places(tree, path=()):
    """Paths of all that is in a tree."""
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [found for key, part in parts for found in [(*path, key), *places(part, (*path, key))]]


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def mutate_header(header, tensors, rng):
    paths = places(header["model"])
    path = rng.choice(paths)
    holder, old = at(header["model"], path[:-1]), at(header["model"], path)
    other = copy.deepcopy(at(header["model"], rng.choice(paths)))
    new = rng.choice([None, True, 0, -1, 2**31, 2**70, 1.5, -1e308, float("nan"), "x", "$", [], {}, other, [old]])
    match rng.randrange(4 if isinstance(holder, dict) else 2):
        case 0 | 1:
            holder[path[-1]] = new
        case 2:
            del holder[path[-1]]
        case 3:
            holder[rng.choice(["x_", "predict", "$array", "d", "loss", "n_seen_"])] = holder.pop(path[-1])


def mutate_array(header, tensors, rng):
    if not tensors:
        mutate_header(header, tensors, rng)
        return
    name = rng.choice(list(tensors))
    array = tensors[name]
    match rng.randrange(5):
        case 0:
            array = array[: len(array) // 2]
        case 1:
            array = np.concatenate([array, array])
        case 2:
            array = np.ascontiguousarray(array.T)
        case 3:
            with np.errstate(invalid="ignore"):
                array = array.astype(rng.choice(["f4", "i8", "u1", "?"]))
        case 4:
            array = array[None]
    tensors[name] = array
    for path in places(header["model"]):
        part = at(header["model"], path)
        if isinstance(part, dict) and part.get("$array") == name and rng.random() < 0.9:
            part["$shape"] = list(array.shape)


def mutate_state(header, tensors, rng):
    """What loads more often: an array of another shape, or of nothing, or none at all; a number that is another."""
    numbers = [p for p in places(header["model"]) if type(at(header["model"], p)) is int]
    arrays = [p for p in places(header["model"]) if p[-1:] == ("$array",)]
    if numbers and (not arrays or rng.random() < 0.3):
        path = rng.choice(numbers)
        at(header["model"], path[:-1])[path[-1]] += rng.choice([-1000, -10, -1, 1, 10, 1000])
        return
    if not arrays:
        mutate_header(header, tensors, rng)
        return
    path = rng.choice(arrays)[:-1]
    form = at(header["model"], path)
    array = tensors[form["$array"]].reshape(form["$shape"])
    axis = rng.randrange(max(1, array.ndim))
    match rng.randrange(6) if array.ndim else 5:
        case 0:
            array = array.take(range(array.shape[axis] // 2), axis=axis)
        case 1:
            array = np.concatenate([array, array], axis=axis)
        case 2:
            array = array.take([], axis=axis)
        case 3:
            array = array.T
        case 4:
            array = array[None]
        case 5:
            at(header["model"], path[:-1])[path[-1]] = None
            return
    tensors[form["$array"]], form["$shape"] = np.ascontiguousarray(array), list(array.shape)


def mutated(content, rng):
    match rng.randrange(6):
        case 0:
            changed = bytearray(content)
            for _ in range(rng.choice([1, 1, 8])):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            return bytes(changed)
        case 1:
            start = rng.randrange(len(content))
            return content[:start] + content[start + rng.randrange(1, 100) :]
        case kind:
            header, tensors = opened(content)
            for _ in range(rng.choice([1, 1, 3])):
                (mutate_header if kind < 4 else mutate_array)(header, tensors, rng)
            return sealed(header, tensors)
