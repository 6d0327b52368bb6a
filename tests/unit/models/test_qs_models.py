"""QS (c,l)-diversity and QS t-closeness against their definitions, written down slowly with sets and fractions."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.dataset import CodedSets
from sfumato.data.knowledge import NOTHING_PUBLIC, UNLINKED, Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.models.base import describe
from sfumato.models.judging.beliefs import beliefs, estimated_prior
from sfumato.models.judging.links import Index
from sfumato.models.qs_closeness import TOLERANCE, QSCloseness
from sfumato.models.qs_diversity import QSDiversity, reachable

SCHEMA = Schema(
    {
        "group": ColumnSpec(name="group", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "terms": ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)


def released(rows, knowledge=None, prior=None):
    """A release of (group, terms) rows."""
    table = pa.table(
        {
            "group": pa.array([group for group, _ in rows], pa.string()),
            "terms": pa.array([sorted(terms) for _, terms in rows], pa.list_(pa.string())),
        }
    )
    public = PublicInputs(knowledge, prior) if knowledge else NOTHING_PUBLIC
    return replace(Release.from_table(table, SCHEMA), public=public)


# The definitions, in words as short as Python allows.


def links(terms, table):
    return {label for label, known in table if set(terms) <= set(known)}


def posterior(group, table, unlinked):
    """The belief of one group as {label: Fraction}, None when nothing is linked."""
    belief = defaultdict(Fraction)
    linkable = 0
    for terms in group:
        found = links(terms, table)
        linkable += bool(found)
        for label in found:
            belief[label] += Fraction(1, len(found))
    if not linkable:
        return None
    divisor = len(group) if unlinked == "zero" else linkable
    return {label: value / divisor for label, value in belief.items()}


def groups_of(rows):
    groups = defaultdict(list)
    for group, terms in rows:
        groups[group].append(terms)
    return groups


def diverse(belief, c, l):
    falling = sorted(belief.values(), reverse=True)
    return falling[0] <= c * sum(falling[l - 1 :])


def distance(belief, prior, labels):
    return math.sqrt(sum((belief.get(label, Fraction(0)) - Fraction(prior[label])) ** 2 for label in labels))


def largest_l(belief, c):
    return max((l for l in range(1, len(belief) + 1) if diverse(belief, c, l)), default=0)


TERMS = "abcdef"
term_sets = st.frozensets(st.sampled_from(TERMS), max_size=4)
tables = st.lists(st.tuples(st.sampled_from("XYZUVW"), term_sets), min_size=1, max_size=9).filter(
    lambda table: any(terms for _, terms in table)
)
records = st.lists(
    st.tuples(st.sampled_from("pqr"), st.frozensets(st.sampled_from(TERMS + "?"), max_size=4)), max_size=12
)
small_fractions = st.fractions(min_value=Fraction(1, 6), max_value=4, max_denominator=6)


def forbidden(group, table, unlinked):
    return unlinked in ("ask", "forbid") and any(not links(terms, table) for terms in group)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(tables, records, small_fractions, st.integers(1, 6), st.sampled_from(UNLINKED))
def test_the_audit_of_diversity_follows_the_definition(table, rows, c, l, unlinked):
    knowledge = Knowledge.from_rows(table, unlinked=unlinked)
    verdict = QSDiversity(column="terms", c=c, l=l).audit(released(rows, knowledge))

    groups = groups_of(rows)
    belief_of = {name: posterior(group, table, unlinked) for name, group in groups.items()}
    judged = {name: belief for name, belief in belief_of.items() if belief is not None}
    too_sure = {name for name, belief in judged.items() if not diverse(belief, c, l)}
    failing = too_sure | {name for name, group in groups.items() if forbidden(group, table, unlinked)}
    assert verdict.satisfied == (not failing and len(judged) > 0)
    assert (verdict.groups, verdict.failing) == (len(groups), len(failing))
    assert verdict.failing_rows == sum(len(groups[name]) for name in failing)
    assert verdict.facts["vacuous_groups"] == len(groups) - len(judged)
    assert verdict.facts["unlinkable_rows"] == sum(not links(terms, table) for _, terms in rows)
    assert verdict.facts["rows_without_terms"] == sum(not terms for _, terms in rows)
    assert verdict.facts.get("smallest_l") == min((largest_l(belief, c) for belief in judged.values()), default=None)
    if judged and (too_sure or not failing):
        tails = [sorted(judged[name].values(), reverse=True) for name in too_sure or judged]
        ratio = max(falling[0] / sum(falling[l - 1 :]) if len(falling) >= l else math.inf for falling in tails)
        assert verdict.reached == pytest.approx(float(ratio))
        assert verdict.required == float(c)
    json.dumps(verdict.as_dict(), allow_nan=False)
    assert str(verdict)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(tables, records, st.sampled_from(["0", "0.2", "0.4", "1/2", "0.9", "1.4"]), st.sampled_from(UNLINKED), st.data())
def test_the_audit_of_closeness_follows_the_definition(table, rows, t, unlinked, data):
    knowledge = Knowledge.from_rows(table, unlinked=unlinked)
    parts = data.draw(st.lists(st.integers(0, 5), min_size=knowledge.n_labels, max_size=knowledge.n_labels))
    total = sum(parts) or 1
    prior = np.array([part / total for part in parts]) if sum(parts) else np.full(len(parts), 1 / len(parts))
    verdict = QSCloseness(column="terms", t=t).audit(released(rows, knowledge, prior))

    prior_of = dict(zip(knowledge.labels, prior.tolist(), strict=True))
    groups = groups_of(rows)
    belief_of = {name: posterior(group, table, unlinked) for name, group in groups.items()}
    distances = {
        name: distance(belief, prior_of, knowledge.labels) for name, belief in belief_of.items() if belief is not None
    }
    far = {name for name, found in distances.items() if found > float(Fraction(t)) + TOLERANCE}
    failing = far | {name for name, group in groups.items() if forbidden(group, table, unlinked)}
    assert verdict.satisfied == (not failing and len(distances) > 0)
    assert (verdict.groups, verdict.failing) == (len(groups), len(failing))
    assert verdict.failing_rows == sum(len(groups[name]) for name in failing)
    assert verdict.facts["tolerance"] == TOLERANCE
    if distances and (far or not failing):
        assert verdict.reached == pytest.approx(max(distances.values()), abs=1e-9)
    json.dumps(verdict.as_dict(), allow_nan=False)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    tables,
    records.filter(bool),
    st.sampled_from(UNLINKED),
    st.sampled_from([1, 3, 1 << 19]),
    st.sampled_from([0, 1 << 28]),
    st.booleans(),
)
def test_beliefs_do_not_depend_on_batches_weights_or_on_how_rows_are_looked_up(
    table, rows, unlinked, batch, dense, held_once
):
    knowledge = Knowledge.from_rows(table, unlinked=unlinked)
    release = released(rows, knowledge)
    groups = groups_of(rows)
    names = list(groups)
    if held_once:
        release = release.weighted()
    column = release.column("group")
    class_of = np.array([names.index(column.labels[code]) for code in column.codes], dtype=np.int32)
    index, terms = Index(knowledge, dense=dense), release.sets("terms")
    seen = []
    for found in beliefs(class_of, len(names), terms, index, weights=release.weights, batch=batch):
        for i, number in enumerate(found.group.tolist()):
            seen.append(names[number])
            expected = posterior(groups[names[number]], table, unlinked)
            masses, scale = found.exact(i)
            dense_mass = np.full(knowledge.n_labels, found.offset[i])
            dense_mass[found.label[found.start[i] : found.start[i + 1]]] += found.mass[
                found.start[i] : found.start[i + 1]
            ]
            if expected is None:
                assert found.vacuous[i]
                assert masses == []
                continue
            divisor = int(found.divisor(unlinked)[i])
            assert [Fraction(mass, scale * divisor) for mass in masses] == sorted(expected.values(), reverse=True)
            wanted = [float(expected.get(label, 0)) for label in knowledge.labels]
            assert (dense_mass / divisor).tolist() == pytest.approx(wanted)
    assert sorted(seen) == sorted(names)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(tables, records, st.sampled_from(UNLINKED))
def test_the_estimated_prior_is_the_belief_about_the_whole_table(table, rows, unlinked):
    knowledge = Knowledge.from_rows(table, unlinked=unlinked)
    sets = released(rows).sets("terms")
    expected = posterior([terms for _, terms in rows], table, unlinked)
    if not rows:
        assert not estimated_prior(sets, knowledge).any()
    elif expected is None:
        with pytest.raises(DataError, match="no label of the knowledge table explains"):
            estimated_prior(sets, knowledge)
    else:
        prior = estimated_prior(sets, knowledge)
        once = released([(name, terms) for name, terms in dict.fromkeys(rows)]).sets("terms")
        counts = np.array(list(Counter(rows).values()), dtype=np.int64)
        assert estimated_prior(once, knowledge, counts).tolist() == pytest.approx(prior.tolist())
        assert prior.tolist() == pytest.approx([float(expected.get(label, 0)) for label in knowledge.labels])
        whole = [("one", terms) for _, terms in rows]
        verdict = QSCloseness(column="terms", t=0).audit(released(whole, knowledge, prior))
        assert verdict.satisfied or verdict.facts["unlinkable_rows"]  # forbid


# Figure 1 of the papers.

FIGURE_1 = (
    ("Flu", ["Coughing", "Headache", "Sore Throat"]),
    ("Hepatitis B", ["loss of appetite", "vomiting", "body aches", "dark urine"]),
)
FIGURE_1D = (
    ("[20, 30] M GA student", {"Coughing", "Headache", "Sore Throat"}),
    ("[20, 30] M GA student", {"Coughing", "Headache"}),
    ("[20, 30] M GA student", {"Headache", "Sore Throat"}),
    ("[30, 40] F TX engineer", {"Headache", "vomiting"}),
    ("[30, 40] F TX engineer", {"Headache", "Sore Throat"}),
)


@pytest.mark.parametrize("unlinked", UNLINKED)
def test_figure_1_gives_the_flu_away_in_both_groups(unlinked):
    knowledge = Knowledge.from_rows(FIGURE_1, unlinked=unlinked)
    verdict = QSDiversity(column="terms", c=1, l=2).audit(released(FIGURE_1D, knowledge))
    assert (verdict.failing, verdict.groups, verdict.failing_rows) == (2, 2, 5)
    assert verdict.reached == math.inf
    assert verdict.facts["smallest_l"] == 1
    assert verdict.facts["unlinkable_rows"] == 1  # headache and vomiting


@pytest.mark.parametrize("unlinked", UNLINKED)
def test_figure_1_is_mended_by_what_the_specification_says(unlinked):
    knowledge = Knowledge.from_rows(FIGURE_1, unlinked=unlinked)
    mended = [("[20, 30] M GA student", set())] * 3 + [
        ("[30, 40] F TX engineer", {"vomiting"}),  # headache removed: now hepatitis B explains it
        ("[30, 40] F TX engineer", {"Headache", "Sore Throat"}),
    ]
    verdict = QSDiversity(column="terms", c=1, l=2).audit(released(mended, knowledge))
    assert verdict.satisfied
    assert verdict.reached == 1
    assert verdict.facts["smallest_l"] == 2


def test_figure_1_distances_depend_on_what_an_unexplained_record_counts():
    largest = {}
    for unlinked in UNLINKED:
        knowledge = Knowledge.from_rows(FIGURE_1, weight={"Flu": 0.5, "Hepatitis B": 0.5}, unlinked=unlinked)
        verdict = QSCloseness(column="terms", t="0.71").audit(released(FIGURE_1D[3:], knowledge))
        largest[unlinked] = verdict.reached
    assert largest["linked"] == pytest.approx(math.sqrt(0.5))
    assert largest["zero"] == pytest.approx(0.5)  # (1/2, 0) against (1/2, 1/2)
    assert largest["forbid"] == 1  # no distance: one record that no label explains
    assert not verdict.satisfied
    assert verdict.measure == "records that no label explains"
    assert verdict.facts["worst"] == pytest.approx(math.sqrt(0.5))


def test_figure_1_tells_nothing_new_to_who_estimates_the_prior_from_it():
    knowledge = Knowledge.from_rows(FIGURE_1, unlinked="linked")
    prior = estimated_prior(released(FIGURE_1D).sets("terms"), knowledge)
    assert prior.tolist() == [1, 0]
    assert QSCloseness(column="terms", t=0).audit(released(FIGURE_1D, knowledge, prior)).satisfied


# Edges.

FIVE = [(name, ["x", name.lower()]) for name in "ABCDE"]


def test_ties_at_c_are_decided_exactly():
    """p = (1/2, 1/3, 1/6): p1 = 1 * (p2 + p3), and (1/2) / (1/6) = 3."""
    rows = [("g", {"a"})] * 3 + [("g", {"b"})] * 2 + [("g", {"c"})]
    release = released(rows, Knowledge.from_rows(FIVE))
    tiny = Fraction(1, 10**30)
    for c, l in ((Fraction(1), 2), (Fraction(3), 3)):
        assert QSDiversity(column="terms", c=c, l=l).audit(release).satisfied
        verdict = QSDiversity(column="terms", c=c - tiny, l=l).audit(release)
        assert not verdict.satisfied
        assert verdict.facts["smallest_l"] == l - 1
    assert QSDiversity(column="terms", c=10**12, l=3).audit(release).satisfied
    assert not QSDiversity(column="terms", c=10**12, l=4).audit(release).satisfied


def test_thirds_and_sevenths_do_not_round_a_tie_away():
    table = [(f"L{i}", [f"t{j}" for j in range(10) if i <= j]) for i in range(10)]  # tj explains j + 1 labels
    rows = [("g", {"t2"})] * 3 + [("g", {"t6"})] * 7 + [("h", {"t2"}), ("h", {"t6"})]
    release = released(rows, Knowledge.from_rows(table))
    falling = sorted(
        posterior([terms for group, terms in rows if group == "h"], table, "linked").values(), reverse=True
    )
    c = falling[0] / sum(falling[3:])
    assert QSDiversity(column="terms", c=c, l=4).audit(release).satisfied
    assert not QSDiversity(column="terms", c=c - Fraction(1, 10**40), l=4).audit(release).satisfied


def test_ties_at_t_pass_and_what_exceeds_the_tolerance_does_not():
    knowledge = Knowledge.from_rows([("A", ["a"]), ("B", ["b"])], weight={"A": 0.3, "B": 0.7})
    release = released([("g", {"a"})] * 3 + [("g", {"b"})] * 2, knowledge)  # 0.3 sqrt 2 = sqrt 0.18
    exact = Fraction(math.isqrt(18 * 10**38), 10**20)  # a little below sqrt 0.18
    assert QSCloseness(column="terms", t=exact).audit(release).satisfied
    assert QSCloseness(column="terms", t=exact).audit(release).reached == pytest.approx(float(exact), abs=1e-15)
    verdict = QSCloseness(column="terms", t=exact - Fraction(3, 10**9)).audit(release)
    assert not verdict.satisfied
    assert verdict.reached > verdict.required


def test_a_distance_of_zero_is_zero():
    rng = np.random.default_rng(0)
    table = [(f"L{i}", [f"t{j}" for j in rng.choice(40, 12, replace=False)]) for i in range(300)]
    knowledge = Knowledge.from_rows(table)
    rows = [("g", set(rng.choice(table[rng.integers(300)][1], 3, replace=False))) for _ in range(200)]
    prior = estimated_prior(released(rows).sets("terms"), knowledge)
    verdict = QSCloseness(column="terms", t=0).audit(released(rows, knowledge, prior))
    assert verdict.satisfied
    assert verdict.reached == 0


def test_planted_violations_are_found_and_counted():
    rng = np.random.default_rng(4)
    table = [(f"L{i:02d}", ["common", f"own{i}"]) for i in range(60)]
    knowledge = Knowledge.from_rows(table)
    rows = [(f"g{i // 5}", {"common"}) for i in range(500)]
    model, near = QSDiversity(column="terms", c=1, l=30), QSCloseness(column="terms", t=0.1)
    prior = np.full(60, 1 / 60)
    assert model.audit(released(rows, knowledge, prior)).satisfied
    assert near.audit(released(rows, knowledge, prior)).satisfied
    for place in rng.choice(100, 7, replace=False).tolist():
        rows[5 * place : 5 * place + 3] = [(f"g{place}", {"common", "own3"})] * 3
    rows = [rows[i] for i in rng.permutation(500)]
    for verdict in (audit(released(rows, knowledge, prior)) for audit in (model.audit, near.audit)):
        assert not verdict.satisfied
        assert (verdict.failing, verdict.failing_rows, verdict.groups) == (7, 35, 100)
        assert verdict.facts["worst_group_rows"] == 5


def test_an_unknown_term_hides_a_record_and_the_verdict_counts_it():
    knowledge = Knowledge.from_rows(FIVE, unlinked="linked")
    rows = [("g", {"a", "b", "typo"}), ("g", {"typo"})]
    verdict = QSDiversity(column="terms", c=1, l=2).audit(released(rows, knowledge))
    assert not verdict.satisfied
    assert verdict.reached is None
    assert verdict.facts["unlinkable_rows"] == 2
    assert verdict.facts["vacuous_groups"] == 1
    assert "NOTHING TO JUDGE" in str(verdict)
    assert "2 of 2 records" in verdict.notes[0]
    for strict in (Knowledge.from_rows(FIVE), Knowledge.from_rows(FIVE, unlinked="forbid")):
        verdict = QSDiversity(column="terms", c=1, l=2).audit(released(rows, strict))
        assert (verdict.satisfied, verdict.reached, verdict.required, verdict.failing) == (False, 2, 0, 1)


def test_a_label_with_two_rows_counts_once():
    knowledge = Knowledge.from_rows([("A", ["x", "y"]), ("A", ["x", "z"]), ("B", ["x"])])
    verdict = QSDiversity(column="terms", c=1, l=2).audit(released([("g", {"x"})], knowledge))
    assert verdict.reached == 1  # 1/2 and 1/2


def test_the_order_of_everything_does_not_matter():
    rng = np.random.default_rng(9)
    table = [(f"L{i}", [f"t{j}" for j in rng.choice(20, 6, replace=False)]) for i in range(30)]
    rows = [(f"g{rng.integers(6)}", set(rng.choice(table[rng.integers(30)][1], 2))) for _ in range(60)]
    model = QSDiversity(column="terms", c="1/2", l=3)
    first = model.audit(released(rows, Knowledge.from_rows(table)))
    shuffled = [rows[i] for i in rng.permutation(60)]
    second = model.audit(released(shuffled, Knowledge.from_rows(table[::-1])))
    assert second.reached == pytest.approx(first.reached)
    assert second.facts == first.facts
    assert (second.failing, second.failing_rows, second.groups) == (first.failing, first.failing_rows, first.groups)


def test_without_rows_there_is_nothing_to_judge():
    release = released([], Knowledge.from_rows(FIVE), np.full(5, 0.2))
    for model in (QSDiversity(column="terms", c=1, l=2), QSCloseness(column="terms", t=0.1)):
        verdict = model.audit(release)
        assert (verdict.satisfied, verdict.groups, verdict.reached) == (False, 0, None)


def test_repeated_and_unsorted_codes_are_read_as_the_set_that_they_are():
    release = released([("g", {"a", "x"})], Knowledge.from_rows(FIVE))
    sets = release.sets("terms")
    odd = CodedSets(
        name="terms",
        role=sets.role,
        labels=("x", "a", "x"),
        items=np.array([2, 1, 0, 1], np.int32),
        start=np.array([0, 4]),
    )
    object.__setattr__(release, "columns", {**release.columns, "terms": odd})
    assert QSDiversity(column="terms", c=1, l=1).audit(release).facts["smallest_l"] == 1


# Parameters and what cannot be judged.


@pytest.mark.parametrize("c", [0, -1, "-1/3", "many", float("nan"), 10**13])
def test_c_must_be_a_positive_number(c):
    with pytest.raises(PolicyError, match="c of qs-diversity"):
        QSDiversity(column="terms", c=c, l=2)


@pytest.mark.parametrize("l", [0, -2, 1.5, "3", True])
def test_l_must_be_a_positive_whole_number(l):
    with pytest.raises(PolicyError, match="l of qs-diversity"):
        QSDiversity(column="terms", c=1, l=l)


@pytest.mark.parametrize("t", [-0.1, 1.5, "1.41421356237309504881", "x"])
def test_t_must_be_a_distance_of_distributions(t):
    with pytest.raises(PolicyError, match="t of qs-closeness"):
        QSCloseness(column="terms", t=t)


def test_the_largest_t_is_below_the_square_root_of_two():
    assert QSCloseness(column="terms", t="1.4142135623730950488").t < math.sqrt(2) + 1e-15


@pytest.mark.parametrize("column", ["", None, 3])
def test_the_column_must_be_a_name(column):
    with pytest.raises(PolicyError, match="the name of a column"):
        QSDiversity(column=column, c=1, l=2)
    with pytest.raises(PolicyError, match="the name of a column"):
        QSCloseness(column=column, t=0.2)


def test_parameters_read_back_as_they_were_written():
    assert describe(QSDiversity(column="s", c=0.5, l=3)) == {"model": "qs-diversity", "column": "s", "c": 0.5, "l": 3}
    close = {"model": "qs-closeness", "column": "s", "t": "1/3", "distance": "euclidean"}
    assert describe(QSCloseness(column="s", t="1/3")) == close


def test_promises_speak_of_the_parameters():
    assert (
        "at most 1 times as likely as all labels but the 29 most likely" in QSDiversity(column="s", c=1, l=30).promise
    )
    assert "surer of a label than 50 %" in QSDiversity(column="s", c=1, l=30).promise
    assert "surer" not in QSDiversity(column="s", c=1, l=1).promise
    assert "by at most 0.4" in QSCloseness(column="s", t=0.4).promise
    for model in (QSDiversity(column="s", c=1, l=2), QSCloseness(column="s", t=0.4)):
        assert model.limit
        assert model.judged_columns == ("s",)


@pytest.mark.parametrize("model", [QSDiversity(column="terms", c=1, l=2), QSCloseness(column="terms", t=0.4)])
def test_what_cannot_be_judged_is_refused(model):
    rows = [("g", {"a"})]
    with pytest.raises(DataError, match="no knowledge table was given"):
        model.audit(released(rows))
    knowledge = Knowledge.from_rows(FIVE)
    wrong = type(model)(**{**vars(model), "column": "term"})
    with pytest.raises(DataError, match="which the release does not have"):
        wrong.audit(released(rows, knowledge))
    of_class = type(model)(**{**vars(model), "column": "group"})
    with pytest.raises(DataError, match="which is a quasi-identifier"):
        of_class.audit(released(rows, knowledge))
    single = {"terms": ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.CATEGORY)}
    release = Release.from_table(pa.table({"group": ["g"], "terms": ["a"]}), Schema({**SCHEMA.columns, **single}))
    with pytest.raises(DataError, match='kind = "set"'):
        model.audit(replace(release, public=PublicInputs(knowledge)))


def test_closeness_needs_a_prior():
    with pytest.raises(DataError, match="nothing says what was believed before"):
        QSCloseness(column="terms", t=0.4).audit(released([("g", {"a"})], Knowledge.from_rows(FIVE)))


# What can be reached.


@given(small_fractions, st.integers(1, 12), st.integers(1, 10))
def test_reachable_asks_the_uniform_belief(c, l, n_labels):
    uniform = {label: Fraction(1, n_labels) for label in range(n_labels)}
    reach = reachable(c, l, n_labels)
    assert reach.holds == diverse(uniform, c, l)
    if reach.nearest_l is not None:
        assert diverse(uniform, c, reach.nearest_l)
        assert not diverse(uniform, c, reach.nearest_l + 1)
    else:
        assert not diverse(uniform, c, 1)
    if reach.nearest_c is not None:
        assert diverse(uniform, reach.nearest_c, l)
        assert not diverse(uniform, reach.nearest_c - Fraction(1, 10**9), l)
    else:
        assert l > n_labels


def test_an_unreachable_requirement_is_refused_with_the_nearest_one():
    knowledge = Knowledge.from_rows(FIVE)
    QSDiversity(column="terms", c=1, l=5).check_reachable(knowledge)
    with pytest.raises(Unsatisfiable, match="l = 5 with this c"):
        QSDiversity(column="terms", c=1, l=6).check_reachable(knowledge)
    with pytest.raises(Unsatisfiable, match=r"l = 2 with this c, or c = 0\.5 with this l"):
        QSDiversity(column="terms", c="1/4", l=4).check_reachable(knowledge)
