"""qs-closeness over a hierarchy of labels: the audit against the earth mover's distance, and a run from end to end."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sfumato as sf
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PlanError
from sfumato.models.qs_closeness import QSCloseness

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)
PATHS = [("X", "XY", "low", "*"), ("Y", "XY", "low", "*"), ("Z", "low", "*"), ("U", "UV", "*"), ("V", "UV", "*")]
TREE = Hierarchy.from_paths(PATHS)


def way(one, other):
    """How far two labels are: the level of the lowest node above both, over the height."""
    above = set(TREE.ancestors(other))
    meet = next(label for label in TREE.ancestors(one) if label in above)
    return TREE.level[TREE.node_of[meet]] / TREE.height


def moved(belief, prior, labels):
    pairs = [(a, b) for a in labels for b in labels]
    rows = [[float(a == label) for a, _ in pairs] for label in labels]
    rows += [[float(b == label) for _, b in pairs] for label in labels]
    given_ = [belief.get(label, 0.0) for label in labels] + [prior[label] for label in labels]
    return linprog([way(*pair) for pair in pairs], A_eq=rows, b_eq=given_, method="highs").fun


def released(people, public):
    ages = pa.array([str(age) for age, _ in people], pa.string())
    symptoms = pa.array(["|".join(sorted(terms)) for _, terms in people], pa.string())
    return replace(Release.from_table(pa.table({"age": ages, "symptoms": symptoms}), SCHEMA), public=public)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    table=st.fixed_dictionaries({label: st.frozensets(st.sampled_from("abc"), min_size=1) for label in "XYZUV"}),
    people=st.lists(
        st.tuples(st.integers(1, 3), st.frozensets(st.sampled_from("abc"), max_size=2)), min_size=1, max_size=6
    ),
    weights=st.lists(st.integers(1, 4), min_size=5, max_size=5),
)
def test_the_audit_measures_the_least_way(table, people, weights):
    prior = {label: weight / sum(weights) for label, weight in zip("XYZUV", weights, strict=True)}
    public = PublicInputs(Knowledge.from_rows(table.items(), weight=prior, hierarchy=TREE, unlinked="linked"))
    belief, linked = defaultdict(lambda: defaultdict(float)), defaultdict(int)
    for age, terms in people:
        labels = [label for label, known in table.items() if terms <= known]
        linked[age] += bool(labels)
        for label in labels:
            belief[age][label] += 1 / len(labels)
    far = [
        moved({label: each / linked[age] for label, each in own.items()}, prior, "XYZUV") for age, own in belief.items()
    ]

    verdict = QSCloseness(column="symptoms", t=1, distance="hierarchical").audit(released(people, public))

    assert verdict.satisfied
    if far:
        assert verdict.reached == pytest.approx(max(far), abs=1e-9)
        t = max(far) - 1e-6
        strict = QSCloseness(column="symptoms", t=max(t, 0), distance="hierarchical").audit(released(people, public))
        assert strict.failing == sum(each > max(t, 0) + 1e-9 for each in far)


def test_levels_skip_what_a_label_does_not_have_and_read_back():
    knowledge = Knowledge.from_rows([(label, "a") for label in "XYZUV"], hierarchy=TREE)

    assert knowledge.levels.shape == (TREE.height, 5)
    apart = [[np.mean(knowledge.levels[:, a] != knowledge.levels[:, b]) for b in range(5)] for a in range(5)]
    assert apart == [[way(a, b) for b in knowledge.labels] for a in knowledge.labels]
    again = Knowledge.from_dict(knowledge.as_dict())
    assert np.array_equal(again.levels, knowledge.levels)


def test_a_hierarchy_that_is_not_there_or_incomplete_is_refused():
    with pytest.raises(DataError, match="misses 1 of 2 labels"):
        Knowledge.from_rows([("X", "a"), ("Q", "a")], hierarchy=TREE)
    model = QSCloseness(column="symptoms", t=0.4, distance="hierarchical")
    for more in ({}, {"hierarchy": TREE, "unlinked": "zero"}):
        public = PublicInputs(Knowledge.from_rows([("X", "a"), ("Y", "a")], weight={"X": 0.5, "Y": 0.5}, **more))
        with pytest.raises(DataError, match="over a hierarchy of labels"):
            model.audit(released([(1, "a")], public))


PLAN = {
    "columns": {"age": {"role": "quasi-identifier"}, "symptoms": {"role": "quasi-sensitive", "kind": "set"}},
    "knowledge": {"path": "signs.csv", "label": "d", "terms": "s", "separator": "|", "hierarchy": "labels.csv"},
    "require": [
        {"model": "k-anonymity", "k": 2},
        {"model": "qs-closeness", "column": "symptoms", "t": 0.3, "distance": "hierarchical"},
    ],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "signs.csv").write_text("d,s\nX,a|b\nY,a|c\nU,a|d\nV,d|e\n", encoding="utf-8")
    (tmp_path / "labels.csv").write_text("".join(f"{';'.join(path)}\n" for path in PATHS), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("options", [{}, {"joint": True}, {"margin": 0.5}])
def test_a_run_keeps_beliefs_near_over_the_hierarchy(folder, options):
    plan = sf.Plan.from_dict({**PLAN, "anonymizers": {"term-suppression": options}}, base=folder)
    people = pa.table(
        {"age": list(range(20, 36)), "symptoms": ["a|b", "a|b", "a|c", "a|b", "d|e", "d|e", "a|d", "d"] * 2}
    )

    run = sf.anonymize(people, plan, seed=1)

    assert all(verdict.satisfied for verdict in run.verdicts)
    assert not sf.audit(people, plan, original=people)[1].satisfied
    assert sf.audit(run, plan)[1].satisfied  # by the hierarchy that the run keeps
    kept = {**PLAN["require"][1], "anonymizer": "mondrian"}
    whole = sf.Plan.from_dict({**PLAN, "require": [PLAN["require"][0], kept]}, base=folder)
    assert all(verdict.satisfied for verdict in sf.anonymize(people, whole, seed=1).verdicts)


def test_what_cannot_be_is_refused_before_any_work(folder):
    bare = {key: value for key, value in PLAN["knowledge"].items() if key != "hierarchy"}
    with pytest.raises(PlanError, match="goes by a hierarchy of labels"):
        sf.Plan.from_dict({**PLAN, "knowledge": bare}, base=folder)
    also = {"model": "qs-diversity", "column": "symptoms", "c": 1, "l": 2}
    with pytest.raises(PlanError, match="Ask for one of them"):
        sf.Plan.from_dict({**PLAN, "require": [*PLAN["require"], also]}, base=folder).searchable()
