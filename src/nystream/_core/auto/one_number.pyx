# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row with numbers as labels through a generation: what its `learn` does, without the interpreter between."""
cimport numpy as cnp

from nystream._core.auto.arrays cimport array
from nystream._core.auto.asked cimport answers
from nystream._core.auto.heard cimport gathered
from nystream._core.auto.lags cimport lagged
from nystream._core.auto.members cimport mix_targets
from nystream._core.auto.stacking cimport ridge_rounds
from nystream._core.auto.targets cimport entered

cnp.import_array()


def learn_one(generation, cnp.ndarray X, cnp.ndarray Y, double around, cnp.ndarray paces, double eta, double share,
              double rate, double reach):
    """What `Targets.entered`, `Bank.run` and `Stack.run` make of a row X (1, D) with admitted labels Y (1, K): what
    `mix_targets` returns. None, and nothing done, where there are no experts yet, or competitors beside them.

    around, paces, eta, share, rate, reach: the constants of those three.
    """
    bank, stack, targets = generation.bank_, generation.stack_, generation.targets_
    if not bank.experts_ or bank.others_:
        return None
    stacker = stack.stacker_
    cdef cnp.ndarray shift = array(targets.shift_), scale = array(targets.scale_), lags = array(bank.lags_), T, F, G, S
    cdef cnp.ndarray experts = array(stack.expert_shares_), members = array(stack.member_shares_), known = None
    cdef Py_ssize_t seen = stacker.seen_ + 1, early = stack.early_, last = -1
    T, low, high = entered(Y, array(targets.low_), array(targets.high_), shift, scale, around)
    past = lagged(T, lags, paces) if cnp.PyArray_SIZE(lags) else None
    rows = bank._augmented(X) if len(bank.holes_) else X
    asked, views = bank._in_turn()
    F = answers(asked, views, rows, bank._changing(rows, past) if "change" in bank.seen_in_ else None, T)
    if stack.lags:
        known = array(stack.lags_)
    G = gathered(F, 0, low, high, shift, scale, None, True, known, paces, T)
    S = ridge_rounds(G, array(stacker.weights_), T, None, array(stacker.new_gram_), array(stacker.new_sums_))
    if seen < stacker.block:
        stacker.seen_ = seen
    else:
        stacker._count(1)
    if early:
        stack.early_ = early - 1
    if cnp.PyArray_DIM(members, 1) > cnp.PyArray_DIM(S, 1) + 1:    # the last label is a member
        last = cnp.PyArray_DIM(experts, 1) + <Py_ssize_t> stack.more_
    return mix_targets(G, S, experts, members, last, stack.aside_, array(bank.recipe._steady), low, high, shift, scale,
                       eta, share, T, None, array(stack.recent_), rate, reach, early)
