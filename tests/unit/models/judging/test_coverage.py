"""What a knowledge table knows of a column of terms: counted as it is defined, said without values of the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.dataset import CodedSets
from sfumato.data.knowledge import UNLINKED, Knowledge
from sfumato.data.schema import Role
from sfumato.errors import DataError
from sfumato.models.judging.coverage import ASKS_ABOVE, coverage

FIGURE_1 = [
    ("Flu", ["Coughing", "Headache", "Sore Throat"]),
    ("Hepatitis B", ["loss of appetite", "vomiting", "body aches", "dark urine"]),
]


def coded(rows):
    labels = tuple(sorted({term for row in rows for term in row}))
    items = [labels.index(term) for row in rows for term in sorted(row)]
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return CodedSets(
        name="symptoms", role=Role.QUASI_SENSITIVE, labels=labels, items=np.array(items, np.int32), start=start
    )


TERMS = "abcde"


@settings(max_examples=60)
@given(
    table=st.lists(st.frozensets(st.sampled_from(TERMS), min_size=1), min_size=1, max_size=5),
    rows=st.lists(st.frozensets(st.sampled_from(TERMS + "?!")), min_size=1, max_size=9),
)
def test_counts_follow_their_definition(table, rows):
    found = coverage(coded(rows), Knowledge.from_rows([(str(i), terms) for i, terms in enumerate(table)]))

    known = frozenset().union(*table)
    strange = {term: sum(term in row for row in rows) for row in rows for term in row - known}
    assert found.unexplained == sum(not any(row <= terms for terms in table) for row in rows)
    assert found.unknown_in == sum(not row <= known for row in rows)
    assert {each.term: each.records for each in found.unknown} == strange
    assert [each.records for each in found.unknown] == sorted(strange.values(), reverse=True)


def test_a_term_that_no_record_has_any_more_is_not_told():
    sets = coded([{"a", "?"}, {"b"}])
    found = coverage(replace(sets, items=sets.items[1:2], start=np.array([0, 1])), Knowledge.from_rows([("x", "ab")]))

    assert sets.labels == ("?", "a", "b")
    assert (found.records, found.unknown) == (1, ())


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(st.frozensets(st.sampled_from(TERMS + "?!")), st.integers(1, 4)), min_size=1, max_size=6)
)
def test_a_record_that_stands_for_several_counts_as_often(rows):
    table = Knowledge.from_rows([("x", "ab"), ("y", "bcd")])
    labels = coded([TERMS + "?!"]).labels  # the same in both
    once, often = (
        replace(
            found, items=np.searchsorted(labels, np.array(found.labels))[found.items].astype(np.int32), labels=labels
        )
        if found.labels
        else found
        for found in (coded([row for row, _ in rows]), coded([row for row, count in rows for _ in range(count)]))
    )
    assert coverage(once, table, np.array([count for _, count in rows])) == coverage(often, table)


@pytest.mark.parametrize(
    ("spelled", "nearest", "near"),
    [
        ("headache", "Headache", True),
        ("sore-throat", "Sore Throat", True),
        ("Hedache", "Headache", True),
        ("Headacke", "Headache", True),
        ("Haedache", "Headache", True),
        ("Headaches", "Headache", True),
        ("vomit", "vomiting", False),
        ("fatigue", None, False),
    ],
)
def test_the_nearest_known_term(spelled, nearest, near):
    [unknown] = coverage(coded([{spelled}]), Knowledge.from_rows(FIGURE_1)).unknown

    assert (unknown.nearest, unknown.near) == (nearest, near)


def test_codes_that_end_in_digits_are_near_only_when_signs_or_case_tell_them_apart():
    found = coverage(coded([{"hp 0001250", "HP:0001251"}]), Knowledge.from_rows([("x", ["HP:0001250"])]))

    assert {each.term: each.near for each in found.unknown} == {"hp 0001250": True, "HP:0001251": False}


def test_a_table_that_spells_a_term_in_two_ways_is_said():
    found = coverage(coded([{"Fever"}]), Knowledge.from_rows([("flu", ["Fever"]), ("cold", ["fever"])]))

    assert found.spelled_twice == 1
    assert any("several ways" in sentence for sentence in found.sentences())


def test_messages_name_known_terms_and_never_how_data_are_spelled():
    rows = [{"headache", "Miss Secret's cough"}] * 3 + [{"Coughing"}]
    found = coverage(coded(rows), Knowledge.from_rows(FIGURE_1))
    with pytest.raises(DataError) as refused:
        found.refuse_undecided()

    said = " ".join(found.sentences()) + str(refused.value)
    assert "'Headache'" in said
    assert "Secret" not in said
    assert "headache" not in said
    assert "3 of 4 records (75.0%)" in said


@pytest.mark.parametrize("unlinked", UNLINKED)
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_decision_is_asked_for_above_the_share_and_only_when_none_was_taken(unlinked, beyond):
    few = int(ASKS_ABOVE * 100)
    rows = [{"headache"}] * (few + beyond) + [{"Headache"}] * (100 - few - beyond)
    found = coverage(coded(rows), Knowledge.from_rows(FIGURE_1, unlinked=unlinked))

    assert found.asks == (unlinked == "ask" and beyond == 1)
