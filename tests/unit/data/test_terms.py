"""Quasi-sensitive columns read together: which terms they are, and what is published when some of them go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.encoding import encode
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.terms import TermColumns, without

ROLE = Role.QUASI_SENSITIVE
SCHEMA = Schema(
    {
        "symptoms": ColumnSpec(name="symptoms", role=ROLE, kind=Kind.SET),
        "blood": ColumnSpec(name="blood", role=ROLE, kind=Kind.CATEGORY),
        "fever": ColumnSpec(name="fever", role=ROLE, present=("yes", "1")),
        "hot": ColumnSpec(name="hot", role=ROLE, present=("true",), term="symptoms=fever"),
    }
)
TABLE = pa.table(
    {
        "symptoms": ["cough|fever|cough", "", "ache", "fever"],
        "blood": ["A", "", "B", "A"],
        "fever": ["yes", "no", "1", ""],
        "hot": [True, False, None, True],
    }
)
ALL = tuple(SCHEMA.columns)


def cells(sets):
    return [sets.cell(row) for row in range(sets.start.size - 1)]


def test_columns_are_joined_as_column_and_value_and_repeats_collapse():
    terms = TermColumns.of_dataset(encode(TABLE, SCHEMA), ALL)

    assert not terms.not_sets
    assert cells(terms.sets) == [
        ("blood=A", "fever", "symptoms=cough", "symptoms=fever"),
        (),
        ("blood=B", "fever", "symptoms=ache"),
        ("blood=A", "symptoms=fever"),
    ]


def test_one_column_of_sets_is_taken_as_it_is():
    dataset = encode(TABLE, SCHEMA)

    assert TermColumns.of_dataset(dataset, ["symptoms"]).sets is dataset.columns["symptoms"]
    assert cells(TermColumns.of_dataset(dataset, ["fever"]).sets) == [("fever",), (), ("fever",), ()]
    assert TermColumns.of_dataset(dataset, ["blood"]).not_sets == ("blood",)


def test_a_removed_term_goes_from_every_column_and_leaves_a_missing_cell():
    terms = TermColumns.of_dataset(encode(TABLE, SCHEMA), ALL)
    gone = [terms.sets.labels.index(label) for label in ("symptoms=fever", "blood=B")]

    published = terms.split(without(terms.sets, ~np.isin(terms.sets.items, gone)), "")

    assert cells(published["symptoms"]) == [("cough",), (), ("ache",), ()]
    shown = {name: [new.labels[code] for code in new.codes] for name, new in published.items() if name != "symptoms"}
    # What is absent looks like what was removed.
    assert shown == {"blood": ["A", "", "", "A"], "fever": ["yes", "", "1", ""], "hot": ["", "", "", ""]}


def test_withheld_and_blank_cells_of_a_release_are_no_terms():
    table = pa.table({"symptoms": ["cough"] * 3, "blood": ["*", " ", "A"], "fever": ["no"] * 3, "hot": ["true"] * 3})
    sets = TermColumns.of_release(Release.from_table(table, SCHEMA), ALL).sets

    assert cells(sets)[0] == cells(sets)[1] == ("symptoms=cough", "symptoms=fever")
    assert cells(sets)[2] == ("blood=A", "symptoms=cough", "symptoms=fever")


@pytest.mark.slow
@given(data=st.data(), rows=st.integers(0, 6))
def test_splitting_gives_back_the_terms_that_were_kept(data, rows):
    column = {
        "symptoms": st.lists(st.sampled_from(["cough", "fever", "ache"])).map("|".join),
        "blood": st.sampled_from(["A", "B", ""]),
        "fever": st.sampled_from(["yes", "1", "no", ""]),
        "hot": st.sampled_from(["true", "false", ""]),
    }
    table = pa.table(
        {name: pa.array([data.draw(cell) for _ in range(rows)], pa.string()) for name, cell in column.items()}
    )
    dataset = encode(table, SCHEMA)
    terms = TermColumns.of_dataset(dataset, ALL)
    keep = np.array([data.draw(st.booleans()) for _ in terms.sets.items], dtype=np.bool_)
    kept = without(terms.sets, keep)

    published = terms.split(kept, "")

    again = pa.table(
        {
            name: ["|".join(cell) for cell in cells(new)] if name == "symptoms" else [new.labels[i] for i in new.codes]
            for name, new in published.items()
        },
        schema=pa.schema([(name, pa.string()) for name in column]),
    )
    assert cells(TermColumns.of_release(Release.from_table(again, SCHEMA), ALL).sets) == cells(kept)


@pytest.mark.parametrize("names", [["blood", "fever"], ["fever", "hot"]])
def test_columns_without_a_set_among_them_can_be_joined(names):
    assert TermColumns.of_dataset(encode(TABLE, SCHEMA), names).sets.start.tolist()[0] == 0


@pytest.mark.parametrize("second", ["A", None])
def test_a_removed_value_is_published_as_missing_in_a_column_of_single_values(second):
    table = pa.table({"symptoms": ["cough"] * 3, "blood": ["A", second, "B"]})
    dataset = encode(table, Schema({name: SCHEMA.columns[name] for name in table.column_names}))
    terms = TermColumns.of_dataset(dataset, table.column_names)
    gone = terms.sets.labels.index("blood=A")

    release = publish(dataset, Recoding(columns=terms.split(without(terms.sets, terms.sets.items != gone), "")), ())

    assert release.table().column("blood").to_pylist() == [None, None, "B"]
