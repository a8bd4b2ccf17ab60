"""Parquet files, row group by row group."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import streams

arrow = pytest.importorskip("pyarrow")
files = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def write(tmp_path):
    def written(columns, **options):
        path = tmp_path / "a.parquet"
        files.write_table(arrow.table(columns), path, **options)
        return path

    return written


def test_rows_come_back_whatever_the_row_groups(write):
    X = np.random.default_rng(0).normal(size=(9000, 2))
    columns = {"a": X[:, 0], "b": X[:, 1].astype(np.float32), "flag": X[:, 0] > 0, "y": np.arange(9000)}
    stream = streams.parquet(write(columns, row_group_size=700))
    got, y = stream
    assert_array_equal(got[:, 0], X[:, 0])
    assert_array_equal(got[:, 1], X[:, 1].astype(np.float32))
    assert_array_equal(got[:, 2], X[:, 0] > 0)
    assert_array_equal(y, np.arange(9000))
    assert (stream.n, stream.columns) == (9000, ("a", "b", "flag"))
    assert_array_equal(np.concatenate([x for x, _ in stream.blocks(333)]), got)


def test_text_and_dictionary_targets_become_classes(write):
    text = ["no", "yes", "no"]
    for values in (arrow.array(text), arrow.array(text).dictionary_encode()):
        stream = streams.parquet(write({"a": [1.0, 2.0, 3.0], "y": values}))
        assert_array_equal(stream.load()[1], [0.0, 1.0, 0.0])
        assert stream.labels == ("no", "yes")
    stream = streams.parquet(write({"a": [1.0, 2.0], "y": [7, 3]}), labels=[3, 7])
    assert_array_equal(stream.load()[1], [1.0, 0.0])


def test_targets_drop_and_columns_work_as_for_csv(write):
    path = write({"when": ["x", "y"], "a": [1, 2], "b": [3, 4], "c": [5, 6]})
    stream = streams.parquet(path, ["c", "a"], drop="when")
    assert_array_equal(stream.load()[0], [[3.0], [4.0]])
    assert_array_equal(stream.load()[1], [[5.0, 1.0], [6.0, 2.0]])
    assert np.isnan(streams.parquet(path, None, columns=["a"]).load()[1]).all()
    with pytest.raises(ValueError, match=r"a\.parquet has no column 'aa'"):
        streams.parquet(path, "aa")


def test_a_missing_value_is_an_error_or_nan(write):
    path = write({"a": [1.0, None], "y": [1, 2]})
    with pytest.raises(ValueError, match=r"a\.parquet, row 1: column 'a' is nan; remove or fill"):
        streams.parquet(path).load()
    assert_array_equal(streams.parquet(path, missing="nan").load()[0], [[1.0], [np.nan]])
    with pytest.raises(ValueError, match=r"a\.parquet, row 1: target 'a' is missing; remove the row"):
        streams.parquet(path, "a", missing="nan").load()


def test_columns_that_are_no_numbers_are_refused_by_name(write, tmp_path):
    with pytest.raises(ValueError, match=r"a\.parquet: column 'a' is text; drop it or encode it"):
        streams.parquet(write({"a": ["x"], "y": [1]}))
    with pytest.raises(ValueError, match=r"column 'a' is list<.*>; drop it"):
        streams.parquet(write({"a": [[1, 2]], "y": [1]}))
    (tmp_path / "b.parquet").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"b\.parquet is not a Parquet file"):
        streams.parquet(tmp_path / "b.parquet")
    with pytest.raises(FileNotFoundError):
        streams.parquet(tmp_path / "absent.parquet")


def test_without_pyarrow_only_parquet_is_gone_and_the_message_names_the_extra(tmp_path):
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from nystream import streams\n"
        "streams.sine(3).load()\n"
        f"streams.parquet({str(tmp_path / 'a.parquet')!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: reading Parquet needs pyarrow: pip install nystream[parquet]" in done.stderr
