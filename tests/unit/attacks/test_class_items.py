"""Sensitive items from a person's class: against slow counting, and answered by rho within classes only."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.attacks import ClassItems
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.report.exposed import lines

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "basket": ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("e", "f")),
    }
)


def table_of(baskets, ages):
    return pa.table({"age": ages, "basket": pa.array(list(map(sorted, baskets)), pa.list_(pa.string()))})


def slow(baskets, ages, known):
    """Return how sure an intruder gets of each person, who knows up to three things: the class, or items."""
    people = [basket | {f"class {age}"} for basket, age in zip(baskets, ages, strict=True)]

    def confidence(person):
        best, (own,) = 0.0, [thing for thing in person if thing.startswith("class")]
        sizes = range(1, 4) if known else (1,)
        for some in (each for size in sizes for each in itertools.combinations(sorted(person), size)):
            if not known and some != (own,):
                continue
            alike = [other for other in people if set(some) <= other]
            for item in (person & {"e", "f"}) - set(some):
                best = max(best, sum(item in other for other in alike) / len(alike))
        return best

    return [confidence(person) for person in people]


@pytest.mark.parametrize("known", [False, True])
def test_exposure_equals_slow_counting(known):
    rng = random.Random(5)
    for _ in range(25):
        baskets = [set(rng.sample("abcdef", rng.randrange(5))) for _ in range(12)]
        ages = [rng.choice(["20-29", "30-39"]) for _ in baskets]
        found = ClassItems(column="basket", known=known).on(Release.from_table(table_of(baskets, ages), SCHEMA))

        expected = slow(baskets, ages, known)
        assert found.worst == pytest.approx(max(expected))
        assert found.mean == pytest.approx(sum(expected) / 12)
        assert found.exposed == sum(sure > 0.5 for sure in expected)


@pytest.mark.parametrize(("within", "answered"), [("table", False), ("classes", True)])
def test_only_rho_within_classes_answers_it(within, answered):
    baskets = [{"a", "e"}, {"a"}, {"b", "e"}, {"b"}, {"a"}, {"b"}, {"a"}, {"b"}]
    ages = ["20-29"] * 2 + ["30-39"] * 6
    plan = sf.Plan.from_dict(
        {
            "columns": {
                "age": {"role": "quasi-identifier"},
                "basket": {"role": "items", "kind": "set", "sensitive_items": ["e", "f"]},
            },
            "require": [{"model": "rho-uncertainty", "column": "basket", "rho": "1/2", "within": within}],
        }
    )
    run = sf.anonymize(table_of(baskets, ages), plan)
    facts = {
        "verdicts": [verdict.as_dict() for verdict in run.verdicts],
        "attacks": [
            each.as_dict() | {"after": each.after.as_dict() | {"exposed": 1}}
            for each in run.exposures
            if each.attack == "class-items"
        ],
    }

    assert len(facts["attacks"]) == 2
    assert [("within the promise" in reason) for _, _, reason in lines(facts)] == [answered] * 2


def test_coherence_within_classes_bounds_the_attacker_who_knows_no_item():
    answered = {known: ClassItems(column="basket", known=known).answered_by for known in (False, True)}

    assert answered == {False: ("rho-uncertainty", "hkp-coherence"), True: ("rho-uncertainty",)}
