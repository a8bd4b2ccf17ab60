"""Damaged tables through every reader: what cannot be read is one clear line, never a traceback or a crash.

Run: python benchmarks/reliability/fuzz_readers.py [--tables 100000] [--seed 0] [--only WORD ...]

A small table with numbers, booleans, categories, dates, text and holes is written in every format that files may have,
damaged (bytes changed, cut out, doubled, swapped, hostile words put in), read as `nystream run` reads it, and learnt;
tables in memory (dicts, NumPy, pandas, polars, Arrow, sparse) have values, names and lengths replaced. Half of the
tables are learnt with on_error="missing". Readers run in a process of their own: a crash is counted and shown.
"""

from __future__ import annotations

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import gzip
import io
import json
import multiprocessing
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy.sparse import coo_array, csr_array

from nystream import PKRR, Encoded, Model, SparseLinear, Standardized, WithConstant
from nystream.cli.rows import open_rows
from nystream.cli.source import open_source
from nystream.learners.abilities import Unable

CLEAR = (ImportError, OSError, ValueError, MemoryError, Unable)
"""What the command line catches. Callers expect a TypeError of what is no table at all, but files have no excuse."""
HOSTILE = [
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"\n", b"\r", b",", b";", b"\t", b"{", b"}", b"[", b"null"),
    *(
        b"1e999",
        b"-1e999",
        b"nan",
        b"1_0",
        b"0x1p3",
        "\u0661\u0662".encode(),
        b"9" * 400,
        b"-",
        b"None",
        b"\\",
        b"%",
        b"@",
    ),
    *(b"2024-13-45", b"0000-00-00", b"9999-12-31T23:59:60", b"True", b"1:2:3", b"-1:5", b"99999999999999999999:1"),
]
VALUES = [
    *(
        None,
        True,
        0,
        -1,
        2**70,
        10**400,
        1e308,
        float("nan"),
        float("inf"),
        "",
        "x",
        "1",
        "2024-01-01",
        "\x00",
        "\ud800",
    ),
    *(b"bytes", [], [1, 2], {}, {"a": 1}, object(), 1 + 2j, np.datetime64("NaT"), np.float32(1), np.array([1, 2])),
]


def columns(n: int = 24) -> dict[str, list[Any]]:
    rng = random.Random(7)
    return {
        "size": [round(rng.gauss(0, 3), 3) if i % 5 else None for i in range(n)],
        "count": [rng.randrange(40) for _ in range(n)],
        "open": [rng.random() < 0.5 for _ in range(n)],
        "shop": [rng.choice(["north", "south", "far, far", 'a "b"']) for _ in range(n)],
        "when": [f"2024-02-{1 + i % 28:02d}T{i % 24:02d}:30:00" for i in range(n)],
        "note": [" ".join(rng.choices(["red", "green", "blue", "tall", "small", "late"], k=9)) for _ in range(n)],
        "y": [round(rng.gauss(10, 2), 3) if i % 7 else None for i in range(n)],
    }


# -- files -------------------------------------------------------------------------------------------------------------
def files() -> dict[str, bytes]:
    """The table in every format, by the ending of its name."""
    found = columns()
    frame = pd.DataFrame(found)
    numbers = frame[["size", "count", "y"]].fillna(0.5)
    arff = "@relation t\n@attribute size numeric\n@attribute shop {a,b}\n@attribute y numeric\n@data\n"
    arff += "".join(
        f"{a},{'ab'[i % 2]},{y}\n" for i, (a, y) in enumerate(zip(numbers["size"], numbers["y"], strict=True))
    )
    comma = frame.to_csv(index=False, sep=";", decimal=",")
    arrays = io.BytesIO(), io.BytesIO()
    matrix = np.ascontiguousarray(numbers.to_numpy())
    np.save(arrays[0], matrix)
    np.savez(arrays[1], X=np.ascontiguousarray(matrix[:, :2]), y=matrix[:, 2])
    table = pa.Table.from_pandas(frame)
    feather, parquet = pa.BufferOutputStream(), pa.BufferOutputStream()
    pyarrow.feather.write_feather(table, feather)
    pyarrow.parquet.write_table(table, parquet)
    return {
        "plain.csv": frame.to_csv(index=False).encode(),
        "comma.csv": comma.encode(),
        "tabs.tsv": frame.to_csv(index=False, sep="\t").encode(),
        "bare.data": numbers.to_csv(index=False, header=False).encode(),
        "zip.csv.gz": gzip.compress(frame.to_csv(index=False).encode(), 1),
        "lines.jsonl": frame.to_json(orient="records", lines=True).encode(),
        "weka.arff": arff.encode(),
        "wide.svmlight": b"".join(b"%d 1:%g %d:1\n" % (i % 2, i / 3, 10 + i * 1000) for i in range(24)),
        "array.npy": arrays[0].getvalue(),
        "arrays.npz": arrays[1].getvalue(),
        "table.parquet": parquet.getvalue().to_pybytes(),
        "table.feather": feather.getvalue().to_pybytes(),
    }


def damaged(content: bytes, rng: random.Random) -> bytes:
    found = bytearray(content)
    for _ in range(rng.randrange(1, 5)):
        at, size = rng.randrange(len(found) + 1), min(len(found), rng.randrange(1, 20))
        match rng.randrange(6):
            case 0 if found:
                found[at % len(found)] = rng.randrange(256)
            case 1:
                del found[at : at + size]
            case 2:
                found[at:at] = found[at : at + size]
            case 3:
                found[at : at + rng.randrange(size + 1)] = rng.choice(HOSTILE)
            case 4:
                other = rng.randrange(len(found) + 1)
                found[at : at + size], found[other : other + size] = found[other : other + size], found[at : at + size]
            case _ if rng.random() < 0.2:
                del found[at:]
    return bytes(found)


def learn_file(path: Path, on_error: str) -> None:
    source = open_source(open_rows(str(path)))
    model = Model(SparseLinear(bits=10), on_error=on_error) if source.schema.width else learner(on_error)
    for rows, labels in source.blocks(16):
        model.run(rows, labels)


def learner(on_error: str) -> Model:
    return Model(Encoded(Standardized(PKRR(WithConstant()))), on_error=on_error)


# -- tables in memory --------------------------------------------------------------------------------------------------
def in_memory(kind: str, rng: random.Random) -> tuple[Any, Any]:
    """A damaged table of one of the kinds, and labels or the name of the target."""
    found: dict[Any, list[Any]] = columns()
    for _ in range(rng.randrange(1, 4)):
        name = rng.choice(list(found))
        values = list(found[name])
        match rng.randrange(5):
            case 0 | 1:
                values[rng.randrange(len(values))] = rng.choice(VALUES)
            case 2:
                values = [rng.choice(VALUES)] * len(values)
            case 3:
                del found[name]
                name = rng.choice(["", "y", "\x00", "size", "count"] if kind in KINDS[3:] else ["", 3, None, "y"])
            case _ if rng.random() < 0.3:
                values = values[: rng.randrange(len(values))]
        found[name] = values
    y = found.get("y") if rng.random() < 0.5 else "y"
    rows: Any = [dict(zip(found, row, strict=False)) for row in zip(*found.values(), strict=False)]
    if kind == "dicts":
        return rows, [row.pop("y", None) for row in rows]
    if kind == "matrix":
        return np.array(list(found.values()), dtype=object).T, y
    if kind == "sparse":
        X = rng.choice([csr_array, coo_array])(np.nan_to_num(np.array([[1.0, 0, 2], [0, 3, 0]])))
        X.data[rng.randrange(3)] = rng.choice([np.nan, np.inf, 1e308, 0.0])
        return X, rng.choice([[1.0, 2.0], [1.0], None, "y", ["a", "b"]])
    if kind == "pandas":
        return pd.DataFrame(found), y
    if kind == "polars":
        return pl.DataFrame(found, strict=False), y
    if kind == "arrow":
        return pa.table(found), y
    return found, y


class NotMade(Exception):
    """Another library refuses to make the table."""


KINDS = ("dicts", "matrix", "sparse", "mapping", "pandas", "polars", "arrow")


def learn_table(kind: str, rng: random.Random, on_error: str) -> None:
    try:
        rows, y = in_memory(kind, rng)
    except Exception as error:
        raise NotMade from error
    model = learner(on_error)
    if kind == "dicts" and rng.random() < 0.5:
        for row, label in zip(rows, y or [], strict=False):
            model.step(row, label)
        return
    model.run(rows, y)
    model.predict(rows)


# -- the count ---------------------------------------------------------------------------------------------------------
def tried(seeds: range, names: list[str], folder: str, results: Any) -> None:
    warnings.simplefilter("ignore")
    every = files()
    counts: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        name = names[seed % len(names)]
        results.put(("trying", seed, name))
        on_error = rng.choice(["raise", "missing"])
        try:
            if name in every:
                path = Path(folder) / name
                path.write_bytes(damaged(every[name], rng))
                learn_file(path, on_error)
            else:
                learn_table(name, rng, on_error)
            counts[name, "learnt"] += 1
        except NotMade:
            counts[name, "not made"] += 1
        except (*CLEAR, TypeError) as error:
            if name in every and isinstance(error, TypeError):
                counts[name, "traceback"] += 1
                results.put(("traceback", seed, name, traceback.format_exc(limit=-4)))
                continue
            clear = (name if name in every else " ") in str(error) or " at row " in str(error)
            counts[name, "refused" if clear else "refused unclearly"] += 1
            results.put(("refused", name, ("" if clear else "UNCLEAR ") + f"{type(error).__name__}: {error}"[:250]))
        except Exception:
            counts[name, "traceback"] += 1
            results.put(("traceback", seed, name, traceback.format_exc(limit=-4)))
    results.put(("done", counts))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="formats whose names contain one of these")
    parser.add_argument("--reasons", type=int, default=0, help="refusals to print, the most frequent ones of each")
    parser.add_argument("--show", type=int, default=5, help="tracebacks to print")
    asked = parser.parse_args()
    names = [n for n in (*files(), *KINDS) if not asked.only or any(word in n for word in asked.only)]
    counts: Counter[tuple[str, str]] = Counter()
    reasons: dict[str, Counter[str]] = {}
    shown, begin, end = 0, asked.seed, asked.seed + asked.tables
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        while begin < end:
            upto = min(end, begin + 5000)
            results: Any = context.SimpleQueue()
            process = context.Process(target=tried, args=(range(begin, upto), names, folder, results))
            process.start()
            last, finished = (begin, ""), False
            while not finished and (process.is_alive() or not results.empty()):
                if results.empty():
                    process.join(0.01)
                    continue
                what, *found = results.get()
                if what == "trying":
                    last = tuple(found)
                elif what == "refused":
                    reasons.setdefault(found[0], Counter())[found[1]] += 1
                elif what == "traceback":
                    shown += 1
                    if shown <= asked.show:
                        print(f"seed {found[0]}, {found[1]}:\n{found[2]}", file=sys.stderr)
                else:
                    counts.update(found[0])
                    finished = True
            process.join()
            if not finished:
                counts[last[1], "crash"] += 1
                print(f"crash: seed {last[0]}, {last[1]}, exit {process.exitcode}", file=sys.stderr)
            begin = upto if finished else last[0] + 1
    for name, found in reasons.items() if asked.reasons else ():
        print(name, *(f"  {count:6,} {text}" for text, count in found.most_common(asked.reasons)), sep="\n")
    outcomes = ("not made", "learnt", "refused", "refused unclearly", "traceback", "crash")
    print(f"{'':15}" + "".join(f"{outcome:>19}" for outcome in outcomes))
    for name in names:
        print(f"{name:15}" + "".join(f"{counts[name, outcome]:>19,}" for outcome in outcomes))
    bad = sum(counts[name, outcome] for name in names for outcome in outcomes[3:])
    print(json.dumps({"tables": asked.tables, "bad": bad}))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
