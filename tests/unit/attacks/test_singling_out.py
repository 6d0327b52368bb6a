"""Who is alone with what the plan leaves as it is, against a plain tally."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks import Asked, SinglingOut
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema

SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
        "ward": ColumnSpec(name="ward", role=Role.OTHER),
        "date": ColumnSpec(name="date", role=Role.OTHER),
        "symptoms": ColumnSpec(name="symptoms", role=Role.QUASI_SENSITIVE, kind=Kind.SET),
        "basket": ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("wine",)),
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE),
    },
    missing=("",),
)
CELLS = {
    "age": ("20-29", "30-39"),
    "ward": ("1", "2", None),
    "date": ("May", "June"),
    "symptoms": ("", "cough", "cough|fever"),
    "basket": ("bread", "bread|wine", "wine", "bread|milk"),
    "ill": ("flu", "HIV"),
}
rows_of = st.lists(st.fixed_dictionaries({name: st.sampled_from(cells) for name, cells in CELLS.items()}), max_size=12)


def release_of(rows):
    return Release.from_table(
        pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in CELLS}), SCHEMA
    )


def known(row, columns):
    """Return what the intruder knows of a row: whole cells, but no wine."""
    cells = [row[name] for name in ("age", *columns)]
    return tuple(
        "|".join(set((cell or "").split("|")) - {"wine"}) if "wine" in (cell or "") else cell for cell in cells
    )


@given(rows=rows_of, threshold=st.sampled_from([0, 0.3, 0.5, 0.9]))
def test_groups_are_those_of_a_plain_tally_with_and_without_weights(rows, threshold):
    def exposed(columns):
        groups = Counter(known(row, columns) for row in rows)
        return sum(size for size in groups.values() if size * threshold < 1), groups

    release, all_wine = release_of(rows), bool(rows) and all(row["basket"] == "wine" for row in rows)
    for table in (release, release.weighted()):
        attacks = list(SinglingOut.suited_to(table, Asked(threshold=threshold)))
        assert [attack.columns for attack in attacks] == [
            ("ward", "date"),
            ("symptoms",) if all_wine else ("symptoms", "basket"),
        ]
        for attack in attacks:
            found, (people, groups) = attack.on(table), exposed(attack.columns)
            assert (found.people, found.exposed) == (len(rows), people)
            assert found.worst == (1 / min(groups.values()) if rows else 0)
            assert found.facts["groups"] == len(groups)
            assert found.facts["unique"] == sum(size == 1 for size in groups.values())
            assert found.facts["without"] == exposed(())[0]
            assert found.facts["columns"] == {name: exposed((name,))[0] for name in attack.columns}
            assert attack.guess(table).people == len(rows)


def test_titles_name_the_columns_and_what_the_plan_takes_them_for():
    carried, harmless = SinglingOut.suited_to(release_of([]), Asked())
    assert "role 'other': 'ward', 'date'" in carried.title
    assert "harmless: 'symptoms', 'basket'" in harmless.title


@pytest.mark.parametrize("name", ["age", "ill"])
def test_a_table_of_quasi_identifiers_and_secrets_alone_has_nothing_of_the_kind(name):
    release = Release.from_table(pa.table({name: ["x"]}), Schema({name: SCHEMA.columns[name]}))
    assert not list(SinglingOut.suited_to(release, Asked()))


def test_a_column_of_secrets_alone_is_not_called_harmless():
    schema = Schema(
        {
            "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
            "basket": ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("wine", "pill")),
        },
        missing=("",),
    )

    def columns_in(basket):
        table = Release.from_table(pa.table({"age": ["20-29"] * len(basket), "basket": basket}), schema)
        return [attack.columns for attack in SinglingOut.suited_to(table, Asked())]

    assert columns_in(["wine", "wine|pill"]) == []
    assert columns_in(["wine", "wine|bread"]) == [("basket",)]


def test_a_column_that_the_original_lacks_adds_nothing_to_it():
    rows = [dict.fromkeys(CELLS, None) | {"age": age, "ward": ward} for age in ("20-29", "30-39") for ward in "12"]
    original, more = (
        release_of(rows),
        Schema(SCHEMA.columns | {"nr": ColumnSpec(name="nr", role=Role.OTHER)}, missing=("",)),
    )
    table = original.table().append_column("nr", pa.array(["1", "2", "3", "4"]))

    (attack, *_) = SinglingOut.suited_to(Release.from_table(table, more), Asked())

    assert "nr" in attack.columns
    assert attack.on(original).facts["columns"] == {"ward": 4, "date": 0, "nr": 0}
