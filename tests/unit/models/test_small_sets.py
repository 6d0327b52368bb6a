"""Audits of small sets of known items, against a count of every one of them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.models import HkpCoherence, KmAnonymity

SCHEMA = Schema(
    {
        "town": ColumnSpec(name="town", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "basket": ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("w", "z")),
    }
)
records = st.lists(st.tuples(st.sampled_from("AB"), st.sets(st.sampled_from("abcwz"))), max_size=14)


def release_of(people):
    baskets = pa.array([sorted(basket) for _, basket in people], pa.list_(pa.string()))
    return Release.from_table(
        pa.table({"town": pa.array([t for t, _ in people], pa.string()), "basket": baskets}), SCHEMA
    )


def counted(people, most, known, *, within_classes):
    """Return how many records hold each set of known items, and how many of them a sensitive item besides.

    Within classes of quasi-identifiers, no item at all may be known.
    """
    support, secrets = Counter(), Counter()
    for town, basket in people:
        for size in range(0 if within_classes else 1, most + 1):
            for items in combinations(sorted(basket & set(known)), size):
                key = (town if within_classes else "", items)
                support[key] += 1
                secrets.update((key, secret) for secret in basket & {"w", "z"})
    shares = Counter()
    for (key, _), hits in secrets.items():
        shares[key] = max(shares[key], Fraction(hits, support[key]))
    return support, shares


@settings(deadline=None, max_examples=40)
@example(people=[("A", set("abcw")), ("A", set("abcwz")), ("A", set("abz"))], k=3, m=2, within=False, weighted=False)
@given(people=records, k=st.integers(2, 4), m=st.integers(1, 3), within=st.booleans(), weighted=st.booleans())
def test_km_anonymity_is_that_every_set_of_up_to_m_items_is_in_k_records(people, k, m, within, weighted):
    release = release_of(people)
    model = KmAnonymity(column="basket", k=k, m=m, within="classes" if within else "table")
    support, _ = counted(people, m, "abcwz", within_classes=within)

    verdict = model.audit(release.weighted() if weighted else release)

    assert verdict.satisfied == (all(count >= k for count in support.values()) and len(support) > 0)
    if not verdict.failing:
        assert verdict.reached == (min(support.values()) if support else None)
    else:  # what holds a set that fails is not counted
        assert min(support.values()) <= verdict.reached < k
    rare = [(town, set(items)) for (town, items), count in support.items() if count < k]
    fails = [any(home in ("", town) and items <= basket for home, items in rare) for town, basket in people]
    assert verdict.failing_rows == sum(fails)


@settings(deadline=None, max_examples=40)
@example(people=[("A", set("w"))] * 3 + [("B", set("a"))] * 3, k=3, p=2, h="0.5", within=True, weighted=False)
@given(
    people=records,
    k=st.integers(2, 3),
    p=st.integers(1, 2),
    h=st.sampled_from(["1/3", "0.5", "0.8"]),
    within=st.booleans(),
    weighted=st.booleans(),
)
def test_coherence_bounds_the_share_of_every_sensitive_item_as_well(people, k, p, h, within, weighted):
    release = release_of(people)
    support, shares = counted(people, p, "abc", within_classes=within)
    model = HkpCoherence(column="basket", h=h, k=k, p=p, within="classes" if within else "table")

    verdict = model.audit(release.weighted() if weighted else release)

    holds = all(support[key] >= k and shares[key] <= Fraction(h) for key in support)
    assert verdict.satisfied == (holds and len(support) > 0)
    if verdict.satisfied:
        assert verdict.facts["largest_share"] == str(max(shares.values(), default=0))


def test_without_quasi_identifiers_an_attacker_knows_one_item_at_least():
    """As the sources define it: how common a sensitive item is in the whole table is not judged."""
    asked = {"basket": {"role": "items", "sensitive_items": ("w",)}}
    for baskets, fewest in (["w"] * 3, None), (["w|a"] + ["a"] * 3, 4):
        release = Release.of({"basket": baskets}, **asked)
        coherent = HkpCoherence(column="basket", h="0.5", k=2, p=1).audit(release)
        few = KmAnonymity(column="basket", k=9, m=1).audit(Release.of({"basket": [""] * 3}, **asked))

        assert (coherent.satisfied, coherent.reached) == (fewest is not None, fewest)
        assert (few.satisfied, few.reached) == (False, None)
        assert few.nothing_to_judge


def test_a_promise_names_the_attacker_who_knows_no_item_where_it_is_about_classes():
    for within in ("classes", "table"):
        for model in (
            KmAnonymity(column="basket", k=2, m=1, within=within),
            HkpCoherence(column="basket", h="0.5", k=2, p=1, within=within),
        ):
            for promise in (model.promise, model.promise_beside(SCHEMA)):
                assert ("no item" in promise) == (within == "classes")


def test_an_audit_with_more_failing_sets_than_enough_stops_and_says_so(monkeypatch):
    monkeypatch.setattr("sfumato.models.judging.small_sets.CAP", 2)
    verdict = KmAnonymity(column="basket", k=2, m=1).audit(release_of([("A", {"a", "b", "c"}), ("A", set())]))

    assert (verdict.satisfied, verdict.failing, verdict.facts["stopped_early"]) == (False, 2, True)


def plan(*require, **columns):
    return sf.Plan.from_dict(
        {"columns": {"basket": {"role": "items", "kind": "set"}} | columns, "require": list(require)}
    )


KM = {"model": "km-anonymity", "column": "basket", "k": 2, "m": 2}


def test_plans_that_ask_two_models_of_items_or_name_no_secrets_are_refused():
    coherent = {"model": "hkp-coherence", "column": "basket", "h": 0.5, "k": 2, "p": 1}
    with pytest.raises(sf.errors.PlanError, match="which items of column 'basket' are sensitive"):
        plan(coherent)
    with pytest.raises(sf.errors.PlanError, match="no search meets both"):
        plan(KM, coherent, basket={"role": "items", "kind": "set", "sensitive_items": ["w"]}).searchable()


def test_one_requirement_promises_both_of_quasi_identifiers_and_items():
    asked = plan(KM, town={"role": "quasi-identifier"})
    table = pa.table({"town": list("AABBC"), "basket": ["a|b", "a|b", "a|c", "a|d", "a"]})

    run = sf.anonymize(table, asked)

    assert [step.anonymizer.name for step in asked.steps()] == ["mondrian", "item-generalization"]
    assert [verdict.satisfied for verdict in run.verdicts] == [True]
    assert min(Counter(run.release.data["town"].to_pylist()).values()) >= 2
    alone = plan(KM | {"within": "table"}, town={"role": "quasi-identifier"})
    assert [step.anonymizer.name for step in alone.steps()] == ["item-generalization"]
