"""Knowledge that weighs terms: audit, prior and attack against the definition, and a run from end to end."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks import KnowledgeLinking
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.models.judging.beliefs import beliefs, estimated_prior
from sfumato.models.judging.links import Index
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity

SCHEMA = Schema(
    {
        "group": ColumnSpec(name="group", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "terms": ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)
TERMS = "abcd"
SHARES = [Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)]  # few, so that labels tie

weighed_tables = st.dictionaries(
    st.sampled_from("XYZU"),
    st.dictionaries(st.sampled_from(TERMS), st.sampled_from(SHARES), min_size=1),
    min_size=1,
    max_size=4,
)
records = st.lists(
    st.tuples(st.sampled_from("pq"), st.frozensets(st.sampled_from(TERMS + "?"), max_size=3)), min_size=1, max_size=8
)


def knowledge_of(table, unlinked="linked"):
    likelihood = {(label, term): share for label, own in table.items() for term, share in own.items()}
    return Knowledge.from_rows(table.items(), likelihood=likelihood, unlinked=unlinked)


def released(rows, public):
    table = pa.table(
        {
            "group": pa.array([group for group, _ in rows], pa.string()),
            "terms": pa.array([sorted(terms) for _, terms in rows], pa.list_(pa.string())),
        }
    )
    return replace(Release.from_table(table, SCHEMA), public=public)


def posteriors(rows, table):
    """The belief about each group as it is defined, in fractions; groups in which nothing is linked are left out."""
    mass, linked = defaultdict(lambda: defaultdict(Fraction)), defaultdict(int)
    for group, terms in rows:
        weight = {label: math.prod(own[t] for t in terms) for label, own in table.items() if terms <= set(own)}
        linked[group] += bool(weight)
        for label, each in weight.items():
            mass[group][label] += Fraction(each) / sum(map(Fraction, weight.values()))
    return {group: {label: each / linked[group] for label, each in own.items()} for group, own in mass.items()}


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(weighed_tables, records, st.fractions(Fraction(1, 6), 4, max_denominator=6), st.integers(1, 4))
def test_audits_follow_the_definition(table, rows, c, l):
    knowledge = knowledge_of(table)
    prior = np.full(len(table), 1 / len(table))
    release = released(rows, PublicInputs(knowledge, prior))
    believed = posteriors(rows, table)

    tails = {group: sorted(own.values(), reverse=True) for group, own in believed.items()}
    safe = {group: falling[0] <= c * sum(falling[l - 1 :]) for group, falling in tails.items()}
    verdict = QSDiversity(column="terms", c=c, l=l).audit(release)
    assert verdict.satisfied == (all(safe.values()) and len(safe) > 0)
    assert verdict.failing == sum(not each for each in safe.values())

    far = [
        math.sqrt(sum((float(own.get(label, 0)) - 1 / len(table)) ** 2 for label in table)) for own in believed.values()
    ]
    if far:
        assert QSCloseness(column="terms", t=1.4).audit(release).reached == pytest.approx(max(far), abs=1e-9)
        sure = KnowledgeLinking().on(release)
        assert sure.worst == pytest.approx(max(float(falling[0]) for falling in tails.values()))


@settings(max_examples=40, deadline=None)
@given(weighed_tables, records)
def test_masses_are_exact_and_do_not_depend_on_batches(table, rows):
    release = released(rows, PublicInputs())
    knowledge = knowledge_of(table)
    code = {group: place for place, group in enumerate(sorted({group for group, _ in rows}))}
    class_of = np.array([code[group] for group, _ in rows], dtype=np.int32)
    believed = posteriors(rows, table)
    for batch in (1, 1 << 19):
        for found in beliefs(class_of, len(code), release.sets("terms"), Index(knowledge), batch=batch):
            for place, number in enumerate(found.group.tolist()):
                masses, scale = found.exact(place)
                own = believed.get(sorted(code)[number], {})
                linked = int(found.linked[place])
                assert [Fraction(mass, scale) for mass in masses] == sorted(
                    (each * linked for each in own.values()), reverse=True
                )


def test_the_prior_is_weighed_too():
    table = {"X": {"a": Fraction(3, 4)}, "Y": {"a": Fraction(1, 4)}}

    prior = estimated_prior(released([("p", {"a"})], PublicInputs()).sets("terms"), knowledge_of(table))

    assert prior.tolist() == [0.75, 0.25]


def test_long_records_do_not_make_products_vanish():
    terms = [f"t{number}" for number in range(200)]
    small = Fraction(1, 10**6)
    table = {"X": dict.fromkeys(terms, small), "Y": {**dict.fromkeys(terms, small), "t0": small / 3}}

    release = released([("p", frozenset(terms))], PublicInputs(knowledge_of(table)))

    assert KnowledgeLinking().on(release).worst == pytest.approx(0.75)


def test_equal_weights_are_none_and_others_read_back():
    even = knowledge_of({"X": {"a": Fraction(1, 2)}, "Y": {"b": Fraction(1, 2)}})
    uneven = knowledge_of({"X": {"a": Fraction(1, 2)}, "Y": {"b": Fraction(1, 3)}})

    assert even.likelihood is None
    assert "likelihood" not in even.as_dict()
    assert Knowledge.from_dict(uneven.as_dict()).likelihood == uneven.likelihood == (Fraction(1, 2), Fraction(1, 3))


def test_weights_that_cannot_be_are_refused():
    with pytest.raises(DataError, match="second ones of a label"):
        Knowledge.from_rows([("X", ["a"]), ("X", ["b"])], likelihood={("X", "a"): Fraction(1), ("X", "b"): Fraction(1)})
    with pytest.raises(DataError, match="1 of 1 weights are missing"):
        Knowledge.from_rows([("X", ["a"])], likelihood={})


PLAN = {
    "columns": {"age": {"role": "quasi-identifier"}, "symptoms": {"role": "quasi-sensitive", "kind": "set"}},
    "knowledge": {"path": "signs.csv", "label": "d", "terms": "s", "weights": "often"},
    "require": [{"model": "k-anonymity", "k": 3}, {"model": "qs-diversity", "column": "symptoms", "c": 1, "l": 2}],
}
VISITS = pa.table({"age": [20, 21, 22, 40, 41, 42], "symptoms": ["ache|rash", "ache", "rash"] * 2})


@pytest.fixture
def folder(tmp_path):
    lines = ["d,s,often", "flu,ache,90%", "flu,rash,1/20", "measles,ache,0.5", "measles,rash,19/20", "gout,ache,1"]
    (tmp_path / "signs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_a_run_goes_by_the_weights(folder):
    plan = sf.Plan.from_dict(PLAN, base=folder)
    even = sf.Plan.from_dict({**PLAN, "knowledge": {**PLAN["knowledge"], "weights": None}}, base=folder)

    run = sf.anonymize(VISITS, plan, seed=1)
    plain = sf.anonymize(VISITS, even, seed=1)

    assert all(verdict.satisfied for verdict in run.verdicts)
    assert run.verdicts[1].facts["weighed"]
    assert not sf.audit(plain, plan, original=VISITS)[1].satisfied
    assert sf.audit(run, plan)[1].satisfied  # by the weights that the run keeps
    assert "weighed by 'often'" in plan.explain().as_dict()["knowledge"]


def test_the_published_searches_refuse_weights(folder):
    plan = sf.Plan.from_dict({**PLAN, "anonymizers": {"term-suppression": {"search": "dfs"}}}, base=folder)

    with pytest.raises(PolicyError, match="gives weights"):
        sf.anonymize(VISITS, plan)
