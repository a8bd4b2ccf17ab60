"""Models as one safetensors file: a JSON header (class, parameters, state, checksum) and arrays. Never pickle."""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as _read_tensors
from safetensors.numpy import save as _write_tensors

from nystream.params import Params

__all__ = ["FORMAT", "check_target", "from_bytes", "load", "save", "to_bytes"]

FORMAT = 1
"""Version of the file layout; a reader refuses files of a later one."""

_KEY = "nystream"
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def to_bytes(model: Params) -> bytes:
    """The model, its parameters and everything it has learnt, as bytes that `from_bytes` reads."""
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    tree = _pack(model, "model", tensors)
    header = {"format": FORMAT, "class": type(model).__name__, "model": tree, "sha256": _digest(tree, tensors)}
    return _write_tensors(tensors, metadata={_KEY: json.dumps(header)})


def from_bytes(content: bytes | bytearray | memoryview, *, trust: bool | str | Iterable[str] = ()) -> Any:
    """The model that `to_bytes` wrote.

    trust : names (`"package.module.Class"`) of classes outside nystream that may be imported, such as a kernel of
        your own, or True for all. Loading runs no code that the file carries; importing a named class runs its module.
    """
    tensors, header = _read(bytes(content) if isinstance(content, (bytearray, memoryview)) else content)
    if header["format"] > FORMAT:
        raise ValueError(
            f"the model file has format {header['format']}, newer than {FORMAT}, the newest this nystream reads; "
            "upgrade nystream"
        )
    if _digest(header["model"], tensors) != header["sha256"]:
        raise ValueError("the model file is corrupted: its checksum does not match its content")
    names = [trust] if isinstance(trust, str) else trust
    try:
        return _unpack(header["model"], tensors, names if isinstance(names, bool) else frozenset(names))
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(
            f"the model file describes no model that this nystream knows ({error}); it may come from another version"
        ) from error


def save(model: Params, path: str | os.PathLike[str]) -> None:
    """Write the model so that at every instant `path` holds either the old file or the whole new one."""
    target = Path(path)
    check_target(target)
    content = to_bytes(model)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written: a directory, or one in a folder that is not there."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", os.fspath(target.parent))


def load(path: str | os.PathLike[str], *, trust: bool | str | Iterable[str] = ()) -> Any:
    """Read a model that `save` wrote; it goes on bit for bit where it stopped. `trust` as in `from_bytes`."""
    try:
        return from_bytes(Path(path).read_bytes(), trust=trust)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def _read(content: bytes) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    try:
        tensors = _read_tensors(content)
        size = int.from_bytes(content[:8], "little")
        header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"][_KEY])
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"not a nystream model, or a truncated or corrupted one ({error})") from None
    if (
        not isinstance(header, dict)
        or not isinstance(header.get("format"), int)
        or not {"sha256", "model"} <= set(header)
    ):
        raise ValueError("not a nystream model: its header is incomplete")
    return tensors, header


def _digest(tree: Any, tensors: dict[str, np.ndarray[Any, Any]]) -> str:
    total = hashlib.sha256(json.dumps(tree).encode())
    for name in sorted(tensors):
        total.update(f"{name}{tensors[name].dtype}{tensors[name].shape}".encode())
        total.update(tensors[name].tobytes())
    return total.hexdigest()


def _pack(value: Any, where: str, tensors: dict[str, np.ndarray[Any, Any]]) -> Any:
    """JSON form of a value; arrays go to `tensors` under the path they were met at."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        tensors[where] = np.ascontiguousarray(value)
        return {"$array": where, "$shape": list(value.shape)}
    if isinstance(value, np.random.Generator):
        return {"$generator": _pack(value.bit_generator.state, where, tensors)}
    if isinstance(value, Params):
        params = {k: _pack(v, f"{where}.{k}", tensors) for k, v in value.get_params(deep=False).items()}
        state = {k: _pack(v, f"{where}.{k}", tensors) for k, v in value._state().items()}
        kind = type(value)
        return {"$class": f"{kind.__module__}.{kind.__qualname__}", "params": params, "state": state}
    if isinstance(value, (list, tuple)):
        items = [_pack(v, f"{where}.{i}", tensors) for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, dict):
        return {
            "$dict": [
                [_pack(k, f"{where}.key{i}", tensors), _pack(v, f"{where}.{i}", tensors)]
                for i, (k, v) in enumerate(value.items())
            ]
        }
    raise ValueError(
        f"cannot save {where.removeprefix('model.')}: {value!r} ({type(value).__name__}) has no safe file form"
    )


def _unpack(tree: Any, tensors: dict[str, np.ndarray[Any, Any]], trust: bool | frozenset[str]) -> Any:
    if isinstance(tree, list):
        return [_unpack(v, tensors, trust) for v in tree]
    if not isinstance(tree, dict):
        return tree
    if "$array" in tree:
        return tensors[tree["$array"]].reshape(tree["$shape"]).copy()
    if "$generator" in tree:
        return _generator(_unpack(tree["$generator"], tensors, trust))
    if "$tuple" in tree:
        return tuple(_unpack(tree["$tuple"], tensors, trust))
    if "$dict" in tree:
        return {_unpack(k, tensors, trust): _unpack(v, tensors, trust) for k, v in tree["$dict"]}
    model = _find(tree["$class"], trust)(**{k: _unpack(v, tensors, trust) for k, v in tree["params"].items()})
    model._restore({k: _unpack(v, tensors, trust) for k, v in tree["state"].items()})
    return model


def _find(name: str, trust: bool | frozenset[str]) -> type[Params]:
    module, _, kind = name.rpartition(".")
    known = module == "nystream" or module.startswith("nystream.")
    if not known and trust is not True and (trust is False or name not in trust):
        raise ValueError(
            f"the model uses {name}, which is not part of nystream; if you trust that code, pass trust=[{name!r}]"
        )
    try:
        found = getattr(importlib.import_module(module), kind)
    except (ImportError, AttributeError, ValueError):
        raise ValueError(f"the model uses {name}, which cannot be imported here") from None
    if not (isinstance(found, type) and issubclass(found, Params)):
        raise ValueError(f"the model file is corrupted: {name} is not a nystream part")
    return found


def _generator(state: dict[str, Any]) -> np.random.Generator:
    if state.get("bit_generator") not in _GENERATORS:
        raise ValueError(f"unknown random generator {state.get('bit_generator')!r} in the model file")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_directory(folder: Path) -> None:
    """Make the rename itself durable, where the system has directory handles."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
