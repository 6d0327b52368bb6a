"""Term suppression as an anonymizer: what it publishes passes the audits, what it cannot do it says."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_up_terms import knowledge_table, term_records
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import steps
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.term_suppression import TermSuppression, suppress_terms
from sfumato.anonymizers.term_suppression.conditions import ask_terms, refuse_unreachable
from sfumato.anonymizers.term_suppression.margin import drawn
from sfumato.anonymizers.term_suppression.suppressing import facts_of
from sfumato.data.encoding import encode
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.generators import patients
from sfumato.models import KAnonymity
from sfumato.models.base import Policy, describe
from sfumato.models.judging.beliefs import estimated_prior
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity

SCHEMA = Schema(
    {
        "group": ColumnSpec(name="group", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
    }
)
FIGURE = [
    ("Flu", ["Fever", "Cough", "Headache"]),
    ("Hepatitis B", ["Fatigue", "Vomiting", "Fever"]),
    ("Migraine", ["Headache", "Nausea"]),
    ("Pneumonia", ["Fever", "Cough", "Chest pain"]),
]


def told(result):
    return facts_of([result.said], result.merged, "exact", margin=False)


def a_dataset(seed=4, rows=200, noise=0.0):
    knowledge = knowledge_table(labels=150, terms=60, per_label=8, spread=20, seed=seed)
    records = term_records(knowledge, rows, terms=4, noise=noise, seed=seed)
    table = pa.table(
        {"group": [f"g{i // 5}" for i in range(rows)], "symptoms": records.cells(knowledge.terms)},
    )
    return encode(table, SCHEMA), knowledge


def decided(dataset, models, workplace, **options):
    """What mondrian and term suppression decide together, as in a plan."""
    recoding = Recoding()
    asked = steps(dataset.schema, Policy(models), chosen={}, options={TermSuppression.name: TermSuppression(**options)})
    for step in asked:
        recoding = step.carry_out(dataset, recoding, workplace)
    return recoding


def judged(dataset, recoding, knowledge, prior, models):
    release = replace(
        publish(dataset, recoding, [describe(model) for model in models]), public=PublicInputs(knowledge, prior)
    )
    return [model.audit(release) for model in models]


@pytest.mark.slow
@pytest.mark.parametrize("unlinked", ["linked", "zero", "forbid"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_every_release_passes_the_audits(unlinked, noise):
    dataset, knowledge = a_dataset(noise=noise)
    object.__setattr__(knowledge, "unlinked", unlinked)
    prior = estimated_prior(dataset.columns["symptoms"], knowledge)
    for models in (
        [QSCloseness(column="symptoms", t=0.3)],
        [QSDiversity(column="symptoms", c=1, l=8)],
        [QSDiversity(column="symptoms", c=2, l=5), QSCloseness(column="symptoms", t=0.35)],
    ):
        recoding = TermSuppression().anonymize(
            dataset, Policy(tuple(models)), Recoding(), Workplace(threads=2, public=PublicInputs(knowledge))
        )
        assert all(verdict.satisfied for verdict in judged(dataset, recoding, knowledge, prior, models))
        facts = recoding.facts["symptoms"]
        assert facts["groups"] == 40
        assert 0 < facts["cost"] < 1
        assert facts["lower_bound"] <= facts["cost"]
        assert (
            facts["terms_removed"] == dataset.columns["symptoms"].items.size - recoding.columns["symptoms"].items.size
        )


def test_the_prior_is_the_one_that_the_audit_estimates():
    for unlinked in ("linked", "zero", "forbid"):
        dataset, knowledge = a_dataset(noise=0.2)
        object.__setattr__(knowledge, "unlinked", unlinked)
        sets = dataset.columns["symptoms"]
        model = QSCloseness(column="symptoms", t=1.4)
        whole = np.zeros(dataset.n_rows, dtype=np.int32)
        prior = estimated_prior(sets, knowledge)
        result = suppress_terms(sets, whole, ask_terms(sets, knowledge, prior, [model]))
        if unlinked != "forbid":
            assert result.said.found.distance[0] < 1e-20


def test_dropping_one_headache_is_enough():
    """Headache and vomiting are explained by no disease; without the headache they are those of hepatitis B."""
    knowledge = Knowledge.from_rows(FIGURE)
    table = pa.table({"group": ["a"] * 2, "symptoms": ["Headache|Vomiting", "Nausea"]})
    dataset = encode(table, SCHEMA)
    model = QSDiversity(column="symptoms", c=1, l=2)
    sets = dataset.columns["symptoms"]
    result = suppress_terms(sets, np.zeros(2, np.int32), ask_terms(sets, knowledge, None, [model]))
    assert [result.sets.cell(row) for row in range(2)] == [("Vomiting",), ("Nausea",)]
    assert told(result)["cost"] == pytest.approx(1 / 5)
    assert told(result)["unlinked_records"] == 1


def test_groups_that_cannot_reach_t_are_named_or_merged():
    knowledge = Knowledge.from_rows([("a", ["x"]), ("b", ["y"]), ("c", ["z"])], weight={"a": 0.5, "b": 0.5, "c": 0.0})
    dataset = encode(pa.table({"group": ["1", "2"], "symptoms": ["x", "y"]}), SCHEMA)
    policy = Policy((QSCloseness(column="symptoms", t=0.1),))
    with pytest.raises(Unsatisfiable, match="2 of 2 groups"):
        TermSuppression().anonymize(dataset, policy, Recoding(), Workplace(public=PublicInputs(knowledge)))
    sets = dataset.columns["symptoms"]
    result = suppress_terms(
        sets,
        np.array([0, 1], np.int32),
        ask_terms(sets, knowledge, knowledge.weight, list(policy.of(QSCloseness))),
        parent=np.array([2, 2, -1]),
    )
    assert result.node_of.tolist() == [2, 2]
    assert told(result)["groups_merged"] == 2
    assert told(result)["terms_removed"] == 0


def test_impossible_diversity_is_refused_before_any_search():
    dataset, knowledge = a_dataset()
    policy = Policy((QSDiversity(column="symptoms", c="1/1000", l=140),))
    with pytest.raises(Unsatisfiable, match="nearest that can be reached"):
        TermSuppression().anonymize(dataset, policy, Recoding(), Workplace(public=PublicInputs(knowledge)))


@pytest.mark.slow
def test_published_searches_cost_no_less():
    dataset, knowledge = a_dataset(rows=30)
    models = [QSCloseness(column="symptoms", t=0.3)]
    cost = {}
    for search in ("exact", "adaptive", "dfs"):
        recoding = TermSuppression(search=search, time_limit=0.2).anonymize(
            dataset, Policy(tuple(models)), Recoding(), Workplace(public=PublicInputs(knowledge))
        )
        prior = estimated_prior(dataset.columns["symptoms"], knowledge)
        assert judged(dataset, recoding, knowledge, prior, models)[0].satisfied
        cost[search] = recoding.facts["symptoms"]["cost"]
    assert cost["exact"] <= min(cost.values())


def test_wrong_options_and_missing_knowledge_are_refused():
    for options in (
        {"search": "fast"},
        {"node_budget": -1},
        {"time_limit": 0},
        {"time_limit": "1"},
        {"joint": 1},
        {"joint": True, "search": "dfs"},
        {"weight": -1},
    ):
        with pytest.raises(PolicyError):
            TermSuppression(**options)
    dataset, knowledge = a_dataset(rows=10)
    policy = Policy((QSCloseness(column="symptoms", t=0.3),))
    with pytest.raises(DataError, match="knowledge"):
        TermSuppression().anonymize(dataset, policy, Recoding(), Workplace())
    twice = [QSDiversity(column="symptoms", c=1, l=3), QSDiversity(column="symptoms", c=1, l=4)]
    with pytest.raises(PolicyError, match="2 times"):
        ask_terms(dataset.columns["symptoms"], knowledge, None, twice)


def test_generalization_alone_satisfies_the_requirement_without_removing_terms():
    dataset, knowledge = a_dataset(rows=300)
    prior = estimated_prior(dataset.columns["symptoms"], knowledge)
    for models in (
        [QSCloseness(column="symptoms", t=0.3)],
        [QSDiversity(column="symptoms", c=1, l=8), KAnonymity(k=3)],
    ):
        recoding = Mondrian().anonymize(
            dataset, Policy(tuple(models)), Recoding(), Workplace(threads=2, public=PublicInputs(knowledge, prior))
        )
        assert "symptoms" not in recoding.columns
        assert 1 < recoding.facts["classes"] < 60
        assert all(verdict.satisfied for verdict in judged(dataset, recoding, knowledge, prior, models))


def test_generalization_alone_says_what_the_whole_table_reaches():
    knowledge = Knowledge.from_rows(FIGURE)
    dataset = encode(pa.table({"group": ["a"] * 3, "symptoms": ["Nausea"] * 3}), SCHEMA)
    policy = Policy((QSDiversity(column="symptoms", c=1, l=2),))
    with pytest.raises(Unsatisfiable, match="reach l = 1 with this c"):
        Mondrian().anonymize(dataset, policy, Recoding(), Workplace(public=PublicInputs(knowledge)))


def test_one_step_loses_no_more_than_two_in_what_it_aims_at():
    dataset, knowledge = a_dataset(rows=400)
    prior = estimated_prior(dataset.columns["symptoms"], knowledge)
    models = (KAnonymity(k=2), QSCloseness(column="symptoms", t=0.4))
    workplace = Workplace(public=PublicInputs(knowledge, prior))
    for weight in (0, 1, 50):
        after = decided(dataset, models, workplace, joint=True, weight=weight)
        assert all(verdict.satisfied for verdict in judged(dataset, after, knowledge, prior, models))
        if weight == 50:
            two_steps = decided(dataset, models, workplace)
            assert after.facts["symptoms"]["cost"] < two_steps.facts["symptoms"]["cost"]
    with pytest.raises(PolicyError, match="nothing was split"):
        TermSuppression(joint=True).anonymize(dataset, Policy((models[1],)), Recoding(), workplace)


def people_with_terms(order, knowledge, sets):
    """Made-up people and their terms, in some order of rows and of terms within a cell."""
    people = patients(240).select(["age", "sex", "zip"]).append_column("symptoms", pa.array(sets))
    shuffled = people.take(pa.array(order))
    schema = {
        name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, kind=kind)
        for name, kind in (("age", Kind.NUMBER), ("sex", Kind.CATEGORY), ("zip", Kind.CATEGORY))
    }
    return encode(shuffled, Schema({**schema, "symptoms": SCHEMA.columns["symptoms"]}))


@pytest.mark.slow
@pytest.mark.parametrize("joint", [False, True])
def test_the_release_depends_neither_on_threads_nor_on_the_order_of_anything(joint):
    rows = [(f"label {i}", [f"term {(i * 7 + j * j) % 40}" for j in range(6)]) for i in range(60)]
    chance = np.random.default_rng(2)
    sets = ["|".join(chance.permutation(rows[chance.integers(60)][1])[:4].tolist()) for _ in range(240)]
    models = (KAnonymity(k=3), QSCloseness(column="symptoms", t=0.35))
    found = []
    for seed, threads in ((0, 1), (0, 2), (1, 1), (2, 2)):
        mix = np.random.default_rng(seed)
        order = mix.permutation(240) if seed else np.arange(240)
        knowledge = Knowledge.from_rows([rows[i] for i in mix.permutation(60)] if seed else rows)
        cells = ["|".join(mix.permutation(cell.split("|")).tolist()) if seed else cell for cell in sets]
        dataset = people_with_terms(order, knowledge, cells)
        prior = estimated_prior(dataset.columns["symptoms"], knowledge)
        workplace = Workplace(threads=threads, public=PublicInputs(knowledge, prior))
        after = decided(dataset, models, workplace, joint=joint)
        assert after.facts["symptoms"]["terms_removed"] > 0
        found.append(sorted(str(row) for row in publish(dataset, after, []).table().to_pylist()))
    assert found[0] == found[1] == found[2] == found[3]


@pytest.mark.slow
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_prior_is_called_out_of_reach_only_if_no_removal_reaches_it(data):
    """Against all ways to keep terms of a few records, as one group: the bound is never above the best of them."""
    rows = [("a", ["x", "y"]), ("b", ["y", "z"]), ("c", ["z"]), ("a", ["w"])]
    share = data.draw(st.integers(0, 10)) / 10
    weight = {"a": share, "b": (1 - share) / 2, "c": (1 - share) / 2}
    cells = data.draw(st.lists(st.frozensets(st.sampled_from("wxyzq"), max_size=3), min_size=1, max_size=3))
    t = data.draw(st.sampled_from([0.05, 0.2, 0.4]))
    knowledge = Knowledge.from_rows(rows, weight=weight)
    table = pa.table({"group": ["g"] * len(cells), "symptoms": ["|".join(sorted(cell)) for cell in cells]})
    sets = encode(table, SCHEMA).columns["symptoms"]

    def distance(kept):
        links = [{label for label, known in rows if cell <= set(known)} for cell in kept]
        links = [found for found in links if found]
        if not links:
            return 0.0
        belief = {label: sum((label in found) / len(found) for found in links) / len(links) for label in "abc"}
        return sum((belief[label] - weight[label]) ** 2 for label in "abc") ** 0.5

    subsets = [
        [frozenset(kept) for size in range(len(cell) + 1) for kept in combinations(cell, size)] for cell in cells
    ]
    nearest = min(distance(kept) for kept in product(*subsets))
    refused = False
    try:
        refuse_unreachable(sets, knowledge, [QSCloseness(column="symptoms", t=t)])
    except Unsatisfiable:
        refused = True
    assert not refused or nearest > t


def test_a_prior_out_of_reach_is_refused_before_any_search_with_the_nearest_value():
    knowledge = Knowledge.from_rows(FIGURE, weight={"Flu": 0.9, "Hepatitis B": 0.1, "Migraine": 0.0, "Pneumonia": 0.0})
    sets = encode(pa.table({"group": ["a"] * 2, "symptoms": ["Nausea", "Fever"]}), SCHEMA).columns["symptoms"]
    # "Fever" leads to the flu with 1/3, no term at all with 1/4: 7/24 at most.
    with pytest.raises(Unsatisfiable, match=r"No release comes closer to this prior than 0\.6083"):
        refuse_unreachable(sets, knowledge, [QSCloseness(column="symptoms", t=0.6)])
    refuse_unreachable(sets, knowledge, [QSCloseness(column="symptoms", t=0.61)])


@pytest.mark.parametrize("counts", [[1, 1, 1], [3, 1, 2], [1, 5, 4]])
def test_a_prior_is_as_far_from_records_that_stand_for_several_as_from_each_of_them(counts):
    knowledge = Knowledge.from_rows(FIGURE, weight={"Flu": 0.9, "Hepatitis B": 0.1, "Migraine": 0.0, "Pneumonia": 0.0})
    texts = ["Nausea", "Fever", "Nausea|Cough"]  # nothing explains the last as it is
    told = []
    for rows, weights in ((np.arange(3), np.array(counts)), (np.repeat(np.arange(3), counts), None)):
        table = pa.table({"group": ["a"] * rows.size, "symptoms": [texts[row] for row in rows]})
        sets = encode(table, SCHEMA).columns["symptoms"]
        with pytest.raises(Unsatisfiable) as found:
            refuse_unreachable(sets, knowledge, [QSCloseness(column="symptoms", t=0.1)], weights)
        told.append(str(found.value))
    assert told[0] == told[1]


def test_columns_named_in_another_order_are_read_together_all_the_same():
    knowledge = Knowledge.from_rows(FIGURE)
    spec = SCHEMA.columns["symptoms"]
    schema = Schema({**SCHEMA.columns, "signs": replace(spec, name="signs")})
    cells = {"symptoms": ["Nausea", "Fever", "Fever", "Headache"] * 2, "signs": ["Headache", "Cough", "", "Nausea"] * 2}
    dataset = encode(pa.table({"group": ["a"] * 8, **cells}), schema)
    models = (
        QSDiversity(column=["symptoms", "signs"], c=1, l=2),
        QSCloseness(column=["signs", "symptoms"], t=0.2),
    )
    recoding = TermSuppression().anonymize(
        dataset, Policy(models), Recoding(), Workplace(public=PublicInputs(knowledge, np.full(4, 0.25)))
    )

    verdicts = judged(dataset, recoding, knowledge, np.full(4, 0.25), models)
    assert [verdict.satisfied for verdict in verdicts] == [True, True]


def test_a_margin_makes_the_groups_that_are_drawn_safer_and_changes_no_other():
    dataset, table = a_dataset()
    sets, class_of = dataset.columns["symptoms"], np.repeat(np.arange(40), 5)
    asked = ask_terms(sets, table, None, [QSDiversity(column="symptoms", c=1, l=8)])

    plain = suppress_terms(sets, class_of, asked)
    safer = suppress_terms(
        sets, class_of, asked, margin=0.5, workplace=Workplace(rng=np.random.default_rng(1), seeded=True)
    )

    chosen = drawn(40, 0.5, np.random.default_rng(1).bytes(32))
    assert 10 < chosen.sum() < 30
    assert safer.said.in_margin.sum() == chosen.sum()
    assert (safer.said.found.cost[~chosen] == plain.said.found.cost[~chosen]).all()
    assert (safer.said.found.cost >= plain.said.found.cost).all()
    assert (safer.said.found.cost > plain.said.found.cost).any()
    rows, start = np.arange(200), np.arange(0, 201, 5)
    stricter = ask_terms(safer.sets, table, asked.belief, [QSDiversity(column="symptoms", c=1, l=10)])
    assert stricter.hold(rows, start)[chosen].all()
    assert not stricter.hold(rows, start).all()


def test_the_share_in_the_margin_is_public_and_which_groups_are_in_it_is_not():
    dataset, knowledge = a_dataset()
    models = (QSDiversity(column="symptoms", c=1, l=8),)
    prior = estimated_prior(dataset.columns["symptoms"], knowledge)

    recoding = decided(dataset, models, Workplace(public=PublicInputs(knowledge, prior)), margin=0.3)

    assert recoding.public == {"symptoms": {"margin": 0.3}}
    assert all(verdict.satisfied for verdict in judged(dataset, recoding, knowledge, prior, models))
    with pytest.raises(PolicyError, match="margin of term-suppression"):
        TermSuppression(margin=0.3, search="dfs")


def test_another_key_draws_other_groups():
    one, two = drawn(1000, 0.2, bytes(32)), drawn(1000, 0.2, bytes(range(32)))

    assert 150 < one.sum() < 250
    assert (one != two).sum() > 200
    assert not drawn(1000, 0.0, bytes(32)).any()
    assert drawn(0, 0.2, bytes(32)).size == 0
