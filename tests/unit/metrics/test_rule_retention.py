"""Rules that are kept."""

from __future__ import annotations

import random

import pytest

from baskets import SCHEMA, measured, table_of
from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.errors import PolicyError
from sfumato.metrics import measure_all
from sfumato.metrics.rule_retention import RuleRetention


def test_without_sensitive_items_rules_among_the_others_stay():
    baskets = [set(random.Random(row).choices("abcde", k=3)) for row in range(80)]
    rules = measured(RuleRetention(column="basket", support="0.05"), baskets, [b - {"b", "d"} for b in baskets])

    for row in rules.facts["confidences"]:
        assert row["nothing_sensitive"]["jaccard"] == 1
    first = rules.facts["confidences"][0]
    assert first["nothing_sensitive"]["before"] > 0
    assert first["consequent_not_sensitive"]["jaccard"] < 1


@pytest.mark.parametrize("options", [{"support": 0}, {"confidences": (1.5,)}, {"longest": 1}, {"confidences": ()}])
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(PolicyError):
        RuleRetention(column="basket", **options)


def test_an_unchanged_table_keeps_all_rules(baskets):
    rules = measured(RuleRetention(column="basket"), baskets, baskets)

    assert rules.value == 1
    assert all(row["nothing_sensitive"]["jaccard"] == 1 for row in rules.facts["confidences"])


def test_items_are_measured_where_there_are_some():
    dataset = encode(table_of(["ab", "cd"]), SCHEMA)
    names = [found.name for found in measure_all(dataset, Release.from_table(table_of(["a", "cd"]), SCHEMA))]

    assert {"item-loss", "rule-retention"} <= set(names)
