"""Fits of whole frames: exact, whatever the partitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from spark_frames import FEATURES, examples, in_parts, pkrr, table

import nystream

pytest.importorskip("pyspark")
import nystream.spark as nystream_spark
from nystream.dictionary import KORS, merge_dictionaries
from nystream.kernels import Gaussian

N = 1200


@pytest.fixture(scope="module")
def rows():
    return examples(N)


@pytest.fixture(scope="module")
def frames(spark, rows):
    data = table(*rows, w=np.linspace(0.0, 2.0, N), z=-rows[1], label=np.where(rows[1] > 0, "up", "down"))
    return {parts: in_parts(spark, data, parts).cache() for parts in (1, 4, 16)}


@pytest.mark.parametrize("parts", [1, 4, 16])
@pytest.mark.parametrize("kind", [nystream.PKRR, nystream.PKAWV])
def test_a_fit_is_that_of_one_machine(frames, rows, parts, kind):
    pattern = kind(nystream.Fourier(nystream.Gaussian(1.5), 40, seed=3), lam=0.1)
    found = nystream_spark.fit(frames[parts], pattern, FEATURES, "y")
    whole = pattern.clone()
    whole.run(*rows)
    assert type(found) is kind
    assert found.n_seen == N
    assert pattern.d_ == 0
    assert_allclose(found.predict(rows[0]), whole.predict(rows[0]), rtol=0, atol=1e-10)
    assert_allclose(found.solver_.weights, whole.solver_.weights, rtol=0, atol=1e-10)
    assert_allclose(found.solver_.meter_.best, whole.solver_.meter_.best, rtol=1e-10)
    assert_allclose(found.log_det(), whole.log_det(), rtol=1e-10)


def test_the_regret_is_that_of_the_partitions_merged_on_one_machine(spark, frames, rows):
    from pyspark.sql.functions import spark_partition_id

    found = nystream_spark.fit(frames[4], pkrr(), FEATURES, "y")
    parts = frames[4].select(spark_partition_id().alias("part"), *FEATURES, "y").toPandas()
    merged = pkrr()
    for _, part in parts.groupby("part"):
        model = pkrr()
        model.run(part[FEATURES].to_numpy(), part["y"].to_numpy())
        merged.merge(model)
    assert_allclose(found.regret(), merged.regret(), rtol=1e-10)
    assert_allclose(found.regret_bound(), merged.regret_bound(), rtol=1e-10)
    assert found.regret() <= found.regret_bound()


def test_further_rounds_on_workers_change_nothing_but_the_tree(frames, rows):
    whole = pkrr()
    whole.run(*rows)
    for depth in (0, 1, 2):
        found = nystream_spark.fit(frames[16], pkrr(), FEATURES, "y", depth=depth)
        assert found.n_seen == N
        assert_allclose(found.predict(rows[0]), whole.predict(rows[0]), rtol=0, atol=1e-10)


def test_weights_and_several_targets(frames, rows):
    X, y = rows
    whole = pkrr()
    whole.run(X, np.column_stack([y, -y]), np.linspace(0.0, 2.0, N))
    found = nystream_spark.fit(frames[4], pkrr(), FEATURES, ["y", "z"], weight="w")
    assert found.n_seen == whole.n_seen == N - 1
    assert_allclose(found.predict(X), whole.predict(X), rtol=0, atol=1e-10)


def test_a_map_without_a_seed_is_drawn_once(frames, rows):
    features = nystream.Fourier(nystream.Gaussian(1.5), 40)
    found = nystream_spark.fit(frames[4], nystream.PKRR(features, lam=0.1), FEATURES, "y")
    assert np.mean((found.predict(rows[0]) - rows[1]) ** 2) < 0.5 * rows[1].var()


def test_a_model_of_classes_looks_them_up_and_keeps_their_names(frames, rows):
    X, y = rows
    pattern = nystream.Model(pkrr())
    found = nystream_spark.fit(frames[4], pattern, FEATURES, "label")
    assert isinstance(found, nystream.Model)
    assert found.classes == ["down", "up"]
    whole = nystream.Model(pkrr(), nystream.Schema(FEATURES, "label", "classification", ["down", "up"]))
    whole.run(table(X, y)[FEATURES], np.where(y > 0, "up", "down"))
    assert found.n_seen == N
    assert_allclose(found.probabilities(X), whole.probabilities(X), rtol=0, atol=1e-9)
    again = nystream.from_bytes(found.to_bytes())
    assert list(again.predict(X[:5])) == list(whole.predict(X[:5]))


def test_a_sampled_dictionary_takes_two_passes_over_a_common_one(spark, frames, rows):
    from pyspark.sql.functions import spark_partition_id

    pattern = nystream.NystromPKRR(Gaussian(1.5), lam=0.5, mu=0.5, beta=2.0, seed=5)
    found = nystream_spark.fit(frames[4], pattern, FEATURES, "y")
    cut = frames[4].select(spark_partition_id().alias("part"), *FEATURES).toPandas()
    samples = []
    for number, part in cut.groupby("part"):
        sampler = KORS(Gaussian(1.5), 0.5, beta=2.0)
        sampler.start(3)
        sampler.run(
            np.ascontiguousarray(part[FEATURES].to_numpy()), np.random.default_rng([5, number]).random(len(part))
        )
        samples.append(sampler)
    common = merge_dictionaries(samples, 5)
    assert_allclose(found.dictionary, common.points)
    assert common.n < 0.75 * sum(sample.n for sample in samples)
    whole = nystream.NystromPKRR(Gaussian(1.5), lam=0.5, dictionary=common.points)
    whole.run(*rows)
    assert_allclose(found.predict(rows[0]), whole.predict(rows[0]), rtol=0, atol=1e-8)
    sequential = pattern.clone()
    sequential.run(*rows)
    errors = [np.mean((model.predict(rows[0]) - rows[1]) ** 2) for model in (found, sequential)]
    assert errors[0] < 1.1 * errors[1]


def test_partitions_without_rows_are_nothing(frames, rows):
    few = frames[16].where("x0 > 1.2")  # some partitions are empty of it
    kept = rows[0][:, 0] > 1.2
    whole = pkrr()
    whole.run(rows[0][kept], rows[1][kept])
    assert_allclose(nystream_spark.fit(few, pkrr(), FEATURES, "y").predict(rows[0]), whole.predict(rows[0]), atol=1e-10)
    with pytest.raises(ValueError, match="the frame has no rows"):
        nystream_spark.fit(frames[4].where("x0 > 99"), pkrr(), FEATURES, "y")


def test_names_of_columns_may_have_dots(frames, rows):
    dotted = frames[4].selectExpr("x0 as `x.0`", "x1 as `x``1`", "x2", "y as `y.0`", "w as `w.`")
    names = ["x.0", "x`1", "x2"]
    whole, sizes = pkrr(), {"landmarks": 20, "big": 0, "rough": 0}
    whole.run(*rows, frames[4].toPandas()["w"].to_numpy())
    found = nystream_spark.fit(dotted, pkrr(), names, "y.0", weight="w.")
    assert_allclose(found.predict(rows[0]), whole.predict(rows[0]), rtol=0, atol=1e-10)
    model = nystream_spark.fit_auto(dotted, "y.0", features=names, weight="w.", **sizes)
    answered = nystream_spark.predict(dotted, model).toPandas()
    assert_allclose(answered["prediction"], model.predict(answered[names]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("learner", [nystream.Perceptron(Gaussian(1.0)), nystream.Auto(), nystream.FOGD(Gaussian(1.0))])
def test_a_learner_that_cannot_merge_is_refused_by_name_with_the_way_out(frames, learner):
    with pytest.raises(nystream.Unable, match=rf"^{type(learner).__name__} cannot merge: .*per_key.*PKRR"):
        nystream_spark.fit(frames[4], learner, FEATURES, "y")
