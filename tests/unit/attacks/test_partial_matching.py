"""Terms looked up by somebody who overlooks one: model and attack against the definition written out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from math import prod

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks import Asked, KnowledgeLinking, PartialMatching
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.models.qs_diversity import QSDiversity

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)


def released(people, **knowledge):
    ages = pa.array([str(age) for age, _ in people], pa.string())
    symptoms = pa.array(["|".join(sorted(terms)) for _, terms in people], pa.string())
    public = PublicInputs(Knowledge.from_rows(**knowledge)) if knowledge else PublicInputs()
    return replace(Release.from_table(pa.table({"age": ages, "symptoms": symptoms}), SCHEMA), public=public)


def labels_of(terms, table):
    """Labels that have all terms; where there are none, those that lack one, if all terms are known."""
    found = {label for label, known in table if terms <= set(known)}
    if not found and terms <= {term for _, known in table for term in known}:
        found = {label for label, known in table if len(terms - set(known)) == 1}
    return found


tables = st.lists(
    st.tuples(st.sampled_from("XYZU"), st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=4)),
    min_size=1,
    max_size=6,
)
crowds = st.lists(
    st.tuples(st.integers(1, 3), st.frozensets(st.sampled_from("abcdef?"), max_size=4)), min_size=1, max_size=9
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    table=tables,
    people=crowds,
    c=st.fractions(Fraction(1, 3), 3, max_denominator=3),
    l=st.integers(1, 3),
    weights=st.none() | st.lists(st.sampled_from([1, 2, 4]), min_size=24, max_size=24),
)
def test_attack_and_audit_follow_the_definition(table, people, c, l, weights):
    more = {}
    if weights is not None:
        table = [
            (label, frozenset().union(*(known for other, known in table if other == label)))
            for label in sorted({label for label, _ in table})
        ]
        pairs = [(label, term) for label, known in table for term in sorted(known)]
        more = {"likelihood": {pair: Fraction(weights[at], 4) for at, pair in enumerate(pairs)}}
    often = more.get("likelihood", {})
    belief, linked = defaultdict(lambda: defaultdict(Fraction)), defaultdict(int)
    for age, terms in people:
        found = labels_of(terms, table) if terms else {label for label, _ in table}
        linked[age] += bool(found)
        weight = {label: prod((often.get((label, term), 1) for term in terms), start=Fraction(1)) for label in found}
        for label in found:
            belief[age][label] += weight[label] / sum(weight.values())
    sure = {age: max(own.values()) / linked[age] for age, own in belief.items()}
    falling = {age: sorted(own.values(), reverse=True) for age, own in belief.items()}

    attacked = PartialMatching().on(released(people, rows=table, **more))
    assert attacked.exposed == sum(sure.get(age, 0) > Fraction(1, 2) for age, _ in people)
    assert attacked.worst == pytest.approx(float(max(sure.values(), default=0)))
    covered = released(people, rows=table, misses=1, unlinked="linked", **more)
    verdict = QSDiversity(column="symptoms", c=c, l=l).audit(covered)
    assert verdict.failing == sum(own[0] > c * sum(own[l - 1 :]) for own in falling.values())
    assert verdict.facts["unlinkable_rows"] == sum(bool(terms) and not labels_of(terms, table) for _, terms in people)


def test_it_runs_where_no_label_explains_a_record_and_the_plan_does_not_speak_of_it():
    table = [("X", "ab"), ("Y", "c")]
    explained, strange = [(1, frozenset("ab"))], [(1, frozenset("ac"))]

    assert not list(PartialMatching.suited_to(released(explained, rows=table), Asked()))
    assert list(PartialMatching.suited_to(released(strange, rows=table), Asked()))
    assert not list(PartialMatching.suited_to(released(strange, rows=table, misses=1), Asked()))
    assert KnowledgeLinking().on(released(strange, rows=table, misses=1)).worst == 0.5
    with pytest.raises(DataError, match="comes without knowledge"):
        PartialMatching().on(released(strange))


def test_what_cannot_be_overlooked_is_refused():
    with pytest.raises(PolicyError, match="Give 0, or 1"):
        Knowledge.from_rows([("X", "ab")], misses=2)


def test_a_run_withholds_what_somebody_who_overlooks_a_term_would_read(tmp_path):
    (tmp_path / "signs.csv").write_text("d,s\nflu,a|b|c\ngout,d|e\ncold,e\n", encoding="utf-8")
    people = pa.table({"age": ["20"] * 4, "symptoms": ["a|b|d", "a|b|d", "a|c|d", "e"]})
    base = {
        "columns": {"age": {"role": "quasi-identifier"}, "symptoms": {"role": "quasi-sensitive", "kind": "set"}},
        "require": [{"model": "qs-diversity", "column": "symptoms", "c": 1, "l": 2}],
    }
    knowledge = {"path": "signs.csv", "label": "d", "terms": "s", "separator": "|", "unlinked": "linked"}
    plain = sf.Plan.from_dict({**base, "knowledge": knowledge}, base=tmp_path)
    covered = sf.Plan.from_dict({**base, "knowledge": {**knowledge, "misses": 1}}, base=tmp_path)

    run = sf.anonymize(people, covered, seed=1)

    assert run.verdicts[0].satisfied
    assert run.verdicts[0].facts["misses"] == 1
    assert sf.audit(people, plain)[0].satisfied  # three records tell nothing to who wants all terms
    assert not sf.audit(people, covered)[0].satisfied
    assert sf.audit(run, covered)[0].satisfied  # what the run keeps says it, too
    assert "lack one of its terms" in covered.explain().as_dict()["knowledge"]
