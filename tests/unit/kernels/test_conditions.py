"""The compiled test of a group against the definitions, written out slowly with fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.classes import conditions as module
from sfumato.kernels.classes.conditions import (
    DISTINCT,
    ENTROPY,
    EQUAL,
    EXACT,
    FREQUENCY,
    HIERARCHICAL,
    LIMITED,
    ORDERED,
    RECURSIVE,
    Condition,
    holds,
    make_conditions,
)

HELPERS = ("first_failing",)
# Six values below three nodes below a root; the last value hangs directly below the root, as missing values do.
PARENT = (6, 6, 7, 7, 7, 8, 8, 8, -1)
LEVEL = (0, 0, 0, 0, 0, 0, 1, 2, 3)
# The same six values in another order, among nine that could occur.
RANK = (4, 1, 2, 8, 5, 7)
PLACES = 9


@pytest.fixture(params=["compiled", "plain"])
def test_of(request, monkeypatch):
    if request.param == "compiled":
        return holds
    for name in HELPERS:
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    return holds.py_func


def slow(condition, counts, reference):
    """The definition; None when only the exact tie of an entropy could decide."""
    size, rows = sum(counts), sum(reference)
    if condition.kind == DISTINCT:
        return sum(count > 0 for count in counts) >= condition.l
    if condition.kind == ENTROPY:
        entropy = -sum(count / size * math.log(count / size) for count in counts if count)
        near = abs(entropy - math.log(condition.bound)) < 1e-8
        present = [count for count in counts if count]
        tie = len(set(present)) == 1 and len(present) == condition.bound
        return (True if tie else None) if near else entropy > math.log(condition.bound)
    if condition.kind == RECURSIVE:
        falling = sorted(counts, reverse=True)
        return falling[0] < condition.bound * sum(falling[condition.l - 1 :])
    if condition.kind == FREQUENCY:
        return condition.bound * max(counts) <= size
    if condition.kind == LIMITED:
        limits = zip(counts, condition.shares, strict=True)
        return size == rows or all(low <= Fraction(count, size) <= high for count, (low, high) in limits)
    difference = [Fraction(c, size) - Fraction(p, rows) for c, p in zip(counts, reference, strict=True)]
    if condition.kind == EQUAL:
        return sum(map(abs, difference)) / 2 <= condition.bound
    if condition.kind == ORDERED:
        before = [sum(d for d, r in zip(difference, RANK, strict=True) if r <= place) for place in range(PLACES)]
        return sum(map(abs, before)) / (PLACES - 1) <= condition.bound

    def below(leaf, node):
        return leaf == node or (leaf >= 0 and below(PARENT[leaf], node))

    distance = Fraction(0)
    for node in range(len(PARENT) - 1):
        mass = sum(d for leaf, d in enumerate(difference) if below(leaf, node))
        distance += Fraction(LEVEL[PARENT[node]] - LEVEL[node], 2 * LEVEL[-1]) * abs(mass)
    return distance <= condition.bound


fractions = st.builds(Fraction, st.integers(0, 12), st.integers(1, 9))
shares = st.builds(lambda a, b: min(Fraction(a, b), Fraction(1)), st.integers(0, 9), st.integers(1, 9))
conditions_on = {
    DISTINCT: st.builds(lambda j, l: Condition(DISTINCT, j, l), st.integers(0, 1), st.integers(1, 7)),
    ENTROPY: st.builds(
        lambda j, l: Condition(ENTROPY, j, bound=l), st.integers(0, 1), st.sampled_from([2, 3, 2.5, 1.1, 4, 6])
    ),
    RECURSIVE: st.builds(
        lambda j, l, c: Condition(RECURSIVE, j, l, c), st.integers(0, 1), st.integers(1, 7), fractions
    ),
    FREQUENCY: st.builds(lambda j, l: Condition(FREQUENCY, j, bound=l), st.integers(0, 1), fractions),
    LIMITED: st.builds(
        lambda j, pairs: Condition(LIMITED, j, shares=[(min(pair) / 4, max(pair)) for pair in pairs]),
        st.integers(0, 1),
        st.lists(st.tuples(shares, shares), min_size=6, max_size=6),
    ),
    EQUAL: st.builds(lambda j, t: Condition(EQUAL, j, bound=t), st.integers(0, 1), shares),
    ORDERED: st.builds(
        lambda j, t: Condition(ORDERED, j, bound=t, rank=RANK, places=PLACES), st.integers(0, 1), shares
    ),
    HIERARCHICAL: st.builds(
        lambda j, t: Condition(HIERARCHICAL, j, bound=t, parent=PARENT, level=LEVEL), st.integers(0, 1), shares
    ),
}


@st.composite
def groups(draw):
    """Two columns of six values for the same rows: a group and the rest of the table."""
    pairs = st.tuples(st.integers(0, 5), st.integers(0, 5))
    group = draw(st.lists(pairs, min_size=1, max_size=14))
    rest = draw(st.lists(pairs, max_size=20))

    def tally(rows):
        return [[sum(row[j] == value for row in rows) for value in range(6)] for j in (0, 1)]

    return tally(group), tally(group + rest)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=groups(), wanted=st.lists(st.one_of(*conditions_on.values()), max_size=3), k=st.integers(1, 8))
def test_a_group_passes_exactly_when_every_definition_holds(data, wanted, k):
    counts, reference = data
    conditions = make_conditions(k, sum(reference[0]), reference, wanted)
    histogram = np.array(counts[0] + counts[1], dtype=np.int64)
    size = sum(counts[0])

    passes = holds(conditions, histogram, size)

    expected = [slow(condition, counts[condition.column], reference[condition.column]) for condition in wanted]
    if size < k or False in expected:
        assert not passes
    elif None not in expected:
        assert passes


@pytest.mark.parametrize("kind", sorted(conditions_on))
def test_compiled_and_plain_tests_agree(kind, monkeypatch):
    rng = np.random.default_rng(kind)
    cases = []
    for _ in range(60):
        reference = rng.integers(1, 20, size=6)
        group = rng.integers(0, reference + 1)
        group[0] = max(group[0], 1)
        condition = {
            DISTINCT: Condition(DISTINCT, 0, int(rng.integers(1, 7))),
            ENTROPY: Condition(ENTROPY, 0, bound=Fraction(int(rng.integers(2, 12)), 2)),
            RECURSIVE: Condition(RECURSIVE, 0, int(rng.integers(1, 5)), Fraction(int(rng.integers(1, 9)), 3)),
            FREQUENCY: Condition(FREQUENCY, 0, bound=Fraction(int(rng.integers(1, 12)), 3)),
            LIMITED: Condition(
                LIMITED, 0, shares=[(Fraction(1, 50), Fraction(int(top), 9)) for top in rng.integers(2, 9, 6)]
            ),
            EQUAL: Condition(EQUAL, 0, bound=Fraction(int(rng.integers(1, 9)), 20)),
            ORDERED: Condition(ORDERED, 0, bound=Fraction(int(rng.integers(1, 9)), 30), rank=RANK, places=PLACES),
            HIERARCHICAL: Condition(
                HIERARCHICAL, 0, bound=Fraction(int(rng.integers(1, 9)), 20), parent=PARENT, level=LEVEL
            ),
        }[kind]
        for huge in (False, True):  # a fraction with huge terms takes the branch on floats
            bound = condition.bound + Fraction(1, 10**40) if huge else condition.bound
            conditions = make_conditions(2, int(reference.sum()), [reference], [condition._replace(bound=bound)])
            assert conditions.table[0, EXACT] == (kind != ENTROPY and not huge)
            cases.append((conditions, group.astype(np.int64), int(group.sum())))
    compiled = [holds(*case) for case in cases]
    for name in HELPERS:
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    assert compiled == [holds.py_func(*case) for case in cases]
    assert len(set(compiled)) == 2  # neither always true nor always false


def test_an_exact_tie_of_the_entropy_passes_and_a_near_tie_fails(test_of):
    conditions = make_conditions(1, 2 * 10**9, [[10**9, 10**9]], [Condition(ENTROPY, 0, bound=2)])
    assert test_of(conditions, np.array([10**8, 10**8]), 2 * 10**8)
    assert not test_of(conditions, np.array([10**8 + 1, 10**8]), 2 * 10**8 + 1)


def test_the_recursive_comparison_is_strict(test_of):
    conditions = make_conditions(1, 27, [[9, 9, 9]], [Condition(RECURSIVE, 0, 2, Fraction(2))])
    assert not test_of(conditions, np.array([4, 1, 1]), 6)
    assert test_of(conditions, np.array([4, 2, 1]), 7)


def test_a_tie_of_the_distance_passes_on_whole_numbers_only(test_of):
    third = make_conditions(1, 3, [[2, 1]], [Condition(EQUAL, 0, bound=Fraction(1, 3))])
    near = make_conditions(1, 3, [[2, 1]], [Condition(EQUAL, 0, bound=Fraction(1, 3) + Fraction(1, 10**40))])
    assert test_of(third, np.array([1, 0]), 1)
    assert near.table[0, EXACT] == 0
    assert not test_of(near, np.array([1, 0]), 1)
    assert test_of(near, np.array([2, 1]), 3)


def test_a_tie_with_a_limit_passes_on_whole_numbers_only(test_of):
    exact, near = (
        make_conditions(1, 30, [[20, 10]], [Condition(LIMITED, 0, shares=[(0, Fraction(1)), (low, high)])])
        for low, high in ((Fraction(1, 3), Fraction(2, 3)), (1 / 3, 2 / 3))
    )
    assert [bool(test_of(exact, np.array(counts), 3)) for counts in ([3, 0], [2, 1], [1, 2], [0, 3])] == [0, 1, 1, 0]
    assert [bool(test_of(near, np.array(counts), 3)) for counts in ([2, 1], [1, 2])] == [0, 0]
    assert test_of(near, np.array([4, 4]), 8)
    assert test_of(near, np.array([20, 10]), 30)  # the whole table


def test_a_table_too_large_for_whole_numbers_is_compared_with_a_margin():
    rows = 2**31
    conditions = make_conditions(5, 2 * rows, [[rows, rows]], [Condition(EQUAL, 0, bound=Fraction(1, 10))])
    assert conditions.table[0, EXACT] == 0
    assert holds(conditions, np.array([2**30, 2**30]), 2**31)
    assert not holds(conditions, np.array([2**31, 2**30]), 2**31 + 2**30)


def test_no_condition_asks_for_k_rows_only():
    conditions = make_conditions(3, 9, [], [])
    assert conditions.size_only
    assert conditions.bars == 0
    assert holds(conditions, np.zeros(0, dtype=np.int64), 3)
    assert not holds(conditions, np.zeros(0, dtype=np.int64), 2)


@settings(deadline=None)
@given(data=groups(), wanted=st.lists(st.one_of(*conditions_on.values()), min_size=1, max_size=2), split=st.integers())
def test_the_union_of_two_passing_groups_passes(data, wanted, split):
    (first, _), reference = data
    conditions = make_conditions(
        1, sum(reference[0]), reference, [condition._replace(column=0) for condition in wanted]
    )
    rng = np.random.default_rng(split % 2**32)
    part = rng.integers(0, np.array(first) + 1)
    parts = [part, np.array(first) - part]
    passing = [
        p.sum() > 0 and bool(holds(conditions, np.concatenate([p, np.zeros(6, dtype=np.int64)]), int(p.sum())))
        for p in parts
    ]
    if all(passing):
        assert holds(conditions, np.array(first + [0] * 6, dtype=np.int64), sum(first))
