"""Releases with all rows of people: what is promised of people holds, counted by slow definitions."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, PlanError, Unsatisfiable

NUMBERS = {"age": {"role": "quasi-identifier"}, "town": {"role": "quasi-identifier"}}
LABELS = {
    "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 20]}},
    "town": {"role": "quasi-identifier", "hierarchy": {"prefix": 2}},
}
SHAPES = {"mondrian": NUMBERS, "local-recoding": LABELS, "full-domain": LABELS}
MODELS: dict[str, list[dict[str, Any]]] = {
    "k": [],
    "distinct": [{"model": "l-diversity", "sensitive": "illness", "l": 2}],
    "frequency": [{"model": "l-diversity", "sensitive": "illness", "l": 2, "kind": "frequency"}],
    "t": [{"model": "t-closeness", "sensitive": "illness", "t": 0.5}],
}


def stays(seed: int, *, varying: bool, people: int = 60) -> pa.Table:
    """Stays of people; what is known of a person may differ from one to the next."""
    chance = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        age, town = int(chance.integers(20, 60)), str(chance.choice(["aa", "ab", "ba", "bb"]))
        for _ in range(int(chance.choice([1, 1, 2, 4]))):
            rows.append(
                {
                    "pid": f"K{person * 37 % 1009}",
                    "age": age + (int(chance.integers(0, 3)) if varying else 0),
                    "town": str(chance.choice(["aa", "ba"])) if varying and chance.random() < 0.1 else town,
                    "illness": str(chance.choice(["flu", "gout", "hiv", "burn", "cold", "acne"])),
                    "ward": str(chance.choice(["A", "B"])),
                }
            )
    chance.shuffle(rows)
    return pa.Table.from_pylist(rows)


def plan_for(anonymizer: str, models: list[dict[str, Any]], **release: Any) -> dict[str, Any]:
    required = [{"model": "k-anonymity", "k": 4}, *models]
    return {
        "source": {"person": "pid"},
        "columns": {**SHAPES[anonymizer], "illness": {"role": "sensitive"}, "ward": {"role": "other"}},
        "require": [{**each, "anonymizer": anonymizer} for each in required],
        "release": {"persons": "numbered", **release},
    }


checked = sf.Plan.from_dict


def by_definition(table: pa.Table) -> tuple[dict[Any, list[Any]], dict[Any, frozenset[Any]]]:
    """Return the classes of people, and what each of them has."""
    clues, has = defaultdict(set), defaultdict(set)
    for row in table.to_pylist():
        clues[row["pid"]].add((row["age"], row["town"]))
        has[row["pid"]].add(row["illness"])
    classes: dict[Any, list[Any]] = defaultdict(list)
    for person, combinations in clues.items():
        classes[frozenset(combinations)].append(person)
    return classes, {person: frozenset(values) for person, values in has.items()}


def holds(name: str, classes: Mapping[Any, list[Any]], has: Mapping[Any, frozenset[Any]]) -> bool:
    if min(map(len, classes.values())) < 4:
        return False
    everybody = Counter(has.values())
    for members in classes.values():
        shares = Counter(value for person in members for value in has[person])
        if name == "frequency" and max(shares.values()) * 2 > len(members):
            return False
        if name == "distinct" and max(shares.values()) == len(members):  # one value hits everybody
            return False
        if name == "t":
            here = Counter(has[person] for person in members)
            apart = sum(
                abs(Fraction(here[each], len(members)) - Fraction(everybody[each], len(has))) for each in everybody
            )
            if apart / 2 > Fraction(1, 2):
                return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("anonymizer", SHAPES)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("varying", [False, True])
def test_what_is_promised_of_people_holds_by_definition(anonymizer: str, name: str, varying: bool) -> None:
    for seed in range(3):
        original = stays(seed, varying=varying)
        run = sf.anonymize(original, checked(plan_for(anonymizer, MODELS[name])), seed=seed)
        table = run.release.data
        classes, has = by_definition(table)
        assert holds(name, classes, has)
        assert all(len(combinations) == 1 for combinations in classes)  # a person is in one class as a whole
        assert sorted(map(len, has.values())) == sorted(map(len, by_definition(original)[1].values()))
        assert sorted(table.column("pid").unique().to_pylist()) == list(range(1, 61))
        assert table.num_rows == original.num_rows


@pytest.mark.parametrize("anonymizer", SHAPES)
def test_labels_cover_every_row_of_a_person(anonymizer: str) -> None:
    original = stays(7, varying=True)
    plan = plan_for(anonymizer, [], shuffle=False)
    table = sf.anonymize(original, checked(plan), seed=1).release.data
    for before, after in zip(original.to_pylist(), table.to_pylist(), strict=True):
        assert covers(after["age"], before["age"]), (before, after)
        town = str(after["town"])
        among = town.strip("{}").split("|")
        assert town == "*" or before["town"] in among or before["town"].startswith(town.rstrip("*"))


def covers(label: str, value: int) -> bool:
    if label == "*" or label == str(value):
        return True
    low, high = label.strip("[]()").split(", ")
    return int(low) <= value < int(high) if label.endswith(")") else int(low) <= value <= int(high)


def test_people_lose_little_more_than_their_first_rows_would() -> None:
    original = stays(3, varying=False, people=200)
    run = sf.anonymize(original, checked(plan_for("mondrian", [])), seed=1)
    first = original.group_by("pid", use_threads=False).aggregate(
        [(name, "first") for name in ("age", "town", "illness", "ward")]
    )
    first = first.rename_columns([name.removesuffix("_first") for name in first.column_names])
    alone = {**plan_for("mondrian", []), "release": {}}
    alone["source"] = {}
    alone["columns"] = {**alone["columns"], "pid": {"role": "identifier"}}
    lost = [
        next(each.value for each in made.measurements if each.name == "ncp")
        for made in (run, sf.anonymize(first, checked(alone), seed=1))
    ]
    assert lost[0] == pytest.approx(lost[1], abs=1e-9)


def planted(run: Any, change: Any) -> bool:
    table = run.release.data.to_pylist()
    change(table)
    verdicts = sf.audit(pa.Table.from_pylist(table), checked(plan_for("local-recoding", MODELS["frequency"])))
    return all(verdict.satisfied for verdict in verdicts)


def test_planted_violations_are_found() -> None:
    run = sf.anonymize(stays(1, varying=False), checked(plan_for("local-recoding", MODELS["frequency"])), seed=1)
    assert planted(run, lambda rows: None)
    twice = next(p for p, count in Counter(row["pid"] for row in run.release.data.to_pylist()).items() if count > 1)

    def move_one_row(rows: list[dict[str, Any]]) -> None:
        other = next(row["age"] for row in rows if row["pid"] != twice)
        next(row for row in rows if row["pid"] == twice and row["age"] != other)["age"] = other

    def move_one_person(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if row["pid"] == twice:
                row["age"], row["town"] = "[20, 24]", "zz"

    def give_all_the_same(rows: list[dict[str, Any]]) -> None:
        labels = next((row["age"], row["town"]) for row in rows)
        for row in rows:
            if (row["age"], row["town"]) == labels:
                row["illness"] = "flu"

    def name_people(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["pid"] = f"K{row['pid']}"

    for change in (move_one_row, move_one_person, give_all_the_same, name_people):
        assert not planted(run, change), change.__name__


def test_rows_that_hold_as_rows_do_not_hold_as_people() -> None:
    table = pa.table(
        {
            "pid": [1] * 6 + [2] * 6,
            "age": ["20"] * 12,
            "town": ["aa"] * 12,
            "illness": ["flu", "gout"] * 6,
            "ward": ["A"] * 12,
        }
    )
    [verdict] = sf.audit(table, checked(plan_for("mondrian", [])))
    assert (verdict.satisfied, verdict.reached) == (False, 2)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"require": [{"model": "beta-likeness", "sensitive": "illness", "beta": 1}]}, "beta-likeness counts rows"),
        ({"require": [{"model": "k-anonymity", "k": 4, "anonymizer": "microaggregation"}]}, "microaggregation cannot"),
        ({"release": {"persons": "numbered", "shows": "mean"}}, "no figures"),
        ({"source": {}}, "whose row each is"),
        ({"gather": {"columns": {"illness": "last"}}}, "Leave one out"),
    ],
)
def test_what_cannot_be_kept_for_people_is_refused_with_the_reason(change: dict[str, Any], found: str) -> None:
    with pytest.raises(PlanError, match=found):
        sf.Plan.from_dict({**plan_for("mondrian", []), **change}).searchable()


def test_without_the_key_several_rows_are_refused_and_the_way_is_told() -> None:
    with pytest.raises(DataError, match='persons = "numbered"'):
        sf.anonymize(stays(1, varying=False), checked({**plan_for("mondrian", []), "release": {}}))


def test_a_value_that_most_people_have_cannot_be_spread() -> None:
    table = stays(2, varying=False)
    flu = (
        table.append_column("x", pa.array(["flu"] * table.num_rows))
        .drop_columns(["illness"])
        .rename_columns(["pid", "age", "town", "ward", "illness"])
    )
    both = pa.concat_tables([table.select(flu.column_names), flu])
    with pytest.raises(Unsatisfiable, match="counts people"):
        sf.anonymize(both, checked(plan_for("mondrian", MODELS["frequency"])))


def test_every_choice_of_one_value_each_is_looked_at() -> None:
    """The definition of distinct above is that of all choices, for two values."""
    for members in ([{"a", "b"}, {"b"}, {"c", "b"}], [{"a"}, {"b", "c"}], [{"a", "b"}, {"b", "c"}, {"a", "c"}]):
        fewest = min(len(set(choice)) for choice in itertools.product(*members))
        shares = Counter(value for each in members for value in each)
        assert (fewest >= 2) == (max(shares.values()) < len(members))


@pytest.mark.parametrize(
    ("k", "values", "found"),
    [
        (3, ("flu", "gout"), "Classes of at least 3 people are asked for; the table has 2"),
        (1, ("flu", "flu"), "all 2 people as one class: column 'illness' has 1 different value"),
        (1, (("flu", "gout"), ("flu",)), "all 2 people as one class: column 'illness' has too few values to tell"),
    ],
)
def test_what_cannot_be_met_is_said_of_people(k: int, values: tuple[Any, ...], found: str) -> None:
    each = [(who, value) for who, some in enumerate(values) for value in (some if isinstance(some, tuple) else (some,))]
    table = pa.table({"p": [who for who, _ in each], "age": [30] * len(each), "illness": [value for _, value in each]})
    plan = sf.Plan.from_dict(
        {
            "source": {"person": "p"},
            "columns": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}},
            "require": [{"model": "k-anonymity", "k": k}, *MODELS["distinct"]],
            "release": {"persons": "numbered"},
        }
    )

    with pytest.raises(Unsatisfiable, match=found):
        sf.anonymize(table, plan)
