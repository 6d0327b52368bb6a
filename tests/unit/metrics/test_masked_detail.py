from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics import measure_all
from sfumato.metrics.masked_detail import MaskedDetail

WORK = Hierarchy.from_nested(
    {"private": ["Private", "Own"], "government": ["Federal", "Local", "State"], "none": ["Never"]}
)
SCHEMA = Schema(
    {
        "place": ColumnSpec(
            name="place",
            role=Role.QUASI_IDENTIFIER,
            hierarchy=Given(Hierarchy.from_nested({"n": ["a", "b"], "s": ["c", "d"]})),
        ),
        "work": ColumnSpec(name="work", role=Role.SENSITIVE, hierarchy=Given(WORK)),
    }
)
ORIGINAL = pa.table({"place": ["a", "b", "c", "d"], "work": ["Local", "State", "Never", "Private"]})


def test_detail_lost_in_masked_columns_stands_beside_that_of_quasi_identifiers():
    dataset = encode(ORIGINAL, SCHEMA)
    rates = {"work": BaseRates.of(dataset.column("work"))}
    table = pa.table({"place": ["a", "b", "c", "d"], "work": ["*", "*", "*", "Private"]})
    release = replace(Release.from_table(table, SCHEMA), public=PublicInputs(base_rates=rates))

    found = {measured.name: measured for measured in measure_all(dataset, release)}

    assert (found["ncp"].title, found["ncp"].value) == ("Detail lost in quasi-identifiers", 0)
    assert (found["masked-detail"].title, found["masked-detail"].value) == ("Detail lost in masked columns", 0.75)
    assert found["masked-detail"].facts["columns"][0]["name"] == "work"


def test_masked_columns_that_keep_next_to_nothing_are_warned_about():
    dataset = encode(pa.concat_tables([ORIGINAL] * 5), SCHEMA)
    rates = {"work": BaseRates.of(dataset.column("work"))}
    table = pa.table({"place": ["a", "b", "c", "d"] * 5, "work": ["*"] * 19 + ["Private"]})
    release = replace(Release.from_table(table, SCHEMA), public=PublicInputs(base_rates=rates))

    assert MaskedDetail().measure(dataset, release).warning == (
        "Next to nothing is left of the masked columns: 95 % is lost."
    )
