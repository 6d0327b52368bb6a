"""The minimality attack against its definition, and what a margin buys."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.attacks import Asked, TermMinimality, term_minimality
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)


def released(people, table, c=1, l=2, margin=None, models=None):
    frame = pa.table(
        {
            "age": pa.array([str(age) for age, _ in people], pa.string()),
            "symptoms": pa.array(["|".join(sorted(terms)) for _, terms in people], pa.string()),
        }
    )
    asked = [{"model": "qs-diversity", "column": "symptoms", "c": str(c), "l": l}]
    description = {"models": asked if models is None else models}
    if margin is not None:
        description["columns"] = {"age": {}, "symptoms": {"margin": margin}}
    public = PublicInputs(Knowledge.from_rows(table, unlinked="linked"))
    return replace(Release.from_table(frame, SCHEMA, description), public=public)


def diverse(group, table, c, l):
    belief = defaultdict(Fraction)
    for terms in group:
        labels = {label for label, known in table if terms <= set(known)}
        for label in labels:
            belief[label] += Fraction(1, len(labels))
    falling = sorted(belief.values(), reverse=True)
    return not falling or falling[0] <= c * sum(falling[l - 1 :])


def at_the_edge(group, table, c, l):
    """Whether one term more in some record, which some label would still explain, makes a group unsafe."""
    for at, have in enumerate(group):
        for term in {term for _, known in table if have <= set(known) for term in set(known) - have}:
            if not diverse([have | {term} if place == at else each for place, each in enumerate(group)], table, c, l):
                return True
    return False


tables = st.lists(
    st.tuples(st.sampled_from("XYZU"), st.frozensets(st.sampled_from("abcd"), min_size=1)), min_size=1, max_size=5
)
crowds = st.lists(
    st.tuples(st.integers(1, 3), st.frozensets(st.sampled_from("abcd"), max_size=3)), min_size=1, max_size=7
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(tables, crowds, st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3)]), st.integers(1, 3))
def test_groups_that_could_show_more_are_those_that_a_term_more_leaves_safe(table, people, c, l):
    groups = defaultdict(list)
    for age, terms in people:
        groups[age].append(terms)
    edge = {age for age, group in groups.items() if at_the_edge(group, table, c, l)}

    found = TermMinimality().on(released(people, table, c, l))

    assert (found.facts["looked_at"], found.facts["at_the_edge"]) == (len(groups), len(edge))
    assert found.exposed == sum(age not in edge for age, _ in people)
    assert found.worst == float(len(edge) < len(groups))


TABLE = [("flu", ["a", "b"]), ("cold", ["a"]), ("gout", ["b"])]
PEOPLE = [
    (1, frozenset("a")),
    (2, frozenset("a")),
    *((3, frozenset(term)) for term in "baa"),
]  # 1 and 2 are at the edge


@pytest.mark.parametrize(("margin", "sure"), [(0.0, 1.0), (0.2, 1 - 0.2 * 2 / 0.8 / 1), (0.5, 0.0)])
def test_a_margin_makes_the_intruder_less_sure(margin, sure):
    found = TermMinimality().on(released(PEOPLE, TABLE, 2, margin=margin))

    assert found.facts["at_the_edge"] == 2
    assert found.worst == pytest.approx(sure)
    assert found.exposed == (3 if sure > 0.5 else 0)
    assert found.mean == pytest.approx(sure * 3 / 5)


def test_some_groups_are_looked_at_where_there_are_many(monkeypatch):
    monkeypatch.setattr(term_minimality, "TRIED", 2)

    found = TermMinimality().on(released(PEOPLE * 3, TABLE, 2))

    assert 0 < found.facts["looked_at"] < found.facts["groups"] == 3
    assert found.people == 15


def test_it_is_about_releases_that_say_what_was_required():
    assert TermMinimality.on_demand
    assert list(TermMinimality.suited_to(released(PEOPLE, TABLE), Asked()))
    bare = released(PEOPLE, TABLE, models=[])
    assert not list(TermMinimality.suited_to(bare, Asked()))
    assert TermMinimality().on(bare).exposed == 0
    with pytest.raises(DataError, match="without knowledge"):
        TermMinimality().on(replace(bare, public=PublicInputs()))
