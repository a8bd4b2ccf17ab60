"""Datasets by name: rows, columns, targets and preparations, where the files are; refusals where they are not."""

import lzma
import os
import pathlib

import numpy as np
import pytest

from nystream import datasets
from nystream.datasets import DATASETS

ROOT = pathlib.Path(__file__).parents[2]
DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", ROOT.parent / "shared" / "data"))


def here(name):
    for file in DATASETS[name].files:
        if not (DATA / file.path).exists():
            pytest.skip(f"{DATA / file.path} is not there; set NYSTREAM_DATA to the folder of the datasets")
    return name


@pytest.mark.parametrize("name", ["casp", "cpusmall", "usps", "elec2", "weather", "susy-30k"])
def test_small_datasets_have_the_rows_and_columns_of_their_entry(name):
    stream = datasets.stream(here(name), data=DATA)
    X, y = stream.load()
    entry = DATASETS[name]
    assert X.shape == (entry.rows, entry.columns)
    assert (stream.n, stream.d, stream.task) == (entry.rows, entry.columns, entry.task)
    assert np.isfinite(X).all()
    if entry.task == "classification":
        values = np.unique(y)
        assert values.tolist() == list(range(len(values)))


def test_parts_follow_each_other():
    name = here("usps")
    (X, y), (X1, y1), (X2, y2) = (datasets.load(name, part, data=DATA) for part in ("all", "train", "test"))
    np.testing.assert_array_equal(X, np.concatenate([X1, X2]))
    np.testing.assert_array_equal(y, np.concatenate([y1, y2]))
    assert np.bincount(y1.astype(int)).tolist() == [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    assert (X.min(), X.max()) == (-1.0, 1.0)


def test_blocks_go_on_across_parts():
    stream = datasets.stream(here("usps"), data=DATA)
    lengths = [len(X) for X, _ in stream.blocks(1000)]  # the seventh block ends 291 rows before the first part does
    assert lengths == [1000] * 9 + [298]


def test_mnist_test_images_are_digits():
    X, y = datasets.load(here("mnist"), "test", data=DATA, prepared=True)
    assert X.shape == (10_000, 784)
    assert np.bincount(y.astype(int)).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert round(255 * X.mean(), 4) == 33.7912
    assert X.max() == 1.0


def test_cpusmall_is_prepared_by_ranges():
    X, y = datasets.load(here("cpusmall"), data=DATA, prepared=True)
    np.testing.assert_allclose(X.min(axis=0), -1.0)
    np.testing.assert_allclose(X.max(axis=0), 1.0)
    assert (y.min(), y.max(), round(y.mean(), 3)) == (0.0, 99.0, 83.969)


def test_binary_labels_stay_minus_and_plus_one():
    X, y = datasets.stream(here("ijcnn1"), "train", data=DATA).take(5000).load()
    assert X.shape == (5000, 22)
    assert np.unique(y).tolist() == [-1.0, 1.0]


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    folder = tmp_path / "weather"
    folder.mkdir()
    (folder / "NEweather_data.csv.xz").write_bytes(lzma.compress(b"1,2,3,4,5,6,7,8\n" * 5))
    (folder / "NEweather_class.csv.xz").write_bytes(lzma.compress(b"0\n" * 5))
    with pytest.raises(ValueError, match=r"NEweather_data\.csv\.xz has 5 rows, but weather has 18,159: it is cut off"):
        datasets.load("weather", data=tmp_path)


def test_a_file_with_other_columns_is_refused(tmp_path):
    (tmp_path / "casp").mkdir()
    (tmp_path / "casp" / "CASP.csv").write_text("RMSD,F1\n1,2\n")
    with pytest.raises(ValueError, match=r"CASP\.csv has 1 columns, but casp has 9"):
        datasets.load("casp", data=tmp_path)


def test_a_video_is_no_table_and_a_table_no_video(tmp_path):
    with pytest.raises(ValueError, match="highway is a video"):
        datasets.stream("highway")
    with pytest.raises(ValueError, match="casp is a table"):
        datasets.frames("casp")
    with pytest.raises(ValueError, match="lobby has no true masks"):
        datasets.truth("lobby")


def test_the_frames_of_a_video_are_a_path_inside_its_archive():
    name = here("highway")
    assert datasets.frames(name, DATA) == str(DATA / "video" / "highway.zip" / "highway" / "input")
    assert datasets.truth(name, DATA) == str(DATA / "video" / "highway.zip" / "highway" / "groundtruth")
