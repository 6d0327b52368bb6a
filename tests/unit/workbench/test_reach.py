"""What can be met at all, beside every release of tiny tables."""

from __future__ import annotations

import random
from functools import cache

import pyarrow as pa
import pytest

from judging import ILLNESSES, JOBS, KNOWLEDGE, SCHEMA, people, release_of
from sfumato.data.encoding import encode
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.generators import hospital
from sfumato.generators.requirements import REQUIREMENTS, ROWS, plan_for
from sfumato.models import (
    PRIVACY_MODELS,
    AlphaDiversity,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    MultiDiversity,
    Policy,
    QSCloseness,
    QSDiversity,
    RhoUncertainty,
    SensitiveQidCloseness,
    SensitiveQidDiversity,
    TCloseness,
)
from sfumato.pipeline.known import Gathering
from sfumato.plan import Plan
from sfumato.workbench.bench import Workbench
from sfumato.workbench.reach import State, reach

AGES = ("20-29", "30-39")
TERMS = ("cough", "fever", "headache", "nausea", "sore throat")
BOTH = ("illness", "father")
MODELS = [
    *(KAnonymity(k=k) for k in (2, 3, 4, 5)),
    *(LDiversity(sensitive="illness", l=l) for l in (2, 3)),
    *(LDiversity(sensitive="illness", l=l, kind="entropy") for l in (2, "5/2")),
    *(LDiversity(sensitive="illness", l=l, kind="frequency") for l in (2, "5/2")),
    *(LDiversity(sensitive="illness", l=2, kind="recursive", c=c) for c in (1, 3)),
    *(TCloseness(sensitive="illness", t=t) for t in (0, "0.1", "0.3")),
    *(TCloseness(sensitive="pay", t=t, distance="ordered") for t in (0, "0.1", "0.2")),
    *(TCloseness(sensitive="illness", t=t, distance="hierarchical") for t in ("0.1", "0.3")),
    BetaLikeness(sensitive="illness", beta="0.1"),
    DeltaDisclosure(sensitive="illness", delta="0.1"),
    *(KMap(k=k, population="people.csv") for k in (10, 18, 19)),
    *(DeltaPresence(low=low, high=high, population="people.csv") for low, high in ((0, "0.2"), (0, "0.3"), ("0.3", 1))),
    *(QSDiversity(column="symptoms", c=c, l=l) for c, l in ((1, 2), ("0.2", 2), (1, 5), (1, 6))),
    *(QSCloseness(column="symptoms", t=t) for t in ("0.01", "0.4")),
    *(AlphaDiversity(sensitive="illness", alpha=alpha, k=k) for alpha, k in (("0.5", 1), ("0.3", 5))),
    *(MultiDiversity(sensitive=BOTH, alpha_sa=alpha, k=k) for alpha, k in (("0.6", 2), ("0.3", 3), ("0.6", 5))),
    *(AlphaDiversity(sensitive="illness", alpha="0.2", k=1, reading=reading) for reading in ("uniform", "true")),
    *(MultiDiversity(sensitive=BOTH, alpha_sa="0.2", k=1, reading=reading) for reading in ("uniform", "true")),
    RhoUncertainty(column="basket", rho="0.01"),
]


def _table(chance):
    """Return the rows of a tiny table, with values of every column that is judged."""
    few = chance.choice([list(ILLNESSES)[:2], list(ILLNESSES)])
    return [
        {
            "age": chance.choice(AGES),
            "illness": chance.choice(few),
            "father": chance.choice(few),
            "pay": str(chance.choice([1000, 2000, 3000])),
            "symptoms": "|".join(chance.sample(TERMS, chance.randint(0, 2))),
            "basket": "|".join(chance.sample(["bread", "wine", "pills"], 2)),
        }
        for _ in range(4)
    ]


TABLES = [_table(random.Random(seed)) for seed in (7, 8)]


def partitions(rows):
    """Return each way to divide rows into classes, as the number of each row's class."""
    found = [[0]]
    for _ in rows[1:]:
        found = [[*classes, another] for classes in found for another in range(max(classes) + 2)]
    return found


def coarser(what, rows, chance):
    """Return rows with some of what a requirement may withhold withheld, cell by cell."""

    def cell(name, value):
        if what == "masks" and name in BOTH:
            return chance.choice(ILLNESSES[value])
        if what == "terms" and name == "symptoms":
            return "|".join(term for term in value.split("|") if chance.random() < 0.3)
        return value

    return [{name: cell(name, value) for name, value in row.items()} for row in rows]


def about(model):
    """Return what a requirement may withhold besides quasi-identifiers, or that labels have to cover people."""
    if isinstance(model, KMap | DeltaPresence):
        return "people"
    return "masks" if model.masks else "terms" if model.judged_role is Role.QUASI_SENSITIVE else "nothing"


def originals(rows):
    return {"illnesses": [row["illness"] for row in rows], "fathers": [row["father"] for row in rows]}


@cache
def releases(what, number):
    """Return every division of a tiny table into classes, with some of what else may be withheld, and the release."""
    chance, rows, found = random.Random(1), TABLES[number], []
    for classes in partitions(rows) * (2 if what in ("masks", "terms") else 1):
        labels = [f"class {each}" for each in classes]
        if what == "people":  # labels have to cover those who are meant
            ages = [{row["age"] for row, own in zip(rows, classes, strict=True) if own == each} for each in classes]
            labels = [next(iter(each)) if len(each) == 1 else "*" for each in ages]
        shown = [row | {"age": label} for row, label in zip(coarser(what, rows, chance), labels, strict=True)]
        found.append((classes, release_of(shown, **originals(rows))))
    return found


@cache
def reached(place, number):
    model, rows = MODELS[place], TABLES[number]
    names = [name for name in SCHEMA.columns if name in rows[0]]
    table = pa.table({name: [row[name] for row in rows] for name in names})
    dataset = encode(table, Schema({name: SCHEMA.columns[name] for name in names}))
    (found,) = reach(dataset, Policy((model,)), release_of(rows, **originals(rows)).public)
    return found


# Where much else may be withheld, one table has many releases.
ASKED = [
    (place, number)
    for place, model in enumerate(MODELS)
    for number in range(len(TABLES))
    if number == 0 or about(model) == "nothing"
]


@pytest.mark.slow
@pytest.mark.parametrize(("place", "number"), ASKED, ids=str)
def test_what_is_impossible_no_release_meets_and_what_leaves_nothing_none_with_two_classes(place, number):
    model, found = MODELS[place], reached(place, number)
    assert found.state is not State.UNKNOWN or not model.least_decides, found.words
    if found.state is State.IMPOSSIBLE:
        assert not any(model.audit(release).satisfied for _, release in releases(about(model), number))
    elif found.classes is not None:
        asked = ((max(classes) + 1, release) for classes, release in releases(about(model), number))
        held = [count for count, release in asked if model.audit(release).satisfied]
        assert max(held, default=1) <= found.classes
        assert (found.state is State.EMPTY) == (found.classes <= 1)


def test_every_model_is_compared_and_each_state_occurs():
    by_cells = {SensitiveQidDiversity.name, SensitiveQidCloseness.name}
    states = {reached(*each).state for each in ASKED}

    assert {model.name for model in MODELS} | by_cells <= set(PRIVACY_MODELS)
    assert {model.name for model in MODELS} | by_cells >= {
        name for name, make in PRIVACY_MODELS.items() if make.judged_role is Role.SENSITIVE and not make.needs
    }
    assert states == set(State)


@pytest.mark.parametrize(
    ("model", "state", "best"),
    [
        (SensitiveQidDiversity(l={"job": 6}), State.IMPOSSIBLE, 5),
        (SensitiveQidDiversity(l={"job": 5}), State.EMPTY, 5),
        (SensitiveQidDiversity(l={"job": 4}), State.POSSIBLE, 5),
        (SensitiveQidDiversity(l={"job": 6}, small_domain="lower"), State.POSSIBLE, 5),
        (SensitiveQidCloseness(t={"job": "0.01"}), State.POSSIBLE, 0),
    ],
    ids=str,
)
def test_a_randomized_cell_shows_no_more_than_its_domain(model, state, best):
    spec = ColumnSpec(name="job", role=Role.SENSITIVE_QUASI_IDENTIFIER, domain=JOBS)
    dataset = encode(pa.table({"job": list(JOBS) * 2}), Schema({"job": spec}))

    (found,) = reach(dataset, Policy((model,)), PublicInputs())

    assert (found.state, found.best) == (state, best)


def test_a_knowledge_table_of_few_labels_bounds_what_can_be_asked():
    few = Knowledge.from_rows([("flu", ["cough"]), ("cold", ["cough"])])
    dataset = encode(pa.table({"age": ["1", "2"], "symptoms": ["cough", ""]}), _only("age", "symptoms"))
    policy = Policy((QSDiversity(column="symptoms", c=1, l=3),))

    assert reach(dataset, policy, PublicInputs(few))[0].state is State.IMPOSSIBLE
    assert reach(dataset, policy, PublicInputs(KNOWLEDGE))[0].state is State.POSSIBLE


def _only(*names):
    return Schema({name: SCHEMA.columns[name] for name in names})


def test_where_rows_may_be_dropped_only_a_run_can_tell():
    dataset = encode(pa.table({"age": ["1", "2", "3"]}), _only("age"))
    policy = Policy((KAnonymity(k=4), KAnonymity(k=3), KAnonymity(k=1)))

    plain, fewer = (reach(dataset, policy, PublicInputs(), drops_rows=drops) for drops in (False, True))

    assert [each.state for each in plain] == [State.IMPOSSIBLE, State.EMPTY, State.POSSIBLE]
    assert [each.state for each in fewer] == [State.UNKNOWN, State.UNKNOWN, State.POSSIBLE]


def test_what_is_not_at_hand_leaves_it_unknown_with_the_reason():
    rows = TABLES[0]
    dataset = encode(pa.table({"age": [row["age"] for row in rows]}), _only("age"))

    (found,) = reach(dataset, Policy((KMap(k=2, population="nobody.csv"),)), PublicInputs(populations=people()))

    assert found.state is State.UNKNOWN
    assert "nobody.csv" in found.words


@pytest.mark.slow
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_model_answers_about_made_up_patients(name, tmp_path):
    plan = Plan.from_dict(plan_for({name: None}, tmp_path), tmp_path)
    dataset = encode(hospital(ROWS), plan.schema)
    known = Gathering(plan, lambda: dataset, judging=True).known()

    (found,) = reach(dataset, plan.policy, known.public)

    assert found.state is State.POSSIBLE, found.words
    assert found.as_dict()["model"] == name


def test_people_are_counted_where_all_their_rows_stay(tmp_path):
    lines = [f"{person},{20 + person},{illness}" for person in range(12) for illness in ("flu", "gout", "hiv")]
    (tmp_path / "stays.csv").write_text("\n".join(["pid,age,illness", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(
        '[source]\npath = "stays.csv"\nperson = "pid"\n[release]\npersons = "numbered"\n'
        '[columns.age]\nrole = "quasi-identifier"\n[columns.illness]\nrole = "sensitive"\n'
        '[[require]]\nmodel = "k-anonymity"\nk = 4\n'
        '[[require]]\nmodel = "l-diversity"\nsensitive = "illness"\nl = 2\nkind = "frequency"\n',
        encoding="utf-8",
    )
    told_of = Workbench(tmp_path / "plan.toml").reach()
    assert told_of[0].classes == 3
    assert told_of[1].state is not State.POSSIBLE  # everybody has every value
