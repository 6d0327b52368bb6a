from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.models import QSCloseness
from sfumato.models.judging.terms import check_sets, public_knowledge, term_column

TABLE = pa.table({"age": ["30", "40"], "terms": [["cough"], ["cough", "fever"]], "ward": ["1", "2"]})


def release_of(role=Role.QUASI_SENSITIVE, kind=Kind.SET, table=TABLE):
    return Release.from_table(
        table,
        Schema(
            {
                "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER),
                "terms": ColumnSpec(name="terms", role=role, kind=kind),
                "ward": ColumnSpec(name="ward", role=Role.OTHER),
            }
        ),
    )


def asked_of(column):
    return QSCloseness(column=column, t=0.5)


def test_terms_come_as_sets_with_labels():
    column = term_column(release_of(), asked_of("terms"))

    assert [column.labels[code] for code in column.items] == ["cough", "cough", "fever"]
    assert column.start.tolist() == [0, 1, 3]


def test_the_intruders_table_is_the_public_one_or_it_is_said_that_there_is_none():
    knowledge = Knowledge.from_rows([("flu", ["cough"])])
    release = release_of()

    with pytest.raises(DataError, match="no knowledge table was given"):
        public_knowledge(release, asked_of("terms"))
    assert public_knowledge(replace(release, public=PublicInputs(knowledge)), asked_of("terms")) is knowledge


@pytest.mark.parametrize(
    ("column", "found"),
    [("ward", "role 'other'"), ("nowhere", "which the release does not have"), ("age", "is a quasi-identifier")],
)
def test_a_column_that_cannot_hold_terms_is_refused_by_name(column, found):
    with pytest.raises(DataError, match=found) as refused:
        term_column(release_of(), asked_of(column))

    assert repr(column) in str(refused.value)


def test_single_values_are_refused():
    table = TABLE.set_column(1, "terms", pa.array(["cough", "fever"]))

    with pytest.raises(DataError, match="single values"):
        term_column(release_of(kind=Kind.CATEGORY, table=table), asked_of("terms"))


@pytest.mark.parametrize(
    "spoiled",
    [
        {"start": np.array([0, 1], dtype=np.int64)},
        {"start": np.array([0, 2, 1], dtype=np.int64)},
        {"start": np.array([1, 1, 3], dtype=np.int64)},
        {"items": np.array([0, 0, 9], dtype=np.int32)},
        {"items": np.array([0, -1, 0], dtype=np.int32)},
    ],
    ids=["too few rows", "backwards", "does not begin", "no label", "negative"],
)
def test_sets_that_do_not_hold_together_are_refused(spoiled):
    column = replace(release_of().columns["terms"], **spoiled)

    with pytest.raises(DataError, match="'terms'"):
        check_sets(column, 2)
