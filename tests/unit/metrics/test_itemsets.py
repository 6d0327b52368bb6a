"""Frequent sets of items and their rules, against slow and obvious counting."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.items.itemsets import BOTH, PLAIN_CONSEQUENT
from sfumato.kernels.items.supports import item_codes
from sfumato.metrics.itemsets import frequent_itemsets, rules_of

baskets_of = st.lists(st.sets(st.integers(0, 6), max_size=5), min_size=1, max_size=25)


def slow_itemsets(baskets, least, longest):
    found = Counter(
        chosen
        for basket in baskets
        for size in range(1, longest + 1)
        for chosen in itertools.combinations(sorted(basket), size)
    )
    return {chosen: count for chosen, count in found.items() if count >= least}


def coded(baskets):
    start = np.cumsum([0, *map(len, baskets)]).astype(np.int64)
    return start, np.array([item for basket in baskets for item in sorted(basket)], dtype=np.int32)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(baskets=baskets_of, least=st.integers(1, 4), longest=st.integers(1, 5))
def test_frequent_itemsets_equal_a_slow_count(baskets, least, longest):
    found = frequent_itemsets(*coded(baskets), 7, least=least, longest=longest, most=10_000)
    sets = {
        tuple(sorted(found.members[i, : found.size[i]].tolist())): int(found.support[i]) for i in range(found.size.size)
    }

    assert found.complete
    assert len(sets) == found.size.size
    assert sets == slow_itemsets(baskets, least, longest)


@settings(max_examples=100, deadline=None)
@given(baskets=baskets_of, confidence=st.sampled_from([Fraction(3, 10), Fraction(7, 10), Fraction(1), Fraction(1, 2)]))
def test_rules_equal_a_slow_count(baskets, confidence):
    sensitive = np.array([False, True, False, True, False, False, False])
    itemsets = frequent_itemsets(*coded(baskets), 7, least=2, longest=4, most=10_000)
    keys, kind, _ = rules_of(itemsets, sensitive, item_codes(7), (confidence.numerator, confidence.denominator))
    supports = slow_itemsets(baskets, 2, 4)
    expected = Counter()
    for chosen, count in supports.items():
        for size in range(1, len(chosen)):
            for known in itertools.combinations(chosen, size):
                secret = any(sensitive[item] for item in set(chosen) - set(known))
                if not secret and Fraction(count, supports[known]) >= confidence:
                    expected[PLAIN_CONSEQUENT if any(sensitive[item] for item in chosen) else BOTH] += 1

    assert Counter(kind.tolist()) == expected
    assert np.unique(keys).size == keys.size


def test_too_many_itemsets_are_cut_off_and_said_so():
    found = frequent_itemsets(*coded([{0, 1, 2, 3}] * 3), 7, least=2, longest=4, most=5)

    assert not found.complete
    assert found.size.size == 5
