"""The law of threads: a server asks one learner from several threads at once, and each gets what it would get alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from laws.cases import Variant, assert_bits, assert_state
from laws.registry import law

THREADS = 4
CALLS = 6  # of each thread: blocks and single rows in turn


@law()
def predict_from_four_threads_equals_predict(variant: Variant) -> None:
    learner = variant.make()
    variant.stream()[:60].into(learner)
    before = learner.to_bytes()
    answers_alike(learner.predict, variant.stream(n=100, seed=1).X)
    assert_state(learner, before)


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
