"""The bytes of a model: a safetensors container whose header holds format, versions, tree of parts and checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from safetensors.numpy import load as _read_tensors
from safetensors.numpy import save as _write_tensors

from nystream.persist.reading import Reader, Unreadable
from nystream.persist.writing import Arrays, pack
from nystream.runtime.params import Params
from nystream.runtime.version import installed_version

__all__ = ["FORMAT", "from_bytes", "to_bytes"]

FORMAT = 1
"""The format number of new files, that of release 1.0. Later formats are refused."""

_KEY = "nystream"
_LARGEST_HEADER = 100_000_000
"""Largest header, in bytes, that safetensors reads."""


def to_bytes(model: Params) -> bytes:
    """Return the model, its parameters and everything it has learnt, as bytes that `from_bytes` reads."""
    tensors: Arrays = {}
    if not isinstance(model, Params):
        raise ValueError(f"cannot save {model!r}: a model is a learner or another part of nystream")
    tree = pack(model, "model", tensors)
    header = {"format": FORMAT, "version": installed_version(), "numpy": np.__version__, "model": tree}
    text = _dumped({**header, "sha256": _digest(_dumped(header), tensors)})
    return _write_tensors(tensors, metadata={_KEY: text})


def from_bytes(content: bytes | bytearray | memoryview, *, trust: bool | str | Iterable[str] = ()) -> Any:
    """Return the model that `to_bytes` wrote.

    trust : names (`"package.module.Class"`) of classes outside nystream that may be imported, such as a kernel of
        your own, or True for all. Loading runs no code that the file carries; importing a named class runs its module.
    """
    names = [trust] if isinstance(trust, str) else trust
    allowed = names if isinstance(names, bool) else frozenset(names)
    origin = "another version"
    try:
        tensors, header = _read(bytes(content) if isinstance(content, (bytearray, memoryview)) else content)
        origin = _origin(header)
        tree = _checked(header, tensors, origin)
        return Reader(tensors, allowed, origin, installed_version()).model(tree)
    except Unreadable as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("the model file is corrupted: its parts are nested too deeply") from None
    except Exception as error:  # any error of a part that gets parameters or state that it never wrote
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ValueError(
            f"the model file describes no model that nystream {installed_version()} can build ({reason}); "
            f"it comes from {origin}"
        ) from error


def _read(content: Any) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the header with its format, tree and checksum."""
    if not isinstance(content, bytes) or (len(content) >= 9 and content[8:9] != b"{"):
        raise Unreadable("not a nystream model")
    size = int.from_bytes(content[:8], "little")
    if len(content) >= 9 and size > _LARGEST_HEADER:
        raise Unreadable("not a nystream model")
    if len(content) < 9 or len(content) < 8 + size:
        raise Unreadable(f"not a nystream model, or a truncated one: {len(content)} bytes are less than its header")
    try:
        outer = _parsed(content[8 : 8 + size])
        text = outer["__metadata__"][_KEY]
        end = max((entry["data_offsets"][1] for name, entry in outer.items() if name != "__metadata__"), default=0)
        header = _parsed(text)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise Unreadable(f"not a nystream model, or a corrupted one ({type(error).__name__}: {error})") from None
    if isinstance(end, int) and len(content) < 8 + size + end:
        raise Unreadable(f"the model file is truncated: it has {len(content)} of {8 + size + end} bytes")
    try:
        tensors = _read_tensors(content)
    except Exception as error:  # errors of the container, and NumPy's for wrong types and shapes
        raise Unreadable(f"the model file is corrupted: {error}") from None
    if (
        not isinstance(header, dict)
        or type(header.get("format")) is not int
        or header["format"] < 1
        or not {"sha256", "model"} <= set(header)
    ):
        raise Unreadable("not a nystream model: its header is incomplete")
    return tensors, header


def _parsed(text: bytes | str) -> Any:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _origin(header: dict[str, Any]) -> str:
    """Return the program and version that wrote the file, for messages."""
    written = header.get("version")
    if not isinstance(written, str) or not written.isprintable() or len(written) > 40:
        raise Unreadable("not a nystream model: its header is incomplete")
    return f"nystream {written}"


def _checked(header: dict[str, Any], tensors: Arrays, origin: str) -> Any:
    """Check the format and the checksum and return the tree of parts."""
    if header["format"] > FORMAT:
        raise Unreadable(
            f"the model file has format {header['format']} and was written by {origin}; "
            f"nystream {installed_version()} reads formats up to {FORMAT}: upgrade nystream"
        )
    signed = {key: value for key, value in header.items() if key != "sha256"}
    if _digest(_dumped(signed), tensors) != header["sha256"]:
        raise Unreadable("the model file is corrupted: its checksum does not match its content")
    return header["model"]


def _dumped(header: dict[str, Any]) -> str:
    return json.dumps(header, separators=(",", ":"))


def _digest(text: str, tensors: Arrays) -> str:
    total = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        total.update(f"{name}{tensors[name].dtype}{tensors[name].shape}".encode())
        total.update(tensors[name].reshape(-1).view(np.uint8).data)
    return total.hexdigest()
