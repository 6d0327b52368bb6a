"""One row a person, for whoever counts people whose rows all stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.encoding import encode
from sfumato.data.people import by_person, people_of
from sfumato.data.persons import persons_by
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.models import KAnonymity
from sfumato.models.judging.classes import classes_of

ROLES = {"p": Role.OTHER, "age": Role.QUASI_IDENTIFIER, "town": Role.QUASI_IDENTIFIER, "illness": Role.SENSITIVE}
SCHEMA = Schema({name: ColumnSpec(name=name, role=role) for name, role in ROLES.items()}, person="p", rest=Role.OTHER)


def long_table(seed: int, people: int = 12) -> pa.Table:
    chance = np.random.default_rng(seed)
    who = np.concatenate([np.arange(people), chance.integers(0, people, 2 * people)])
    chance.shuffle(who)
    return pa.table(
        {
            "p": who + 1,
            "age": [20 + int(each) % 3 + int(chance.integers(0, 2)) for each in who],
            "town": [f"t{each % 2}" for each in who],
            "illness": [[None, "flu", "gout", "hiv"][chance.integers(0, 4)] for _ in who],
            "ward": [f"w{chance.integers(0, 2)}" for _ in who],
            "blood": [f"b{each % 4}" for each in who],
        }
    )


@pytest.mark.parametrize("seed", range(20))
def test_people_are_alike_if_the_same_combinations_stand_in_their_rows(seed: int) -> None:
    table = long_table(seed)
    release = Release.from_table(table, SCHEMA)
    folded = by_person(release)
    rows = table.to_pylist()
    combinations = {p: frozenset((r["age"], r["town"]) for r in rows if r["p"] == p) for p in range(1, 13)}
    sizes = sorted(list(combinations.values()).count(each) for each in set(combinations.values()))
    assert sorted(classes_of(folded).size.tolist()) == sizes
    assert KAnonymity(k=2).audit(folded).satisfied == (min(sizes) >= 2)
    values = {p: frozenset(r["illness"] for r in rows if r["p"] == p) for p in range(1, 13)}
    shown = folded.column("illness")
    assert len(set(shown.codes.tolist())) == len(set(values.values()))
    assert "p" not in folded.order  # the number of a person tells nothing about them
    assert {"ward", "blood"} <= set(folded.order)


def test_rows_one_by_one_are_judged_by_nobody() -> None:
    with pytest.raises(DataError, match="one by one"):
        KAnonymity(k=2).audit(Release.from_table(long_table(0), SCHEMA))


def test_the_middle_of_a_persons_values_stands_for_them_while_classes_are_formed() -> None:
    table = pa.table({"p": ["b", "a", "b", "b"], "age": [30, 50, 20, 90], "town": ["x"] * 4, "illness": ["flu"] * 4})
    people = people_of(encode(table, SCHEMA), persons_by(table, "p", SCHEMA))
    ages = people.column("age")
    assert sorted(ages.labels[code] for code in ages.codes) == ["30", "50"]
    assert people.rows is not None
    assert people.rows.varying == {"age"}
    assert people.rows.table.carried is None  # the numbers of people are gone
    assert people.column("illness").labels == ("flu",)


def test_new_numbers_are_1_2_3_and_so_on_else_they_do_not_belong_there() -> None:
    table = long_table(1)
    assert not Release.from_table(table, SCHEMA).strays
    other = table.set_column(0, "p", pa.array([f"K{each}" for each in table.column("p").to_pylist()]))
    assert [str(stray.kind.name) for stray in Release.from_table(other, SCHEMA).strays] == ["NUMBERS"]


def test_whoever_cannot_be_told_is_an_error() -> None:
    table = long_table(2)
    with pytest.raises(DataError, match="does not have it"):
        Release.from_table(table.drop_columns(["p"]), SCHEMA)
    gaps = table.set_column(0, "p", pa.array([None, *table.column("p").to_pylist()[1:]]))
    with pytest.raises(DataError, match="1 of 36 rows"):
        Release.from_table(gaps, SCHEMA)
    with pytest.raises(DataError, match="1 of 36 rows"):
        persons_by(gaps, "p", SCHEMA)


def test_sets_are_refused_by_name() -> None:
    schema = Schema(
        {**SCHEMA.columns, "codes": ColumnSpec(name="codes", role=Role.SENSITIVE, kind=Kind.SET)}, person="p"
    )
    table = pa.table({"p": [1, 1], "age": [1, 1], "town": ["x", "x"], "illness": ["a", "a"], "codes": [["a"], ["b"]]})
    with pytest.raises(DataError, match="'codes' holds sets"):
        by_person(Release.from_table(table, schema))
