"""Items in crowds: what is shown keeps the promise, covers what was there, and loses less than the published greedy."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.item_generalization import ItemGeneralization
from sfumato.anonymizers.published.apriori_anonymization import AprioriAnonymization
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.models import HkpCoherence, KmAnonymity
from sfumato.models.base import Policy

TREE = Hierarchy.from_nested(
    {"drink": {"hot": ["coffee", "tea"], "cold": ["cola", "juice", "water"]}, "food": ["bread", "jam"]}
)
ITEMS = sorted(TREE.leaves)
SECRET = "pills"
PLAIN = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET)
GENERAL = replace(PLAIN, hierarchy=Given(TREE))
baskets = st.lists(st.sets(st.sampled_from([*ITEMS, SECRET])), max_size=25)
KINDS = pa.string(), pa.list_(pa.string())
KM = KmAnonymity(column="basket", k=2, m=2)


def made(anonymizer, spec, records, model):
    schema = Schema({"basket": spec})
    table = pa.table({"basket": pa.array([sorted(record) for record in records], pa.list_(pa.string()))})
    dataset = encode(table, schema)
    recoding = anonymizer.anonymize(dataset, Policy((model,)), Recoding(), Workplace())
    release = Release.from_table(publish(dataset, recoding, []).table(), schema)
    return release, recoding.facts["basket"]


def shown(release):
    column = release.columns["basket"]
    return [set(column.cell(row)) for row in range(release.n_rows)]


@pytest.mark.slow
@pytest.mark.parametrize("anonymizer", [ItemGeneralization(), AprioriAnonymization()], ids=lambda each: each.name)
@pytest.mark.parametrize("spec", [PLAIN, GENERAL], ids=["items", "labels"])
@settings(deadline=None, max_examples=30)
@given(records=baskets, k=st.integers(2, 4), m=st.integers(1, 3))
def test_what_is_shown_keeps_the_promise_and_covers_what_was_there(anonymizer, spec, records, k, m):
    model = KmAnonymity(column="basket", k=k, m=m)
    records = [record - {SECRET} for record in records]

    release, facts = made(anonymizer, spec, records, model)

    verdict = model.audit(release)
    assert verdict.satisfied or verdict.nothing_to_judge
    covered = [{label for item in record for label in TREE.ancestors(item)} for record in records]
    assert all(labels <= above for labels, above in zip(shown(release), covered, strict=True))
    assert "*" not in set().union(*shown(release))
    withheld = sum(
        not labels & set(TREE.ancestors(item))
        for labels, record in zip(shown(release), records, strict=True)
        for item in record
    )
    assert facts["withheld"] >= withheld
    assert 0 <= facts["loss"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("spec", [PLAIN, GENERAL], ids=["items", "labels"])
@settings(deadline=None, max_examples=30)
@given(records=baskets, h=st.sampled_from(["0.4", "2/3"]), p=st.integers(1, 2))
def test_sensitive_items_stay_and_few_public_ones_do_not_give_them_away(spec, records, h, p):
    model = HkpCoherence(column="basket", h=h, k=2, p=p)

    release, _ = made(ItemGeneralization(), replace(spec, sensitive_items=(SECRET,)), records, model)

    verdict = model.audit(release)
    assert verdict.satisfied or verdict.nothing_to_judge
    assert [SECRET in labels for labels in shown(release)] == [SECRET in record for record in records]


@pytest.mark.slow
@pytest.mark.parametrize("spec", [PLAIN, GENERAL], ids=["items", "labels"])
@settings(deadline=None, max_examples=40)
@given(
    towns=st.lists(st.lists(st.sets(st.sampled_from([*ITEMS, SECRET])), min_size=2, max_size=8), max_size=4),
    h=st.sampled_from(["0.4", "2/3"]),
    p=st.integers(1, 2),
)
def test_a_class_gives_no_sensitive_item_away_to_an_attacker_who_knows_no_item(spec, towns, h, p):
    schema = Schema(
        {
            "town": ColumnSpec(name="town", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
            "basket": replace(spec, sensitive_items=(SECRET,)),
        }
    )
    records = [(str(number), sorted(record)) for number, town in enumerate(towns) for record in town]
    names, sets = (pa.array([record[at] for record in records], kind) for at, kind in enumerate(KINDS))
    dataset = encode(pa.table({"town": names, "basket": sets}), schema)
    model = HkpCoherence(column="basket", h=h, k=2, p=p)

    recoding = ItemGeneralization().anonymize(dataset, Policy((model,)), Recoding(), Workplace())

    release = Release.from_table(publish(dataset, recoding, []).table(), schema)
    had = Counter(town for town, record in records if SECRET in record)
    size = Counter(town for town, _ in records)
    kept = Counter(
        town
        for town, labels in zip(release.table()["town"].to_pylist(), shown(release), strict=True)
        if SECRET in labels
    )
    assert kept == {town: most for town in had if (most := min(had[town], int(Fraction(h) * size[town])))}
    assert recoding.facts["basket"]["sensitive_withheld"] == had.total() - kept.total()
    verdict = model.audit(release)
    assert verdict.satisfied or verdict.nothing_to_judge


def test_nothing_changes_where_the_promise_holds_already():
    records = [{"coffee", "jam"}, {"coffee", "jam"}, {"tea"}, {"tea"}]
    release, facts = made(ItemGeneralization(), GENERAL, records, KM)

    assert (shown(release), facts["loss"]) == (records, 0)


def test_only_the_records_that_need_it_are_generalized():
    records = [{"coffee"}] * 3 + [{"tea"}, {"water"}, {"water"}, {"juice"}, {"cola"}]
    release, facts = made(ItemGeneralization(), GENERAL, records, KmAnonymity(column="basket", k=2, m=1))

    told = [min(labels) for labels in shown(release)]
    assert (told.count("water"), told.count("cold"), set(told[:4]) <= {"coffee", "hot"}) == (2, 2, True)
    assert facts["withheld"] == 0


def test_it_loses_less_than_the_published_greedy():
    rng = np.random.default_rng(3)
    records = [
        set(rng.choice(ITEMS, size=rng.integers(1, 4), replace=False, p=np.arange(1, 8) / 28)) for _ in range(200)
    ]
    model = KmAnonymity(column="basket", k=5, m=2)

    ours, theirs = (made(each, GENERAL, records, model)[1] for each in (ItemGeneralization(), AprioriAnonymization()))

    assert 0 < ours["loss"] < theirs["loss"]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Hierarchy.from_nested({"drink": ["coffee", "tea"]}), "lacks 1 of 2"),
        (Hierarchy.from_nested({"jam": ["coffee", "tea"], "food": ["bread"]}), "other names"),
    ],
)
def test_hierarchies_that_do_not_fit_are_refused_without_naming_items(tree, message):
    with pytest.raises(DataError, match=message) as refused:
        made(ItemGeneralization(), replace(PLAIN, hierarchy=Given(tree)), [{"coffee"}, {"jam"}], KM)
    assert "coffee" not in str(refused.value)
