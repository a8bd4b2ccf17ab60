"""The laws that every learner of the catalogue obeys. A new learner is tested by adding its row to the catalogue.

Each law takes a maker of fresh, equal learners and a small stream, and raises AssertionError where it is broken.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.learners.base import Learner
from nystream.params import Params

Maker = Callable[[], Learner]
CLOSE = {"rtol": 1e-8, "atol": 1e-9}  # blocks and rows do the same arithmetic in another order


def stream_for(learner: Learner, n: int = 90, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A nonlinear stream with labels of the learner's kind, repeats of earlier points among it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 2 : n // 2 + 5] = X[:5]
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    if learner.labels == "sign":
        return X, np.where(f >= 0, 1.0, -1.0)
    if learner.labels == "class":
        return X, np.digitize(f, [-0.3, 0.3]).astype(float)
    return X, 0.5 * f


def other_label(learner: Learner, y: float) -> float:
    if learner.labels == "class":
        return (y + 1) % 3
    return -y if y else 0.5


def by_steps(learner: Learner, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return pad([learner.step(x, y) for x, y in zip(X, Y, strict=True)])


def pad(rows: list[Any]) -> np.ndarray:
    """Predictions of single steps as one array; the score of a class unknown at the time is -inf."""
    if np.ndim(rows[0]) == 0:
        return np.array(rows)
    wide = max(len(r) for r in rows)
    return np.array([np.r_[r, np.full(wide - len(r), -np.inf)] for r in rows])


def law_predict_changes_nothing(make: Maker) -> None:
    learner = make()
    X, Y = stream_for(learner)
    learner.run(X[:60], Y[:60])
    before = learner.to_bytes()
    first = learner.predict(X)
    assert_array_equal(first, learner.predict(X))
    learner.predict(10 * X[::-1])
    assert learner.to_bytes() == before


def law_two_labels_one_prediction(make: Maker) -> None:
    one, two = make(), make()
    X, Y = stream_for(one)
    for learner in (one, two):
        learner.run(X[:60], Y[:60])
    for t in range(60, 63):
        twin = copy.deepcopy(one)
        assert_array_equal(one.step(X[t], Y[t]), twin.step(X[t], other_label(one, Y[t])))


def law_run_equals_the_loop_of_step(make: Maker) -> None:
    block, rows = make(), make()
    X, Y = stream_for(block)
    assert_allclose(block.run(X, Y), by_steps(rows, X, Y), **CLOSE)
    assert_allclose(block.predict(X), rows.predict(X), **CLOSE)
    assert block.n_seen == rows.n_seen == len(X)
    assert block.size == rows.size


def law_cutting_into_other_blocks_changes_nothing(make: Maker) -> None:
    whole = make()
    X, Y = stream_for(whole)
    expected = whole.run(X, Y)
    for size in (1, 7, 64):
        learner = make()
        parts = [learner.run(X[i : i + size], Y[i : i + size]) for i in range(0, len(X), size)]
        got = pad([row for part in parts for row in part])
        assert_allclose(got, expected, **CLOSE)


def law_save_load_and_go_on(make: Maker, path: Any) -> None:
    stayed = make()
    X, Y = stream_for(stayed)
    for cut in (0, 13, 60):
        stayed = make()
        if cut:
            stayed.run(X[:cut], Y[:cut])
        stayed.save(path)
        resumed = nystream.load(path)
        assert repr(resumed) == repr(stayed)
        assert resumed.n_seen == stayed.n_seen
        assert_array_equal(resumed.run(X[cut:], Y[cut:]), stayed.run(X[cut:], Y[cut:]))
        assert_array_equal(resumed.predict(X), stayed.predict(X))
        assert resumed.to_bytes() == stayed.to_bytes()
        again = nystream.from_bytes(stayed.to_bytes())
        assert_array_equal(again.predict(X), stayed.predict(X))


def law_same_seed_same_bits(make: Maker) -> None:
    one, two = make(), make()
    X, Y = stream_for(one)
    assert_array_equal(one.run(X, Y), two.run(X, Y))
    assert one.to_bytes() == two.to_bytes()


def law_memory_layout_changes_no_bit(make: Maker) -> None:
    plain, other = make(), make()
    X, Y = stream_for(plain)
    X = X.astype(np.float32).astype(float)
    expected = plain.run(X, Y)
    assert_array_equal(other.run(np.asfortranarray(X.astype(np.float32)), list(Y)), expected)
    assert other.to_bytes() == plain.to_bytes()


def law_a_clone_shares_no_memory(make: Maker) -> None:
    learner = make()
    X, Y = stream_for(learner)
    learner.run(X[:60], Y[:60])
    fresh, twin = learner.clone(), copy.deepcopy(learner)
    assert fresh.n_seen == 0
    assert fresh.size <= make().size
    assert_array_equal(fresh.run(X, Y), make().run(X, Y))
    before = learner.to_bytes()
    assert twin.to_bytes() == before == pickle.loads(pickle.dumps(learner)).to_bytes()
    twin.run(X[60:], Y[60:])
    assert learner.to_bytes() == before
    mine = [id(a) for a in arrays(learner)]
    assert not any(np.shares_memory(a, b) for a in arrays(learner) for b in arrays(twin))
    assert len(mine) > 0


def arrays(part: Params) -> list[np.ndarray]:
    """Every array of the state, parts of parts included."""
    found: list[np.ndarray] = []
    for value in part._state().values():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, np.ndarray):
                found.append(item)
            elif isinstance(item, Params):
                found += arrays(item)
    return found


def law_size_stays_within_the_declared_budget(make: Maker) -> None:
    learner = make()
    X, Y = stream_for(learner, n=200)
    params = learner.get_params(deep=False)
    limits = [params[k] for k in ("budget", "max_atoms", "max_points", "landmarks") if isinstance(params.get(k), int)]
    learner.run(X[:100], Y[:100])
    for x, y in zip(X[100:], Y[100:], strict=True):
        learner.step(x, y)
        assert all(learner.size <= limit for limit in limits)
    assert learner.size > 0
    assert learner.nbytes > 0


def law_bad_input_is_refused_and_changes_nothing(make: Maker) -> None:
    learner = make()
    X, Y = stream_for(learner)
    learner.run(X[:40], Y[:40])
    before = learner.to_bytes()
    spoilt = X[40:50].copy()
    spoilt[3, 1] = np.nan if not learner.missing else np.inf
    bad_labels = Y[40:50].copy()
    bad_labels[7] = np.inf
    for block, labels in [
        (spoilt, Y[40:50]),
        (np.where(np.isnan(spoilt), -np.inf, spoilt), Y[40:50]),
        (X[40:50, :2], Y[40:50]),
        *([(X[40:50], Y[40:49]), (X[40:50], bad_labels)] if learner.labels != "none" else []),
        *([(X[40:50], np.full(10, 0.5))] if learner.labels in ("sign", "class") else []),
    ]:
        with pytest.raises(ValueError, match=r".{20}"):
            learner.run(block, labels)
    with pytest.raises(ValueError, match=r"x has (nan|inf) at row 0, column 1"):
        learner.step(spoilt[3], Y[43])
    with pytest.raises(ValueError, match="columns"):
        learner.predict(X[:, :2])
    assert learner.to_bytes() == before
    assert learner.n_seen == 40


def law_hard_points_give_finite_numbers(make: Maker) -> None:
    learner = make()
    X, Y = stream_for(learner, n=40)
    hard = np.vstack([np.zeros((3, 3)), np.repeat(X[:1], 120, axis=0), X[:1] + 1e-9, 1e6 * X[:6], X])
    Y = np.resize(Y, len(hard))
    if learner.labels == "real":
        Y[0] = 0.0
    assert not np.isnan(learner.run(hard, Y)).any()
    assert np.isfinite(learner.predict(hard)).all()


def law_shapes_and_counts(make: Maker) -> None:
    learner = make()
    X, Y = stream_for(learner)
    assert learner.predict(X).shape[0] == len(X)
    assert learner.n_seen == 0
    P = learner.run(X, Y)
    assert P.dtype == np.float64
    assert P.shape == learner.predict(X).shape
    assert learner.run(X[:0], Y[:0]).shape == P[:0].shape
    p = learner.step(X[0], Y[0])
    assert isinstance(p, float) if P.ndim == 1 else p.shape == P.shape[1:]
    assert learner.n_seen == len(X) + 1


def law_parameters_round_trip(make: Maker) -> None:
    learner = make()
    X, Y = stream_for(learner)
    learner.run(X, Y)
    params = learner.get_params(deep=False)
    rebuilt = type(learner)(**params)
    assert all(rebuilt.get_params(deep=False)[k] is v for k, v in params.items())
    learner.set_params(**params)
    assert learner.n_seen == 0
    with pytest.raises(ValueError, match="has no parameter 'nonsense'"):
        learner.set_params(nonsense=1)


def law_merge_is_exact_or_refused(make: Maker) -> None:
    left, right = make(), make()
    X, Y = stream_for(left)
    left.run(X[:50], Y[:50])
    right.run(X[50:], Y[50:])
    before = left.to_bytes()
    if not left.can("merge"):
        with pytest.raises(TypeError, match=type(left).__name__):
            left.merge(right)
        assert left.to_bytes() == before
        return
    left.merge(right)
    whole = make()
    whole.run(X, Y)
    assert_allclose(left.predict(X), whole.predict(X), **CLOSE)
    assert left.n_seen == len(X)


LAWS: dict[str, Callable[..., None]] = {
    name.removeprefix("law_"): law for name, law in list(globals().items()) if name.startswith("law_")
}
