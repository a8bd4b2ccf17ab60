"""Samples by partition and position, and sums that workers add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from spark_frames import FEATURES, examples, in_parts, table

pytest.importorskip("pyspark")
from nystream.spark import tasks
from nystream.spark.automatic import Pass, unflat
from nystream.spark.jobs import matrix
from nystream.spark.roles import Roles
from nystream.spark.sampling import draw
from nystream.spark.sizes import landmark_counts
from nystream.spark.summing import Summing, add_up, cut
from nystream.spark.tasks import LIMITS, merge_rounds, task_count

N = 1000


@pytest.fixture(scope="module")
def frame(spark):
    return in_parts(spark, table(*examples(N), row=np.arange(N)), 5).cache()


def test_a_sample_has_so_many_different_rows_and_comes_again(frame):
    first, second = (draw(frame, ["row"], N, 100, 3).column("row").to_numpy() for _ in range(2))
    assert len(set(first)) == 100
    assert (first == second).all()
    assert set(draw(frame, ["row"], N, 100, 4).column("row").to_numpy()) != set(first)
    assert sorted(draw(frame, ["row"], N, 5000, 3).column("row").to_numpy()) == list(range(N))


def test_every_row_is_as_likely_in_every_place(frame):
    counts, means = np.zeros(N), []
    for seed in range(20):
        rows = draw(frame, ["row"], N, 200, seed).column("row").to_numpy()
        counts[rows] += 1
        means.append(rows[:50].mean())
    assert counts.sum() == 20 * 200
    assert counts.max() <= 14  # 4 expected, standard deviation 1.8
    by_partition = counts.reshape(5, 200).sum(axis=1)
    assert_allclose(by_partition, 800, atol=150)
    assert abs(np.mean(means) - N / 2) < 50  # the first rows of a sample come from everywhere


def test_equal_rows_are_drawn_one_by_one(frame):
    same = frame.selectExpr("1.0 as x")
    assert draw(same, ["x"], N, 100, 0).num_rows == 100


def column_sums(repeats: int) -> Summing:
    """Sums of columns, repeated to a vector of some length."""

    @dataclass(frozen=True)
    class Columns(Summing):  # here, so that it travels to workers, which do not have this module
        def start(self, part: int) -> Any:
            return 0.0

        def learn(self, model: Any, batch: Any, place: Any) -> Any:
            return model + matrix(batch, self.roles.features, place).sum(axis=0)

        def vectors(self, model: Any) -> Any:
            yield np.tile(model, repeats - repeats // 3)
            yield np.tile(model, repeats // 3)

    return Columns(b"", Roles(tuple(FEATURES), ()))


@pytest.mark.parametrize("repeats", [1, 5000])
def test_vectors_are_added_up_in_pieces_whatever_the_partitions(spark, frame, repeats, monkeypatch):
    monkeypatch.setattr("nystream.spark.summing.LEAST", 1000)
    monkeypatch.setattr("nystream.spark.summing.LIMITS", tasks.Limits(group_bytes=1.0))
    fold = column_sums(repeats)
    X, _ = examples(N)
    for parts in (1, 5):
        total, rows = add_up(frame.repartition(parts), fold, 3 * repeats, parts)
        assert rows == N
        assert_allclose(total, np.tile(X.sum(axis=0), repeats), rtol=1e-12)
    total, rows = add_up(frame.where("x0 > 99"), fold, 3 * repeats, 5)
    assert (rows, total.any()) == (0, False)
    with pytest.raises(ValueError, match="column 'x1' is null in"):
        add_up(frame.selectExpr("x0", "if(row = 700, null, x1) as x1", "x2"), fold, 3 * repeats, 5)


def test_tasks_and_rounds_depend_on_size_and_cluster_not_on_partitions(spark):
    assert task_count(spark, 1e3) == LIMITS.most_tasks
    assert task_count(spark, 11e6) == int(LIMITS.shuffled_bytes / 11e6)
    assert task_count(spark, 1e9) == LIMITS.fewest_tasks
    assert [merge_rounds(nbytes) for nbytes in (13e3, 187e3, 1e6, 5e6, 40e6)] == [0, 1, 1, 2, 2]


def test_vectors_are_cut_into_pieces_of_one_size():
    vectors = [np.arange(5.0), np.arange(5.0, 6.0), np.zeros(0), np.arange(6.0, 17.0)]
    pieces = list(cut(iter(vectors), 4))
    assert [len(piece) for piece in pieces] == [4, 4, 4, 4, 1]
    assert (np.concatenate(pieces) == np.arange(17.0)).all()
    assert list(cut(iter([]), 4)) == []


def test_sums_travel_as_their_lower_triangle_and_come_back():
    rng = np.random.default_rng(0)
    sums = {"a": (np.tril(rng.normal(size=(5, 5))), rng.normal(size=(5, 2))), "b": (np.ones((1, 1)), np.ones((1, 2)))}
    expected = {name: (G.copy(), b.copy()) for name, (G, b) in sums.items()}
    fold = Pass(b"", Roles((), ()))
    flat = np.concatenate(list(fold.vectors((None, sums))))
    assert len(flat) == 15 + 10 + 1 + 2
    found = unflat(flat, {"a": (5, 2), "b": (1, 2)})
    for name, (G, b) in expected.items():
        assert (found[name][0] == G).all()
        assert (found[name][1] == b).all()


def test_landmarks_grow_with_rows_until_the_memory_of_a_task_ends_it():
    assert landmark_counts(1_000, 5, 1, 256e6, None, None) == (1000, 1500)
    big, rough = landmark_counts(20_000, 5, 1, 256e6, None, None)
    assert 1900 < big < 2000 < 3900 < rough < 4000
    assert landmark_counts(10**9, 5, 1, 256e6, None, None) == (5333, 5333)
    assert landmark_counts(10**9, 5, 1, 9e6, None, 700) == (1000, 700)
    assert landmark_counts(10**9, 500, 1, 256e6, 10, None) == (10, 0)
