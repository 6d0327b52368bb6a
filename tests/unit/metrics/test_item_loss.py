"""Loss of items, counted by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from baskets import SCHEMA, SPEC, measured, table_of
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.release import Release
from sfumato.data.schema import Schema
from sfumato.errors import DataError
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.item_loss import ItemLoss, columns_of_items


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


def test_labels_that_the_original_does_not_have_count_as_lost():
    loss = measured(ItemLoss(column="basket"), ["ab", "cd"], [["a..c"], ["a..c", "d"]])

    assert (loss.value, loss.facts["withheld"], loss.facts["generalized"], loss.facts["new_labels"]) == (3 / 4, 1, 2, 1)


def test_general_labels_lose_by_what_lies_below_them_in_whatever_order_rows_are():
    spec = replace(SPEC, hierarchy=Given(Hierarchy.from_nested({"low": ["a", "c"], "high": ["e", "f", "h"]})))
    schema = Schema({"basket": spec})
    dataset = encode(table_of(["ab", "ce", "f", "a"]), schema)
    for after in ([["low", "b"], ["low", "high"], ["high"], ["a"]], [["a"], ["high"], ["low", "high"], ["low", "b"]]):
        loss = ItemLoss(column="basket").measure(dataset, Release.from_table(table_of(after), schema))

        assert (loss.facts["withheld"], loss.facts["generalized"]) == (0, 4)
        assert loss.value == pytest.approx((2 * 1 / 4 + 2 * 2 / 4) / 6)


def test_a_label_stands_for_all_items_of_a_record_below_it_where_none_of_them_is_shown():
    tree = Given(Hierarchy.from_nested({"low": ["a", "c"], "high": ["e", "f", "h"]}))
    schema = Schema({"basket": replace(SPEC, hierarchy=tree)})
    dataset = encode(table_of(["abc", "ce", "fh", "a"]), schema)
    for after, withheld, lost in (
        ([["low", "b"], ["low", "high"], ["high"], ["low"]], 0, 4 * 1 / 4 + 3 * 2 / 4),
        ([["low", "b"], ["low"], ["high"], ["low"]], 1, 1 + 4 * 1 / 4 + 2 * 2 / 4),  # 3 / 2 rounded to 2
        ([["low", "b"], ["low", "high"], ["high"], ["a"]], 1, 1 + 2 * 1 / 4 + 3 * 2 / 4),  # each low stands for one
    ):
        loss = ItemLoss(column="basket").measure(dataset, Release.from_table(table_of(after), schema))
        assert loss.facts["withheld"] == withheld
        assert loss.value == pytest.approx(lost / 8)


def test_items_of_which_none_is_sensitive_are_measured_as_well():
    schema = Schema({"basket": replace(SPEC, sensitive_items=None)})
    loss = ItemLoss(column="basket").measure(
        encode(table_of(["ab", "c"]), schema), Release.from_table(table_of(["a", "c"]), schema)
    )

    assert (loss.value, loss.facts["sensitive_before"]) == (1 / 3, 0)
    assert "sensitive" not in loss.explanation


def test_another_column_is_an_error():
    with pytest.raises(DataError, match="no column of items"):
        measured(ItemLoss(column="other"), ["ab"], ["ab"])


def test_an_unchanged_table_loses_nothing(baskets):
    loss = measured(ItemLoss(column="basket"), baskets, baskets)

    assert loss.value == loss.facts["kl_divergence"] == loss.facts["symmetric_divergence"] == 0


def test_only_columns_that_are_published_as_items_are_measured():
    dataset = encode(table_of(["ab", "cd"]), SCHEMA)

    release = Release.from_table(table_of(["a", "cd"]), SCHEMA)

    assert list(columns_of_items(Comparison(dataset, release))) == ["basket"]
    assert list(columns_of_items(Comparison(dataset, replace(release, columns={})))) == []
