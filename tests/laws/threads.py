"""The laws of threads.

A server asks one learner from several threads at once, and each gets what it would get alone. A learner that learns in
threads learns the same in one, two or four of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from laws.cases import Variant, around, assert_bits, assert_state
from laws.registry import law
from nystream.runtime.threads import VARIABLE

THREADS = 4
CALLS = 6  # of each thread: blocks and single rows in turn


@law()
def predict_from_four_threads_equals_predict(variant: Variant) -> None:
    learner = variant.make()
    variant.stream()[:60].into(learner)
    before = learner.to_bytes()
    answers_alike(learner.predict, variant.stream(n=100, seed=1).X)
    assert_state(learner, before)


def learns_in_threads(variant: Variant) -> bool:
    """Whether the learner, or one inside it, says so by its parameter."""
    return any("threads" in learner.get_params(deep=False) for learner in around(variant.pattern))


@law(learns_in_threads)
def one_two_and_four_threads_give_the_same_bits(variant: Variant) -> None:
    rows = variant.stream(n=200)
    found = []
    with pytest.MonkeyPatch.context() as environment:
        for count in (1, 2, 4):
            environment.setenv(VARIABLE, str(count))  # a worker of pytest-xdist has one thread otherwise
            learner = variant.make()
            found.append((rows[:150].into(learner), rows[150:].into(learner), learner.to_bytes(), learner))
    for first, second, _, learner in found[1:]:
        assert_bits(first, found[0][0])
        assert_bits(second, found[0][1])
        assert_state(learner, found[0][2])


def answers_alike(ask: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> None:
    """A question about rows: every thread has rows of its own, so that one in the other's way shows."""
    rows = [np.ascontiguousarray(np.roll(X, 7 * i, axis=0)[i:]) for i in range(THREADS)]
    alone = [(ask(own), ask(own[:1])) for own in rows]
    together = Barrier(THREADS)

    def call(i: int) -> list[tuple[np.ndarray, np.ndarray]]:
        together.wait()
        return [(ask(rows[i]), ask(rows[i][:1])) for _ in range(CALLS)]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # the interpreter changes threads as often as it can
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(call, range(THREADS)))
    finally:
        sys.setswitchinterval(before)
    for (block, row), answered in zip(alone, answers, strict=True):
        for got_block, got_row in answered:
            assert_bits(got_block, block)
            assert_bits(got_row, row)
