"""Small tables of baskets, some of whose items are sensitive, and metrics on them."""

from __future__ import annotations

import pyarrow as pa

from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema

SPEC = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("b", "d"))
SCHEMA = Schema({"basket": SPEC})


def table_of(baskets):
    return pa.table({"basket": pa.array([sorted(basket) for basket in baskets], pa.list_(pa.string()))})


def measured(metric, before, after):
    return metric.measure(encode(table_of(before), SCHEMA), Release.from_table(table_of(after), SCHEMA))
