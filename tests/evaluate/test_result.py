import csv
import io
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream.evaluate import Result, prequential
from nystream.evaluate.table import figures
from oracles.evaluate import Linear, sign_stream


def odd():
    """A result with everything that is hard to write down."""
    columns = {
        "n": np.array([10, 20, 25]),
        "mse": np.array([np.nan, 0.1 + 0.2, 1e-300]),
        "regret": np.array([np.inf, -np.inf, -0.0]),
        "size": np.array([3.0, 4.0, 2.0**60]),
    }
    directions = {"mse": "lower", "regret": "lower", "size": "lower"}
    meta = {"rows": 25, "seconds": 0.25, "interrupted": False, "seed": None, "versions": {"numpy": "2"}}
    return Result('Ünï, "q"', "Ridge(lam=2.0)", columns, directions, meta)


def same(a, b):
    assert (a.name, a.learner, a.directions, a.meta) == (b.name, b.learner, b.directions, b.meta)
    assert list(a.columns) == list(b.columns)
    for column in a.columns:
        assert a[column].dtype == b[column].dtype
        assert_array_equal(a[column], b[column])
        assert_array_equal(np.signbit(a[column][~np.isnan(a[column])]), np.signbit(b[column][~np.isnan(b[column])]))


def test_json_round_trip_keeps_every_number_and_is_standard_json():
    text = odd().to_json()
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is not standard JSON"))
    same(Result.from_json(text), odd())


def test_a_real_result_survives_the_round_trip(tmp_path):
    result = prequential(sign_stream(80), Linear(), ["accuracy", "auc", "regret", "seconds"], every=25)
    result.save(tmp_path / "r.json")
    same(Result.from_json((tmp_path / "r.json").read_text(encoding="utf-8")), result)


def test_csv_reads_back_to_the_same_numbers(tmp_path):
    odd().save(tmp_path / "r.CSV")
    header, *lines = csv.reader(io.StringIO((tmp_path / "r.CSV").read_text(encoding="utf-8")))
    assert header == ["n", "mse", "regret", "size"]
    read = np.array(lines, dtype=float)
    assert_array_equal(read, np.column_stack(list(odd().columns.values())))
    assert [line[0] for line in lines] == ["10", "20", "25"]


def test_other_extensions_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"cannot tell the format of .*r.txt'; end it with .json or .csv"):
        odd().save(tmp_path / "r.txt")
    uneven = '{"columns": {"n": [1], "mse": []}}'
    for text, message in [("{", "not JSON"), ("[]", "not a result"), (uneven, "of one length")]:
        with pytest.raises(ValueError, match=message):
            Result.from_json(text)


def test_the_last_readings_and_the_columns_are_at_hand():
    result = odd()
    assert result.final == {"mse": 1e-300, "regret": 0.0, "size": 2.0**60}
    assert (result.metrics, result.rows, result.seconds) == (["mse", "regret", "size"], 25, 0.25)
    with pytest.raises(KeyError, match=r"mae.* was not measured"):
        result["mae"]


def test_the_table_is_aligned_and_keeps_the_last_reading():
    n = np.arange(10.0, 1010.0, 10.0)
    result = Result("a", "A()", {"n": n, "mse": 1 / n}, {"mse": "lower"}, {"rows": 1000, "seconds": 1.0})
    lines = result.table(rows=5).splitlines()
    assert lines == [
        "   n       mse",
        "----  --------",
        " 200  0.005000",
        " 400  0.002500",
        " 600  0.001667",
        " 800  0.001250",
        "1000  0.001000",
    ]
    assert str(result).startswith("a: 1000 rows, 1 s\n")


def test_numbers_of_a_column_share_their_precision():
    assert figures([0.12345678, 12.5]) == ["0.123", "12.500"]
    assert figures([3, 40, 500]) == ["3", "40", "500"]
    assert figures([math.nan, 0.5, math.inf]) == ["-", "0.50000", "inf"]
    assert figures([1e-9, 1.5]) == ["1e-09", "1.5"]
    assert figures([math.nan]) == ["-"]
    assert figures([0.0, 0.25]) == ["0.00000", "0.25000"]
