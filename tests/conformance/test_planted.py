"""Every audit finds a planted violation: a release that holds, a few cells changed, and what is wrong by count.

What is planted breaks the definition as well, as the page of the model states it: slow code that shares nothing with
the audits says so. What breaks only what is said of how cells were drawn says that it does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from fuzzing.columns import Column
from fuzzing.definitions import judge
from fuzzing.plans import Case
from judging import (
    ETA,
    EXPLAINED,
    ILLNESSES,
    JOBS,
    ORGANS,
    PEOPLE,
    PLAIN,
    PRIOR,
    RELATED,
    SCHEMA,
    WORK,
    release_of,
)
from sfumato.data.people import by_person
from sfumato.data.schema import Kind, Role
from sfumato.models import (
    PRIVACY_MODELS,
    AlphaDiversity,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    HkpCoherence,
    KAnonymity,
    KmAnonymity,
    KMap,
    LDiversity,
    LocalDifferentialPrivacy,
    MultiDiversity,
    PrivacyModel,
    QSCloseness,
    QSDiversity,
    RhoUncertainty,
    SensitiveQidCloseness,
    SensitiveQidDiversity,
    TCloseness,
)
from sfumato.models.base import Policy, describe
from sfumato.parameters import Takes, parameters_of
from sfumato.pipeline import judging
from sfumato.pipeline.known import Known


@dataclass(frozen=True)
class Planted:
    """A requirement, rows that meet it, what is changed in some of them, and what must be found then."""

    model: PrivacyModel
    rows: list[dict[str, str]]
    changes: dict[int, dict[str, str]]  # by number of the row
    failing: int
    failing_rows: int
    known: dict[str, object] = field(default_factory=dict)  # about the original, and how it was randomized
    spoiled: dict[str, object] = field(default_factory=dict)  # what is changed of that
    fault: str = ""  # of cells that are not what was said of their chances, whatever beliefs they lead to

    def __str__(self) -> str:
        said = describe(self.model).values()
        people = ["people"] if "persons" in self.known else []
        return " ".join([str(value) for value in said if isinstance(value, str)] + people)

    def cells(self, *, spoiled: bool):
        changes = self.changes if spoiled else {}
        return [row | changes.get(number, {}) for number, row in enumerate(self.rows)]

    def release(self, *, spoiled: bool):
        found = release_of(self.cells(spoiled=spoiled), **self.known | (self.spoiled if spoiled else {}))
        return by_person(found)


def classes(column, *values):
    """Return two classes with the same values in a column."""
    return [{"age": age, column: value} for age in ("20-29", "30-39") for value in values]


def crossed():
    """Return a class in which no illness tells anything about the father's."""
    return [{"illness": ours, "father": theirs} for ours in ("flu", "ulcer") for theirs in ("cold", "ulcer")]


PAIRS = ["|".join(pair) for pair in combinations(JOBS, 2)]
SPREAD = {"jobs": JOBS * 40, "p": 0.5}
SICK = classes("illness", "flu", "flu", "ulcer", "ulcer")
ALL_FLU = {row: {"illness": "flu"} for row in (2, 3)}
WARDS = classes("ward", "flu", "flu", "ulcer", "ulcer")
FEVER = classes("symptoms", "fever", "fever")
GIVEN_AWAY = {row: {"symptoms": "cough|fever"} for row in (0, 1)}
ALONE = [{"job": pair, "note": str(number)} for number, pair in enumerate(PAIRS * 20)]  # nobody is like anybody else
TWICE = {"persons": [0, 0, 1, 1, 2, 2, 3, 3]}
BASKETS = classes("basket", "bread|milk", "bread|milk", "wine", "wine")
COLD_OR_NOTHING = {"illnesses": ["flu", "flu", "cold", "cold", "ulcer", "ulcer", None, None]}
UNTOLD = [{"age": age, "illness": ill} for age in ("20-29", "30-39") for ill in ("flu", "cold", "ulcer", None)]

PLANTED = [
    Planted(KAnonymity(k=3), classes("ward", "flu", "flu", "flu"), {0: {"age": "30-39"}}, 1, 2),
    # Two rows are left, of one person.
    Planted(KAnonymity(k=2), SICK, {row: {"age": "30-39"} for row in (2, 3)}, 1, 1, TWICE),
    Planted(LDiversity(sensitive="illness", l=2), SICK, ALL_FLU, 1, 4),
    Planted(LDiversity(sensitive="illness", l=2, kind="entropy"), SICK, ALL_FLU, 1, 4),
    Planted(LDiversity(sensitive="illness", l=2, kind="recursive", c=2), SICK, ALL_FLU, 1, 4),
    Planted(LDiversity(sensitive="illness", l=2, kind="frequency"), SICK, {2: {"illness": "flu"}}, 1, 4),
    # Whoever knows that the father has an ulcer: he or she has flu.
    Planted(
        LDiversity(sensitive="illness", l=2, known="father"),
        crossed(),
        {2: {"father": "ulcer"}, 1: {"father": "cold"}},
        2,
        4,
    ),
    # Both people of the class have had both.
    Planted(LDiversity(sensitive="illness", l=2), SICK, {1: {"illness": "ulcer"}, 2: {"illness": "flu"}}, 1, 2, TWICE),
    Planted(TCloseness(sensitive="ward", t="0.2"), WARDS, {2: {"ward": "flu"}, 3: {"ward": "flu"}}, 2, 8),
    Planted(
        TCloseness(sensitive="ward", t="0.2", distance="hierarchical"),
        WARDS,
        {2: {"ward": "flu"}, 3: {"ward": "flu"}},
        2,
        8,
    ),
    Planted(
        TCloseness(sensitive="pay", t="0.2", distance="ordered"),
        classes("pay", "1000", "1000", "9000", "9000"),
        {2: {"pay": "1000"}, 3: {"pay": "1000"}},
        2,
        8,
    ),
    Planted(TCloseness(sensitive="illness", t="0.2", known="father"), crossed(), {0: {"father": "ulcer"}}, 1, 1),
    Planted(TCloseness(sensitive="ward", t="0.4"), WARDS, {1: {"ward": "ulcer"}, 2: {"ward": "flu"}}, 2, 4, TWICE),
    # Of six flus and two ulcers, half of the second class are ulcers: twice as many as expected. That all of the first
    # are flus is a gain of a third, which is more than -ln(6/8).
    Planted(BetaLikeness(sensitive="illness", beta="0.5"), SICK, ALL_FLU, 1, 4),
    Planted(BetaLikeness(sensitive="illness", beta="0.5", kind="enhanced"), SICK, ALL_FLU, 2, 8),
    Planted(DeltaDisclosure(sensitive="illness", delta="0.3"), SICK, {2: {"illness": "flu"}}, 1, 4),
    Planted(KMap(k=6, population="people.csv"), classes("ward", "flu", "flu", "flu"), {0: {"age": "40-49"}}, 1, 1),
    Planted(
        DeltaPresence(high="0.5", population="people.csv"),
        classes("ward", "flu", "flu", "flu"),  # of ten people three, of six three
        {0: {"age": "30-39"}},
        1,
        4,
    ),
    Planted(
        DeltaPresence(low="0.3", high="1", population="people.csv"),
        [*classes("ward", "flu", "flu", "flu"), {"age": "40-49"}],  # of all people three in ten or more
        {0: {"age": "30-39"}},
        1,
        2,
    ),
    Planted(QSDiversity(column="symptoms", c=1, l=2), FEVER, GIVEN_AWAY, 1, 2),
    Planted(QSCloseness(column="symptoms", t="0.6"), FEVER, GIVEN_AWAY, 1, 2),
    Planted(
        QSCloseness(column="symptoms", t="0.4", distance="hierarchical"),
        FEVER,
        GIVEN_AWAY,
        1,
        2,
        {"knowledge": RELATED},
    ),
    *(
        Planted(AlphaDiversity(sensitive="illness", alpha="0.5", reading=reading), SICK, {2: {"illness": "flu"}}, 1, 4)
        for reading in ("prior", "uniform", "true")
    ),
    Planted(AlphaDiversity(sensitive="illness", alpha="0.5", k=4), SICK, {0: {"age": "30-39"}}, 1, 3),
    Planted(  # of four people in the class two or more have nothing that is known
        AlphaDiversity(sensitive="illness", alpha="0.4", k=1), UNTOLD, {0: {"illness": None}}, 1, 4, COLD_OR_NOTHING
    ),
    Planted(
        AlphaDiversity(sensitive="illness", alpha="0.4", k=1, missing_is_sensitive=False),
        [*UNTOLD, {"age": "20-29", "illness": None}],  # five people, of whom two have nothing that is known
        {1: {"illness": "flu"}, 2: {"illness": "flu"}},
        1,
        5,
        COLD_OR_NOTHING,
    ),
    *(
        Planted(
            MultiDiversity(sensitive=("illness", "father"), alpha_sa="0.5", alpha_qi="0.75", reading=reading),
            crossed(),
            {0: {"father": "ulcer"}},  # now the flu gives it away, a cold of the father the illness, his ulcer nearly
            3,
            4,
        )
        for reading in ("prior", "uniform", "true")
    ),
    Planted(  # the class alone makes the father's ulcer likely
        MultiDiversity(sensitive=("illness", "father"), alpha_sa=1, alpha_qi="0.5"),
        crossed(),
        {0: {"father": "ulcer"}},
        1,
        4,
    ),
    Planted(
        MultiDiversity(sensitive=("illness", "father"), alpha_sa=1, alpha_qi="0.5", missing_is_sensitive=False),
        crossed(),
        {0: {"father": "ulcer"}, 1: {"illness": None}},
        1,
        4,
        {"illnesses": ["flu", "flu", None, "ulcer"]},
    ),
    *(
        Planted(
            SensitiveQidDiversity(l={"job": 2}, kind=kind, small_domain=small),
            ALONE,
            {7: {"job": "nurse"}},  # one cell of another size: then none can be trusted
            200,
            200,
            SPREAD,
        )
        for kind in ("frequency", "entropy")
        for small in ("error", "suppress", "lower")
    ),
    *(
        Planted(
            SensitiveQidCloseness(t={"job": "0.31"}, distance=distance, prior=prior),
            [{"job": pair} for pair in PAIRS * 20],
            {},
            1,
            200,
            SPREAD,
            {"p": 1},  # cells that were not drawn by chance show the value
        )
        for distance in ("equal", "ordered", "hierarchical")
        for prior in ("table", "any")
    ),
    Planted(
        LocalDifferentialPrivacy(epsilon={"job": 4}),
        [{"job": pair} for pair in PAIRS * 20],
        {},
        1,
        200,
        SPREAD,
        {"p": 1},
    ),
    *(
        Planted(
            model,
            [{"job": pair} for pair in PAIRS * 20],
            {row: {"job": "baker|clerk"} for row in range(200)},  # nobody draws so by chance
            1,
            200,
            SPREAD,
            fault="values shown more or less often than p and eta allow",
        )
        for model in (SensitiveQidCloseness(t={"job": "0.5"}), LocalDifferentialPrivacy(epsilon={"job": 4}))
    ),
    Planted(
        RhoUncertainty(column="basket", rho="0.5"),
        [{"basket": items} for items in ("bread|wine", "bread", "milk", "milk|pills", "bread|milk")],
        {2: {"basket": "milk|pills"}},
        1,
        0,
    ),
    Planted(
        RhoUncertainty(column="basket", rho="0.5", within="classes"),
        [{"age": age, "basket": items} for age, items in zip("aabb", ("wine", "bread", "wine", "milk"), strict=True)],
        {3: {"basket": "wine"}},
        1,
        0,
    ),
    Planted(
        RhoUncertainty(column="basket", rho="0.5", empty_antecedent=True),
        [{"basket": items} for items in ("wine", "bread", "wine", "milk")],
        {3: {"basket": "wine"}},
        1,
        0,
    ),
    # Nobody else of the class has both.
    Planted(KmAnonymity(column="basket", k=2, m=2), BASKETS, {2: {"basket": "milk|wine"}}, 1, 1),
    # One person alone in a class, whose basket is empty.
    Planted(
        KmAnonymity(column="basket", k=2, m=2),
        [{"age": age, "basket": items} for age, items in zip("aaabb", ("milk",) * 3 + ("",) * 2, strict=True)],
        {4: {"age": "a", "basket": "milk"}},
        1,
        1,
    ),
    # Of four people in two classes one has milk.
    Planted(
        KmAnonymity(column="basket", k=2, m=2, within="table"),
        [{"age": age, "basket": items} for age in ("20-29", "30-39") for items in ("milk", "wine")],
        {0: {"basket": "wine"}},
        1,
        1,
    ),
    Planted(
        HkpCoherence(column="basket", h="0.5", k=2, p=1),
        classes("basket", "bread|wine", "bread", "milk|pills", "milk"),
        {1: {"basket": "bread|wine"}},
        1,
        2,
    ),
    # Four of six people of a class have wine; no basket with bread has it.
    Planted(
        HkpCoherence(column="basket", h="0.5", k=2, p=1),
        classes("basket", "wine", "wine", "bread", "bread", "", ""),
        {4: {"basket": "wine"}, 5: {"basket": "wine"}},
        1,
        6,
    ),
    # One person alone in a class, of whom no public item is told.
    Planted(
        HkpCoherence(column="basket", h="0.6", k=2, p=1),
        [{"age": age, "basket": items} for age, items in zip("aaaabb", ("bread",) * 4 + ("wine", ""), strict=True)],
        {4: {"age": "a", "basket": "bread"}},
        1,
        1,
    ),
    Planted(
        HkpCoherence(column="basket", h="0.5", k=2, p=1, within="table"),
        [{"age": age, "basket": items} for age in ("20-29", "30-39") for items in ("milk", "bread|wine")]
        + [{"basket": "bread"}] * 2,
        {0: {"basket": "wine"}},
        1,
        1,
    ),
]


def test_every_model_has_a_planted_violation_and_so_has_every_way_to_ask_for_it():
    asked = {
        (name, parameter.name, choice)
        for name, model in PRIVACY_MODELS.items()
        for parameter in parameters_of(model)
        for choice in (parameter.choices or ((True, False) if parameter.takes is Takes.FLAG else ()))
    }
    said = [(planted.model.name, key, value) for planted in PLANTED for key, value in describe(planted.model).items()]
    planted = {(*where, value) for *where, value in said if isinstance(value, str | bool)}

    assert {planted.model.name for planted in PLANTED} == set(PRIVACY_MODELS)
    assert asked - planted == set()


def test_every_model_that_counts_people_has_a_violation_that_rows_alone_do_not_show():
    of_people = [planted for planted in PLANTED if "persons" in planted.known]

    assert {planted.model.name for planted in of_people} == {
        name for name, model in PRIVACY_MODELS.items() if model.counts_people
    }
    for planted in of_people:
        assert planted.model.audit(release_of(planted.cells(spoiled=True))).satisfied


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_violation_is_found(planted):
    before = planted.model.audit(planted.release(spoiled=False))
    after = planted.model.audit(planted.release(spoiled=True))

    assert before.satisfied, before
    assert (before.failing, before.failing_rows) == (0, 0)
    assert not after.satisfied
    assert (after.failing, after.failing_rows) == (planted.failing, planted.failing_rows)
    assert after.model is planted.model
    assert "FAILS" in str(after)
    assert planted.fault in str(after)


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_it_breaks_the_definition(planted):
    assert holds(planted, spoiled=False)
    assert holds(planted, spoiled=True) == bool(planted.fault)


def holds(planted, *, spoiled):
    """Whether rows meet a requirement, by the slow definition of its model."""
    known, rows = planted.known | (planted.spoiled if spoiled else {}), planted.cells(spoiled=spoiled)
    shown = {name: [cell_of(spec, {**PLAIN, **row}[name]) for row in rows] for name, spec in SCHEMA.columns.items()}
    if "persons" in known:
        shown = together(shown, known["persons"])
    required = describe(planted.model)
    if "population" in required:
        return among_all(Counter(shown["age"]), required)
    given = {"illness": known.get("illnesses", ILLNESSES), "father": ILLNESSES, "job": known.get("jobs", JOBS)}
    columns = [
        column_of(spec, list(given.get(name, shown[name]))) for name, spec in SCHEMA.columns.items() if name in shown
    ]
    case = Case("planted", (), len(shown["age"]), columns=columns)
    case.knowledge = [(label, frozenset(terms)) for label, terms in EXPLAINED.items()]
    case.prior = {label: Fraction(str(share)) for label, share in PRIOR.items()}
    case.groups = {label: (organ,) for organ, labels in ORGANS.items() for label in labels}
    stated = {"columns": {"job": {"domain": list(JOBS), "eta": ETA, "p": known.get("p", 1)}}}
    return judge(case, shown, required, stated)


def cell_of(spec, text):
    if spec.kind is not Kind.SET:
        return text
    return text.split("|") if text else []


def column_of(spec, cells):
    """Return a column as definitions look at it."""
    tree = WORK if spec.name == "job" else ILLNESSES
    paths = {value: path[1:-1] for value, path in tree.items()} if spec.hierarchy is not None else None
    extra = {"sensitive_items": spec.sensitive_items}
    return Column(spec.name, str(spec.role), str(spec.kind), cells, paths=paths, extra=extra)


def together(shown, persons):
    """Return one row a person: all combinations of quasi-identifiers in their rows, all their sensitive values."""
    clues = [name for name, spec in SCHEMA.columns.items() if spec.role is Role.QUASI_IDENTIFIER]
    rows_of = {person: [row for row, each in enumerate(persons) if each == person] for person in sorted({*persons})}
    alike = {
        name: clues if name in clues else [name] for name, spec in SCHEMA.columns.items() if spec.kind is not Kind.SET
    }
    return {
        name: [str(sorted({tuple(shown[each][row] for each in names) for row in rows})) for rows in rows_of.values()]
        for name, names in alike.items()
    }


def among_all(rows_of, required):
    """Whether each class of rows, by age, is about many enough of all people, and few enough of these are in it."""
    people = PEOPLE[required["population"]]
    if required["model"] == "k-map":
        return all(people[age] >= required["k"] for age in rows_of)
    low, high = (Fraction(str(required[name])) for name in ("low", "high"))
    return all(low <= Fraction(rows_of[age], people[age]) <= high for age in people)


@pytest.mark.parametrize("planted", [planted for planted in PLANTED if "persons" not in planted.known], ids=str)
def test_it_is_found_as_well_where_equal_rows_are_held_once(planted):
    verdict = planted.model.audit(planted.release(spoiled=True).weighted())

    assert (verdict.satisfied, verdict.failing, verdict.failing_rows) == (False, planted.failing, planted.failing_rows)


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_release_without_rows_has_nothing_to_judge(planted):
    release = planted.release(spoiled=False)
    nobody = replace(release.rows(np.empty(0, np.int32), None), person_of=None, truth=None)

    rates = {name: each for name, each in release.public.base_rates.items() if name != "job"}  # counted in the rows
    public = replace(release.public, base_rates=rates)

    verdict, *_ = judging.judge(nobody, Policy((planted.model,)), Known(public))

    assert (verdict.satisfied, verdict.nothing_to_judge) == (False, "the table has no row")


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_verdict_names_counts_and_no_values(planted):
    found = str(planted.model.audit(planted.release(spoiled=True)).as_dict())

    assert not any(value in found for value in ("flu", "ulcer", "nurse", "baker", "cough", "pills", "wine"))
