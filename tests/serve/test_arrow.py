"""Arrow bodies: streams and files, compressed or not; what would grow too large is refused before it grows."""

import random
from collections import Counter

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("orjson")

from nystream.serve.arrow import from_arrow
from nystream.serve.refusals import Refusal
from nystream.serve.settings import Limits

LIMITS = Limits(body=2**20)


def written(table, *, file=False, compression=None):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_file if file else pa.ipc.new_stream)(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=40)
    return sink.getvalue().to_pybytes()


def table():
    words = pa.array(["a", "b", None, "a"] * 25).dictionary_encode()
    return pa.table({"x": np.arange(100) / 7, "word": words})


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("file", [False, True])
def test_every_way_of_writing_is_read_the_same(file, compression):
    found = from_arrow(written(table(), file=file, compression=compression), LIMITS)
    assert found.n == 100
    np.testing.assert_array_equal(found.columns["x"], np.arange(100) / 7)
    assert list(found.columns["word"])[:4] == ["a", "b", None, "a"]


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("words", [False, True], ids=["rows", "dictionary"])
def test_a_small_body_that_would_become_large_is_refused(compression, words):
    column = pa.array(["x" * 2**21]).dictionary_encode() if words else np.zeros(2**19)
    sink = pa.BufferOutputStream()
    large = pa.table({"x": column})
    with pa.ipc.new_stream(sink, large.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(large)
    body = sink.getvalue().to_pybytes()
    assert len(body) < 2**16
    before = pa.total_allocated_bytes()
    with pytest.raises(Refusal, match="without its compression, more than 1048576") as refusal:
        from_arrow(body, LIMITS)
    assert refusal.value.status == 413
    assert pa.total_allocated_bytes() - before < 2**20


def test_mutated_bodies_are_refused_or_read():
    rng = random.Random(0)
    bodies = [written(table(), compression=c) for c in (None, "lz4")]
    answers = Counter()
    for _ in range(3000):
        body = bytearray(rng.choice(bodies))
        for _ in range(rng.randrange(1, 4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        try:
            from_arrow(bytes(body[: rng.randrange(1, len(body) + 1)] if rng.random() < 0.2 else body), LIMITS)
            answers[200] += 1
        except Refusal as refusal:
            answers[refusal.status] += 1
    assert {200, 422} <= set(answers) <= {200, 413, 422}
