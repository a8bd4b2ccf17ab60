"""Models as one safetensors file: a JSON header (versions, tree of parts, checksum) and arrays. Never pickle."""

from nystream.persist.envelope import FORMAT, from_bytes, to_bytes
from nystream.persist.files import check_target, load, save

__all__ = ["FORMAT", "check_target", "from_bytes", "load", "save", "to_bytes"]
