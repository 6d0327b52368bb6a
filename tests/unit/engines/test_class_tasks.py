"""Terms removed class by class, in tasks: the release of one machine, however many rows are together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizing import MULTI, Job
from anonymizing import ROWS as HOSPITAL
from in_parts import Here, Repeating, in_parts, plan_for
from sfumato.data.files.release import read_release
from sfumato.engines.class_tasks import Gathered, Nodes, Solved, packed
from sfumato.engines.dividing import DividedEngine
from sfumato.errors import DataError, Unsatisfiable
from sfumato.generators import hospital
from sfumato.generators.hospital import knowledge_rows
from sfumato.models import KAnonymity, LDiversity, QSCloseness, QSDiversity

K, CLOSE, DIVERSE = KAnonymity(k=2), QSCloseness(column="symptoms", t="0.12"), QSDiversity(column="symptoms", c=1, l=12)
TOGETHER = 20  # rows, so that hardly a class finds what it is joined to in the same place
JOINED = {
    "groups that were split": Job("term-suppression", (CLOSE, K)),
    "groups that were split, some of them safer": Job("term-suppression", (CLOSE, K), {"margin": 0.3}),
    "groups with secrets": Job("term-suppression", (CLOSE, LDiversity(sensitive="ward", l=2))),
    "labels of hierarchies": Job("local-recoding", (K, CLOSE)),
    "the same labels everywhere": Job("full-domain", (K, CLOSE)),
}
ALONE = {"groups that are safe": Job("term-suppression", (DIVERSE, K))}


def run(plan, out, engine=None):
    return sf.run(plan, out, seed=5, engine=engine, measure=False, attack=False)


def rounds(engine):
    """How often classes were sent on their way."""
    [home] = [home for home in engine.homes if home.folder == "from-classes"]
    return int(home.places[-1].partition("-")[0])


def shown(folder):
    return read_release(folder / "release").table().to_pylist()


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("case", JOINED | ALONE)
def test_terms_are_removed_class_by_class_to_the_last_cell_as_by_one_machine(case, tmp_path):
    plan = plan_for((JOINED | ALONE)[case], tmp_path / "given")
    here = run(plan, tmp_path / "here")
    for together in (TOGETHER, HOSPITAL):
        engine = in_parts(HOSPITAL, rows_together=together)
        there = run(plan, tmp_path / f"{together}", engine)
        assert not engine.by_row
        assert rounds(engine) == (2 if case in JOINED and together == TOGETHER else 1)
        assert shown(tmp_path / f"{together}") == shown(tmp_path / "here")
        assert [step["facts"] for step in there.facts["steps"]] == [step["facts"] for step in here.facts["steps"]]
        assert there.facts["public"] == here.facts["public"]
        assert there.facts["knowledge"] == here.facts["knowledge"]
        assert all(verdict.satisfied for verdict in sf.audit(tmp_path / f"{together}", plan))


@pytest.mark.slow
def test_the_number_of_parts_changes_no_byte(tmp_path):
    plan = plan_for(JOINED["groups that were split, some of them safer"], tmp_path / "given")
    for parts in (7, 3, 1):
        rows = -(-HOSPITAL // parts)
        engine = DividedEngine(Repeating(), rows_a_part=rows, rows_a_file=60, rows_together=TOGETHER)
        run(plan, tmp_path / f"{parts}", engine)
        assert len(engine.parts) >= parts
    seven, three, one = (contents(tmp_path / f"{parts}" / "release") for parts in (7, 3, 1))
    assert seven
    assert seven == three == one


@pytest.mark.slow
def test_classes_with_masks_are_joined_across_places(tmp_path):
    plan = plan_for(Job("masking", (MULTI, CLOSE, K)), tmp_path / "given")
    here = run(plan, tmp_path / "here")
    engine = in_parts(HOSPITAL, rows_together=TOGETHER)
    there = run(plan, tmp_path / "there", engine)
    assert rounds(engine) > 1
    assert there.facts["steps"][-1]["facts"] == here.facts["steps"][-1]["facts"]
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "there", plan))
    assert len(shown(tmp_path / "there")) == HOSPITAL


# Tables of few quasi-identifiers.

SIGNS = sorted({term for _, terms in knowledge_rows() for term in terms.split("|")})


def plan_with(folder, table, columns, *requirements, **more):
    folder.mkdir()
    pa_parquet.write_table(table, folder / "table.parquet", row_group_size=30)
    names, terms = zip(*knowledge_rows(), strict=True)
    pa_csv.write_csv(pa.table({"label": names, "terms": terms}), folder / "known.csv")
    document = {
        "source": {"path": "table.parquet"},
        "columns": {"age": {"role": "quasi-identifier", "hierarchy": {"widths": [10, 20, 40]}}, **columns},
        "knowledge": {"path": "known.csv", "label": "label", "terms": "terms", "separator": "|", "unlinked": "forbid"},
        "require": list(requirements),
        "release": {"format": "parquet"},
        **more,
    }
    return sf.Plan.from_dict(document, folder)


TERMS = {"symptoms": {"role": "quasi-sensitive", "kind": "set"}}
NEEDS = ({"model": "k-anonymity", "k": 3}, {"model": "qs-closeness", "column": "symptoms", "t": 0.4})


def patients(*names):
    return hospital(HOSPITAL).select(["age", "symptoms", *names])


@pytest.mark.slow
def test_single_values_that_are_read_as_terms_come_home_as_well(tmp_path):
    table = patients()
    sets = [set(cell.split("|")) for cell in table.column("symptoms").to_pylist()]
    table = pa.table(
        {
            "age": table.column("age"),
            "fever": ["yes" if "fever" in each else "no" for each in sets],
            "rest": ["|".join(sorted(each - {"fever"})) for each in sets],
        }
    )
    binary = {"role": "quasi-sensitive", "present": "yes", "term": "fever"}
    rest = {"role": "quasi-sensitive", "kind": "set", "separator": "|"}
    close = {"model": "qs-closeness", "column": ["fever", "rest"], "t": 0.5}
    plan = plan_with(tmp_path / "given", table, {"fever": binary, "rest": rest}, NEEDS[0], close)
    known = tmp_path / "given" / "known.csv"
    text = known.read_text(encoding="utf-8")
    for sign in sorted(set(SIGNS) - {"fever"}, key=len, reverse=True):
        text = text.replace(f'"{sign}', f'"rest={sign}').replace(f"|{sign}", f"|rest={sign}")
    known.write_text(text, encoding="utf-8")
    run(plan, tmp_path / "here")
    engine = in_parts(HOSPITAL, rows_together=TOGETHER)
    there = run(plan, tmp_path / "there", engine)
    assert there.facts["steps"][-1]["facts"]["fever + rest"]["terms_removed"] > 0
    assert engine.columns == ("age",)
    assert shown(tmp_path / "there") == shown(tmp_path / "here")


@pytest.mark.slow
def test_a_hierarchy_of_labels_is_heeded_in_tasks_as_well(tmp_path):
    known = {"path": "known.csv", "label": "label", "terms": "terms", "separator": "|", "hierarchy": "labels.csv"}
    close = {"model": "qs-closeness", "column": "symptoms", "t": 0.2, "distance": "hierarchical"}
    plan = plan_with(tmp_path / "given", patients(), TERMS, NEEDS[0], close, knowledge=known)
    names = sorted(name for name, _ in knowledge_rows())
    lines = [f"{name};group {number % 3};*" for number, name in enumerate(names)]
    (tmp_path / "given" / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    here = run(plan, tmp_path / "here")
    engine = in_parts(HOSPITAL, rows_together=TOGETHER)
    there = run(plan, tmp_path / "there", engine)
    facts = [done.facts["steps"][-1]["facts"] for done in (here, there)]
    assert facts[0] == facts[1]
    assert facts[0]["symptoms"]["terms_removed"] > 0
    assert not engine.by_row
    assert shown(tmp_path / "there") == shown(tmp_path / "here")


@pytest.mark.slow
def test_rows_that_a_step_before_drops_are_in_no_class(tmp_path):
    ages = [f"{20 + number % 10}" for number in range(HOSPITAL - 1)]
    table = patients().set_column(0, "age", pa.array([*ages, "99"]))
    plan = plan_with(tmp_path / "given", table, TERMS, *NEEDS, anonymizers={"mondrian": {"drop_rows": 0.1}})
    run(plan, tmp_path / "here")
    run(plan, tmp_path / "there", in_parts(HOSPITAL, rows_together=TOGETHER))
    assert len(shown(tmp_path / "there")) < HOSPITAL
    assert shown(tmp_path / "there") == shown(tmp_path / "here")


@pytest.mark.slow
def test_terms_may_be_removed_where_no_step_forms_classes(tmp_path):
    table = patients().set_column(0, "age", pa.array([f"{20 + number % 2}" for number in range(HOSPITAL)]))
    plan = plan_with(tmp_path / "given", table, TERMS, NEEDS[1])
    run(plan, tmp_path / "here")
    engine = in_parts(HOSPITAL, rows_together=TOGETHER)
    run(plan, tmp_path / "there", engine)
    assert shown(tmp_path / "there") == shown(tmp_path / "here")


class Noting(Here):
    """Notes what was done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def each(self, work, jobs, what):
        self.done.append(what)
        return super().each(work, jobs, what)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"joint": True}, "joint"),
        ({"time_limit": 60}, "clock"),
        ({"search": "dfs"}, "clock"),
    ],
)
def test_what_needs_every_row_in_one_place_is_refused_before_work_above_the_limit(options, why, tmp_path):
    plan = plan_with(tmp_path / "given", patients(), TERMS, *NEEDS, anonymizers={"term-suppression": options})
    cluster = Noting()
    with pytest.raises(DataError, match=rf"{why}(.|\n)*takes 100(.|\n)*--distinct-on-driver(.|\n)*--engine local"):
        run(plan, tmp_path / "run", DividedEngine(cluster, distinct_here=100))
    assert cluster.done == ["count values"]
    assert not (tmp_path / "run").exists()
    engine = DividedEngine(cluster, distinct_here=HOSPITAL)
    run(plan, tmp_path / "run", engine)
    assert engine.by_row


def test_who_forms_classes_by_terms_needs_every_row_in_one_place(tmp_path):
    plan = plan_for(Job("mondrian", (QSDiversity(column="symptoms", c=1, l=3), K)), tmp_path / "given")
    with pytest.raises(DataError, match=r"mondrian(.|\n)*terms of all rows(.|\n)*takes 100"):
        run(plan, tmp_path / "run", in_parts(HOSPITAL, distinct_here=100))


def test_too_many_different_sets_of_terms_are_refused(tmp_path):
    plan = plan_with(tmp_path / "given", patients(), TERMS, *NEEDS)
    different = len(set(patients().column("symptoms").to_pylist()))
    ages = len(set(patients().column("age").to_pylist()))
    assert ages < different - 1
    with pytest.raises(DataError, match=rf"takes {different - 1}(.|\n)*{different} or more(.|\n)*--distinct-on-driver"):
        run(plan, tmp_path / "run", in_parts(HOSPITAL, distinct_here=different - 1))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_class_with_too_many_rows_is_refused(tmp_path):
    few = patients().column("symptoms").to_pylist()[:10]
    table = pa.table({"age": ["30"] * 80 + ["50"] * 80, "symptoms": few * 16})
    plan = plan_with(tmp_path / "given", table, TERMS, *NEEDS)
    with pytest.raises(DataError, match=r"80 rows(.|\n)*takes 79(.|\n)*--distinct-on-driver"):
        run(plan, tmp_path / "run", in_parts(HOSPITAL, distinct_here=79))
    assert not (tmp_path / "run").exists()
    run(plan, tmp_path / "run", in_parts(HOSPITAL, distinct_here=80, rows_together=30))


def test_what_no_union_of_classes_reaches_is_told_as_by_one_machine(tmp_path):
    one = pa.table({"age": [f"{20 + number}" for number in range(40)], "symptoms": ["fever|cough"] * 40})
    need = {"model": "qs-diversity", "column": "symptoms", "c": "1/1000", "l": 2}
    plan = plan_with(tmp_path / "given", one, TERMS, NEEDS[0], need)
    told = []
    for engine in (None, in_parts(40, rows_together=10)):
        with pytest.raises(Unsatisfiable) as found:
            run(plan, tmp_path / "run", engine)
        told.append(str(found.value))
    assert told[0] == told[1]
    assert not (tmp_path / "run").exists()


# Trees.


@st.composite
def trees(draw):
    """A forest of nodes in no order, with rows in its leaves."""
    size = draw(st.integers(1, 30))
    above = [draw(st.integers(-1, node - 1)) for node in range(size)]
    names = draw(st.permutations(range(size)))
    parent = np.full(size, -1)
    for node, over in enumerate(above):
        parent[names[node]] = names[over] if over >= 0 else -1
    leaf = ~np.isin(np.arange(size), parent)
    rows = np.array(draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)))
    return parent, np.where(leaf, rows, 0)


def lineage(node, parent):
    """A node and all above it."""
    while node >= 0:
        yield node
        node = parent[node]


@given(tree=trees(), marks=st.lists(st.booleans(), min_size=30, max_size=30))
def test_what_lies_above_and_below_is_what_a_plain_walk_finds(tree, marks):
    parent, rows = tree
    marked = np.array(marks[: parent.size])
    every = range(parent.size)
    nodes = Nodes(parent)
    assert nodes.below(rows).tolist() == [
        sum(rows[other] for other in every if node in lineage(other, parent)) for node in every
    ]
    tops = [[node for node in lineage(start, parent) if marked[node]] for start in every]
    assert nodes.topmost(marked).tolist() == [found[-1] if found else -1 for found in tops]


@given(tree=trees(), together=st.integers(1, 40))
def test_every_class_is_in_one_place_with_all_that_it_may_be_joined_to_there(tree, together):
    parent, own = tree
    gathered = Gathered(parent, own, together)
    sending = gathered.round(1, "", None, ())
    classes = np.flatnonzero(own)
    place = sending.place_of[classes]
    assert place.min() >= 0
    assert set(place) == set(range(sending.places))
    for number in range(sending.places):
        inside = classes[place == number]
        assert own[inside].sum() <= together or len(set(gathered.tops[inside])) == 1
    for node in classes:
        for step in lineage(node, sending.parent):  # whoever is joined finds all below that in the same place
            below = [other for other in classes if step in lineage(other, parent)]
            assert {int(sending.place_of[other]) for other in below} == {int(sending.place_of[node])}


@given(tree=trees(), together=st.integers(1, 40), failing=st.sets(st.integers(0, 29)))
def test_rounds_join_what_one_machine_joins(tree, together, failing):
    """Some nodes are never safe: each is joined with all below what is above it, until that is safe."""
    parent, own = tree
    classes = np.flatnonzero(own).tolist()
    groups = set(classes)
    while bad := [node for node in groups if node in failing and parent[node] >= 0]:
        over = parent[bad[0]]
        groups = {node for node in groups if over not in lineage(node, parent)} | {over}
    if any(node in failing for node in groups):
        return  # nothing is above: refused
    gathered, more, number = Gathered(parent, own, together), True, 0
    while more:
        number += 1
        sending = gathered.round(number, "", None, ())
        here = sorted({int(sending.at[node]) for node in classes if sending.at[node] >= 0})
        ended = set(here)
        while bad := [node for node in ended if node in failing and sending.parent[node] >= 0]:
            over = sending.parent[bad[0]]
            ended = {node for node in ended if over not in lineage(node, parent)} | {over}
        moved = [(node, end) for node in here for end in ended if node != end and end in lineage(node, parent)]
        moves = np.array(moved, dtype=np.int64).reshape(-1, 2).T
        failed = np.array([node for node in ended if node in failing], dtype=np.int64)
        more = gathered.hear([Solved((moves[0], moves[1]), failed, None, {})])
    assert set(gathered.ended[classes].tolist()) == groups
    assert all(gathered.ended[node] in list(lineage(node, parent)) for node in classes)


def test_what_does_not_fit_has_a_place_of_its_own():
    assert packed(np.array([9, 1, 1, 1, 9]), 2).tolist() == [0, 1, 1, 2, 3]
