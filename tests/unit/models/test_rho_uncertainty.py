"""The audit of rho-uncertainty against its definition, written out slowly."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.models import RhoUncertainty
from sfumato.models.base import Policy
from sfumato.models.judging import closed_sets as loops
from sfumato.models.rho_uncertainty import CAP

# Seven baskets of a drugstore; condoms are sensitive. At rho = 1/3 three rules are unsafe, two just safe.
DRUGSTORE = [
    {"bread", "milk", "condom"},
    {"bread", "milk"},
    {"milk", "condom"},
    {"flour", "fruits"},
    {"flour", "condom"},
    {"bread", "fruits"},
    {"fruits", "condom"},
]


def release_of(baskets, sensitive):
    spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=tuple(sensitive))
    cells = pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))
    return Release.from_table(pa.table({"basket": cells}), Schema({"basket": spec}))


def rules_of(baskets, sensitive, empty=False):
    """Return the confidence of every rule, by antecedent and sensitive item."""
    antecedents = {
        frozenset(known)
        for basket in baskets
        for size in range(0 if empty else 1, len(basket) + 1)
        for known in itertools.combinations(sorted(basket), size)
    }
    found = {}
    for known in antecedents:
        holders = [basket for basket in baskets if known <= basket]
        for item in set(sensitive) - known:
            found[known, item] = Fraction(sum(item in basket for basket in holders), len(holders))
    return found


def judged(baskets, sensitive, rho, empty=False):
    return RhoUncertainty(column="basket", rho=rho, empty_antecedent=empty).audit(release_of(baskets, sensitive))


@pytest.mark.parametrize("rho", [0, 1, -0.1, 1.5, "0", "3/2", "a third", None, True, "nan", "1/0"])
def test_rho_must_be_between_nothing_and_everything(rho):
    with pytest.raises(PolicyError, match="rho of rho-uncertainty"):
        RhoUncertainty(column="basket", rho=rho)


def test_rho_is_the_fraction_that_was_written():
    assert RhoUncertainty(column="basket", rho=0.3).exact_rho == Fraction(3, 10)
    assert RhoUncertainty(column="basket", rho="1/3").exact_rho == Fraction(1, 3)


def test_the_empty_antecedent_is_a_flag():
    with pytest.raises(PolicyError, match="true or false"):
        RhoUncertainty(column="basket", rho="1/3", empty_antecedent="yes")


def test_the_drugstore_has_three_unsafe_rules():
    unsafe = {rule: found for rule, found in rules_of(DRUGSTORE, ["condom"]).items() if found > Fraction(1, 3)}
    verdict = judged(DRUGSTORE, ["condom"], "1/3")

    assert unsafe == {
        (frozenset({"milk"}), "condom"): Fraction(2, 3),
        (frozenset({"bread", "milk"}), "condom"): Fraction(1, 2),
        (frozenset({"flour"}), "condom"): Fraction(1, 2),
    }
    assert rules_of(DRUGSTORE, ["condom"])[frozenset({"bread"}), "condom"] == Fraction(1, 3)
    assert (verdict.satisfied, verdict.failing) == (False, 3)
    assert verdict.facts["worst_rule"] == {"confidence": "2/3", "antecedent_size": 1}


def test_no_single_deletion_makes_the_drugstore_safe_but_two_do():
    for number, basket in enumerate(DRUGSTORE):
        for item in basket:
            spoiled = [*DRUGSTORE[:number], basket - {item}, *DRUGSTORE[number + 1 :]]
            assert not judged(spoiled, ["condom"], "1/3").satisfied
    one_type = [set(basket) for basket in DRUGSTORE]
    one_type[0].discard("condom")
    two_types = [set(basket) for basket in one_type]
    one_type[4].discard("condom")
    two_types[4].discard("flour")

    assert judged(one_type, ["condom"], "1/3").satisfied
    assert judged(two_types, ["condom"], "1/3").satisfied
    assert judged(one_type, ["condom"], "1/3", empty=True).satisfied  # 2 of 7 records
    assert not judged(two_types, ["condom"], "1/3", empty=True).satisfied  # 3 of 7


def test_a_confidence_of_exactly_rho_is_safe_and_one_record_more_is_not():
    baskets = [{"a", "e"}] * 3 + [{"a"}] * 7

    assert judged(baskets, ["e"], "0.3").satisfied
    assert judged(baskets, ["e"], 0.3).satisfied
    assert not judged([*baskets, {"a", "e"}], ["e"], "0.3").satisfied
    assert not judged(baskets, ["e"], "0.299999999999999999999999999999").satisfied  # more digits than a float has


def test_neither_the_shortest_nor_the_longest_antecedent_is_enough():
    short = [set("abe"), set("ace"), set("ade"), set("abcd")]
    long = [set("abe"), {"a"}, {"a"}, {"b"}, {"b"}]

    assert judged(short, ["e"], "0.7").reached == 0.75
    assert judged(long, ["e"], "0.7").reached == 1


def test_long_records_cost_no_more_than_their_intersections():
    long = {f"item {number}" for number in range(60)}
    verdict = judged([long | {"e"}] * 2 + [long] * 2, ["e"], "0.5")

    assert verdict.satisfied
    assert verdict.groups == 1


@pytest.mark.slow
@pytest.mark.parametrize("empty", [False, True])
def test_the_audit_equals_brute_force_on_random_tables(empty):
    rng = random.Random(17)
    safe = 0
    for _ in range(1500):
        items = "abcdefg"[: rng.randint(1, 7)]
        density = rng.choice([0.2, 0.4, 0.6, 0.8])
        baskets = [{item for item in items if rng.random() < density} for _ in range(rng.randint(1, 9))]
        sensitive = [item for item in items if rng.random() < 0.4]
        rho = rng.choice([Fraction(rng.randint(1, 9), 10), Fraction(1, 3), Fraction(2, 3)])
        confidence = rules_of(baskets, sensitive, empty)
        worst = max(confidence.values(), default=Fraction(0))

        verdict = judged(baskets, sensitive, rho, empty)

        shown = any(basket & set(sensitive) for basket in baskets)
        assert verdict.satisfied == (worst <= rho and shown)
        assert (verdict.reached or 0) == float(worst)
        safe += worst <= rho
    assert 300 < safe < 1200  # both answers were put to the test


def closed_rules_of(baskets, sensitive, empty):
    """Return hits and support of every closed rule: intersections of records with the item, one by one."""
    found = {}
    for item in sensitive:
        with_item = [frozenset(basket - {item}) for basket in baskets if item in basket]
        closed = set()
        for record in with_item:
            closed |= {record, *(record & known for known in closed)}
        for known in closed:
            if known or empty:
                hits = sum(known <= record for record in with_item)
                found[known, item] = hits, sum(known <= basket for basket in baskets)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("empty", [False, True])
def test_every_closed_rule_is_judged_once(empty):
    rng = random.Random(29)
    for _ in range(300):
        items = "abcdefgh"[: rng.randint(2, 8)]
        baskets = [{item for item in items if rng.random() < 0.6} for _ in range(rng.randint(1, 12))]
        sensitive = [item for item in items if rng.random() < 0.5]
        rho = Fraction(rng.randint(1, 9), 10)
        rules = closed_rules_of(baskets, sensitive, empty)

        verdict = judged(baskets, sensitive, rho, empty)

        assert verdict.groups == len(rules)
        assert verdict.failing == sum(Fraction(hits, support) > rho for hits, support in rules.values())


@pytest.mark.parametrize("n_records", range(1, 13))
def test_the_largest_share_is_found_among_all_shares(n_records):
    shares = {Fraction(hits, support) for support in range(1, n_records + 1) for hits in range(support + 1)}
    for rho in [Fraction(number, 53) for number in range(1, 53)] + [Fraction(number, 9) for number in range(1, 9)]:
        assert loops.largest_share(rho, n_records) == max(share for share in shares if share <= rho)


def test_more_records_than_whole_numbers_can_judge_are_refused():
    release = release_of([{"a", "e"}, {"a"}], ["e"])
    many = replace(release, weights=np.array([2**30, 2**30], dtype=np.int64))

    with pytest.raises(DataError, match="2,147,483,648 records"):
        RhoUncertainty(column="basket", rho="0.5").audit(many)


def test_one_planted_rule_among_many_safe_ones_is_caught():
    rng = random.Random(5)
    baskets = [{rng.choice("abcd"), rng.choice("abcd")} for _ in range(400)]
    baskets += [{"a", "e"}] * 20
    assert judged(baskets, ["e"], "0.5").satisfied
    planted = [*baskets, {"b", "c", "d", "e"}]

    verdict = judged(planted, ["e"], "0.5")

    assert not verdict.satisfied
    assert verdict.facts["worst_rule"] == {"confidence": "1/1", "antecedent_size": 3}


def test_a_hopeless_table_is_told_early_and_says_so():
    rng = random.Random(2)
    baskets = [{str(rng.randrange(10_000)) for _ in range(8)} | {f"secret {number % 50}"} for number in range(3000)]
    verdict = judged(baskets, [f"secret {number}" for number in range(50)], "0.5")

    assert not verdict.satisfied
    assert verdict.failing >= CAP
    assert verdict.facts["stopped_early"]
    assert verdict.groups < 5000


def test_a_verdict_names_items_only_when_asked_for():
    release = release_of(DRUGSTORE, ["condom"])
    model = RhoUncertainty(column="basket", rho="1/3")
    shown = model.audit(release, name_items=True)

    assert "condom" not in str(model.audit(release).as_dict())
    assert shown.facts["worst_rule"]["item"] == "condom"
    assert shown.facts["worst_rule"]["antecedent"] == ["milk"]


def test_a_table_without_sensitive_items_has_nothing_to_judge():
    verdict = judged([{"a", "b"}, set()], ["e"], "0.5")

    assert not verdict.satisfied
    assert verdict.reached is None


def test_a_sensitive_item_that_no_rule_leads_to_is_judged():
    verdict = judged([{"e"}, {"a"}], ["e"], "0.5")

    assert (verdict.satisfied, verdict.reached) == (True, 0)


def test_without_a_list_of_sensitive_items_nothing_can_be_said():
    spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET)
    release = Release.from_table(pa.table({"basket": ["a|b"]}), Schema({"basket": spec}))

    with pytest.raises(DataError, match="nothing says which"):
        RhoUncertainty(column="basket", rho="0.5").audit(release)


# Within classes.


def in_classes(baskets, ages, sensitive, rho, weights=None):
    schema = Schema(
        {
            "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
            "basket": ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=tuple(sensitive)),
        }
    )
    cells = pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))
    release = Release.from_table(pa.table({"age": ages, "basket": cells}), schema)
    return RhoUncertainty(column="basket", rho=rho, within="classes").audit(release)


def test_within_classes_every_class_is_judged_by_itself_the_empty_antecedent_included():
    rng = random.Random(7)
    verdicts = []
    for _ in range(150):
        baskets = [set(rng.sample("abcdef", rng.randrange(5))) for _ in range(rng.randrange(1, 12))]
        ages = [rng.choice(["20-29", "30-39"]) for _ in baskets]
        rho = rng.choice([Fraction(1, 3), Fraction(1, 2), Fraction(4, 5)])
        verdict = in_classes(baskets, ages, "ef", rho)

        confidences = [
            confidence
            for age in set(ages)
            for confidence in rules_of([b for b, a in zip(baskets, ages, strict=True) if a == age], "ef", True).values()
        ]
        verdicts.append(verdict.satisfied)
        shown = any(basket & set("ef") for basket in baskets)
        assert verdict.satisfied == (shown and all(confidence <= rho for confidence in confidences))
        assert verdict.reached in (None, pytest.approx(float(max(confidences, default=0))))
    assert set(verdicts) == {True, False}


def test_a_table_may_be_safe_and_a_class_not():
    baskets, ages = [{"a", "e"}, {"b", "e"}, {"a"}, {"b"}], ["20-29", "20-29", "30-39", "30-39"]

    assert judged(baskets, "e", "1/2").satisfied
    verdict = in_classes(baskets, ages, "e", "1/2")
    assert not verdict.satisfied
    assert verdict.facts["worst_rule"] == {"confidence": "2/2", "antecedent_size": 0, "in_a_class": True}
    assert verdict.facts["classes"] == 2


def test_classes_need_quasi_identifiers():
    spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("e",))
    model = RhoUncertainty(column="basket", rho="1/2", within="classes")

    (problem,) = model.problems(Schema({"basket": spec}), Policy((model,)))
    assert "no column is a quasi-identifier" in str(problem)


def test_beside_quasi_identifiers_the_promise_says_to_whom_it_is_given():
    spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("e",))
    age = ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER)
    items, classes = (RhoUncertainty(column="basket", rho="1/2", within=within) for within in ("table", "classes"))

    assert items.promise_beside(Schema({"basket": spec})) == items.promise
    assert "for who knows items only" in items.promise_beside(Schema({"age": age, "basket": spec}))
    assert "in every class" in classes.promise_beside(Schema({"age": age, "basket": spec}))
