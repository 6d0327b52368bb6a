"""Loss of items and rules that are kept, against slow and obvious counting."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.kernels.items.itemsets import BOTH, PLAIN_CONSEQUENT
from sfumato.kernels.items.supports import item_codes
from sfumato.metrics import ItemLoss, RuleRetention, measure_all
from sfumato.metrics.itemsets import frequent_itemsets, rules_of

SPEC = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("b", "d"))
SCHEMA = Schema({"basket": SPEC})
baskets_of = st.lists(st.sets(st.integers(0, 6), max_size=5), min_size=1, max_size=25)


def table_of(baskets):
    return pa.table({"basket": pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))})


def measured(metric, before, after):
    return metric.measure(encode(table_of(before), SCHEMA), Release.from_table(table_of(after), SCHEMA))


def coded(baskets):
    start = np.cumsum([0, *map(len, baskets)]).astype(np.int64)
    return start, np.array([item for basket in baskets for item in sorted(basket)], dtype=np.int32)


def slow_itemsets(baskets, least, longest):
    found = Counter(
        chosen
        for basket in baskets
        for size in range(1, longest + 1)
        for chosen in itertools.combinations(sorted(basket), size)
    )
    return {chosen: count for chosen, count in found.items() if count >= least}


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
    keys, kind = rules_of(itemsets, sensitive, item_codes(7), (confidence.numerator, confidence.denominator))
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


def test_loss_is_counted_by_hand():
    before = ["ab", "ab", "bd", "acd"]
    after = ["a", "ab", "d", "acd"]
    facts = measured(ItemLoss(column="basket"), before, after).facts

    assert (facts["occurrences_before"], facts["occurrences"], facts["withheld"]) == (9, 7, 2)
    assert (facts["sensitive_before"], facts["sensitive_withheld"]) == (5, 2)
    assert facts["relative_to_dropping_all_sensitive"] == 2 / 5
    p = {"a": 3 / 9, "b": 3 / 9, "c": 1 / 9, "d": 2 / 9}
    q = {"a": 3 / 7, "b": 1 / 7, "c": 1 / 7, "d": 2 / 7}
    assert facts["kl_divergence"] == pytest.approx(sum(q[i] * math.log(q[i] / p[i]) for i in p))
    middle = {i: (p[i] + q[i]) / 2 for i in p}
    halves = (sum(side[i] * math.log(side[i] / middle[i]) for i in p) for side in (p, q))
    assert facts["symmetric_divergence"] == pytest.approx(sum(halves) / 2)
    assert facts["frequencies"][0] == {"item": "a", "sensitive": False, "before": 3, "after": 3}


def test_an_unchanged_table_loses_nothing():
    baskets = [set(random.Random(row).choices("abcde", k=3)) for row in range(50)]
    loss, rules = (
        measured(metric, baskets, baskets) for metric in (ItemLoss(column="basket"), RuleRetention(column="basket"))
    )

    assert loss.value == loss.facts["kl_divergence"] == loss.facts["symmetric_divergence"] == 0
    assert rules.value == 1
    assert all(row["nothing_sensitive"]["jaccard"] == 1 for row in rules.facts["confidences"])


def test_without_sensitive_items_rules_among_the_others_stay():
    baskets = [set(random.Random(row).choices("abcde", k=3)) for row in range(80)]
    rules = measured(RuleRetention(column="basket", support="0.05"), baskets, [b - {"b", "d"} for b in baskets])

    for row in rules.facts["confidences"]:
        assert row["nothing_sensitive"]["jaccard"] == 1
    first = rules.facts["confidences"][0]
    assert first["nothing_sensitive"]["before"] > 0
    assert first["consequent_not_sensitive"]["jaccard"] < 1


def test_labels_that_the_original_does_not_have_count_as_lost():
    facts = measured(ItemLoss(column="basket"), ["ab", "cd"], [["a..c"], ["a..c", "d"]]).facts

    assert (facts["withheld"], facts["new_labels"]) == (3, 1)


def test_items_are_measured_where_there_are_some():
    dataset = encode(table_of(["ab", "cd"]), SCHEMA)
    names = [found.name for found in measure_all(dataset, Release.from_table(table_of(["a", "cd"]), SCHEMA))]

    assert {"item-loss", "rule-retention"} <= set(names)


@pytest.mark.parametrize("options", [{"support": 0}, {"confidences": (1.5,)}, {"longest": 1}, {"confidences": ()}])
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(PolicyError):
        RuleRetention(column="basket", **options)


def test_another_column_is_an_error():
    with pytest.raises(DataError, match="no column of items"):
        measured(ItemLoss(column="other"), ["ab"], ["ab"])
