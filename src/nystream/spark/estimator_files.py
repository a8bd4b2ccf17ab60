"""Models of the estimators in folders, as pyspark.ml saves its own: metadata as JSON, the model's bytes as Parquet."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter

from nystream.persist import from_bytes

__all__ = ["Saved"]

PIECE = 1 << 20
"""Bytes of a row: a model of any size then travels in small rows."""
OWN = "nystream"
"""The key of what is ours among the metadata."""


class _Writer(MLWriter):  # type: ignore[misc]
    def __init__(self, instance: Saved) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write metadata and model below this folder; the name is Spark's."""
        session = self.sparkSession
        DefaultParamsWriter.saveMetadata(self.instance, path, session, {OWN: self.instance.facts})
        content = self.instance.content
        pieces = [content[i : i + PIECE] for i in range(0, len(content), PIECE)]
        table = pa.table({"piece": pa.array(range(len(pieces)), pa.int64()), "content": pa.array(pieces, pa.binary())})
        session.createDataFrame(table).coalesce(1).write.parquet(f"{path}/model")


class _Reader(MLReader):  # type: ignore[misc]
    def __init__(self, kind: type[Saved]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Read what `save` wrote; the name is Spark's."""
        session = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, session)
        found, wanted = metadata["class"].rpartition(".")[2], self.kind.__name__
        if found != wanted:
            raise ValueError(f"{path} holds {found}, not {wanted}; load it with {found}.load")
        rows = session.read.parquet(f"{path}/model").orderBy("piece").toArrow()
        content = b"".join(rows.column("content").to_pylist())
        from_bytes(content)  # a damaged file is an error here, not on a worker
        instance: Any = self.kind()
        instance.content, instance.facts = content, metadata[OWN]
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance


class Saved(MLWritable, MLReadable):  # type: ignore[misc]
    """A model that is bytes, and facts beside them that JSON can hold."""

    content: bytes
    facts: dict[str, Any]

    def write(self) -> _Writer:
        """Return what saves this model: `model.write().overwrite().save(path)`."""
        return _Writer(self)

    @classmethod
    def read(cls) -> _Reader:
        """Return what loads a model that was saved."""
        return _Reader(cls)
