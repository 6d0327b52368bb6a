"""Equation 1 of the paper on partial suppression, and what a plan may set of queries and rules."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import PolicyError
from sfumato.metrics import SuppressionObjective

SCHEMA = Schema({"b": ColumnSpec(name="b", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("d",))})
RULES = {"support": "0.2", "confidences": ("0.5",), "longest": 3}


def rules_of(baskets):
    """Return every rule X -> Y of up to three items, Y without the sensitive one, by counting."""
    found = set()
    for size in (2, 3):
        for items in combinations("abcd", size):
            both = sum(set(items) <= basket for basket in baskets)
            for left in (some for n in range(1, size) for some in combinations(items, n)):
                right = set(items) - set(left)
                known = sum(set(left) <= basket for basket in baskets)
                if "d" not in right and 5 * both >= len(baskets) and both and 2 * both >= known:
                    found.add((frozenset(left), frozenset(right)))
    return found


def objectives(before, after):
    """Return both objectives, by the paper's definitions."""
    counts = [Counter(item for basket in side for item in basket) for side in (before, after)]
    totals = [sum(count.values()) for count in counts]
    lost = 1 - totals[1] / totals[0]
    shares = [{item: count[item] / total for item in count} for count, total in zip(counts, totals, strict=True)]
    divergence = sum(share * math.log(share / shares[0][item]) for item, share in shares[1].items() if share)
    rules = [rules_of(side) for side in (before, after)]
    either = len(rules[0] | rules[1])
    jaccard = len(rules[0] & rules[1]) / either if either else 1.0
    return lost * divergence, lost / (jaccard or 1 / either)


def test_both_objectives_are_those_of_the_paper():
    rng = random.Random(2)
    without = 0
    for _ in range(40):
        before = [set(rng.sample("abcd", rng.randrange(1, 5))) for _ in range(10)]
        after = [{item for item in basket if rng.random() < 0.8} | {min(basket)} for basket in before]
        dataset = encode(pa.table({"b": list(map(sorted, before))}), SCHEMA)
        release = Release.from_table(pa.table({"b": list(map(sorted, after))}), SCHEMA)
        found = {
            goal: SuppressionObjective(column="b", goal=goal, rules=RULES).measure(dataset, release)
            for goal in ("distribution", "rules")
        }

        assert [found[goal].value for goal in found] == pytest.approx(list(objectives(before, after)))
        without += bool(found["rules"].note)
        assert bool(found["rules"].note) == (not rules_of(before) & rules_of(after) and bool(rules_of(before)))
    assert without < 40


def test_goals_are_two():
    with pytest.raises(PolicyError, match="distribution, rules"):
        SuppressionObjective(column="b", goal="loss")


def plan_of(**measure):
    return sf.Plan.from_dict(
        {
            "columns": {
                "age": {"role": "quasi-identifier"},
                "sex": {"role": "quasi-identifier"},
                "b": {"role": "items", "kind": "set", "sensitive_items": ["d"]},
            },
            "require": [{"model": "rho-uncertainty", "column": "b", "rho": 0.5}],
            "measure": measure,
        }
    )


def test_a_plan_sets_queries_and_rules():
    rng = random.Random(1)
    people = pa.table(
        {
            "age": [rng.randrange(20, 60) for _ in range(60)],
            "sex": [rng.choice("fm") for _ in range(60)],
            "b": [sorted(rng.sample("abcd", 2)) for _ in range(60)],
        }
    )
    plan = plan_of(
        queries=40, query_columns=2, query_selectivity=0.2, rule_support="1/20", rule_confidences=[0.2], rule_length=2
    )
    found = {(each.name, each.facts.get("goal")): each.facts for each in sf.anonymize(people, plan).measurements}

    queries, rules = found["query-error", None], found["rule-retention", None]
    assert queries["selectivity"] == 0.2
    assert [(each["columns"], each["queries"] + each["empty"]) for each in queries["dimensions"]] == [(2, 40)]
    assert (rules["support"], rules["longest"]) == (0.05, 2)
    assert [row["confidence"] for row in rules["confidences"]] == [0.2]
    assert (
        found["suppression-objective", "rules"]["jaccard"]
        == rules["confidences"][-1]["consequent_not_sensitive"]["jaccard"]
    )
    assert Fraction(plan.measure.rule_support) == Fraction(1, 20)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"query_columns": [0]}, "whole numbers of at least 1"),
        ({"query_columns": []}, "whole numbers of at least 1"),
        ({"rule_confidences": [0.3, 2]}, "shares, more than 0 and at most 1"),
        ({"queries": 0}, "queries of [measure]"),
        ({"query_selectivity": 0}, "query_selectivity"),
        ({"rule_length": 1}, "from 2 to 10"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong, said):
    with pytest.raises(sf.PlanError) as caught:
        plan_of(**wrong)

    assert said in str(caught.value)
