"""Releases for tests, made from plain columns as any tool would write them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema


def make_release(columns, *, sensitive=("s",), missing=("",), carried=(), specs=None):
    """Return columns as a release: those in `sensitive` are sensitive, all others quasi-identifiers."""
    specs = specs or {}

    def spec(name):
        role = Role.SENSITIVE if name in sensitive else Role.OTHER if name in carried else Role.QUASI_IDENTIFIER
        return specs.get(name) or ColumnSpec(name=name, role=role)

    schema = Schema({name: spec(name) for name in columns}, missing=missing)
    return Release.from_table(pa.table(columns), schema)


@pytest.fixture(scope="session")
def release_of():
    return make_release


# Twelve patients of a small hospital. Ages and districts are generalized into three classes of four:
#   20-29 north: asthma, asthma, flu, ulcer      counts 2 1 1
#   30-39 south: flu, flu, flu, flu              counts 4
#   40-49 *    : asthma, flu, ulcer, (missing)   counts 1 1 1 1
# Over all: asthma 3, flu 6, ulcer 2, missing 1.
@pytest.fixture(scope="session")
def hospital():
    return make_release(
        {
            "age": ["20-29"] * 4 + ["30-39"] * 4 + ["40-49"] * 4,
            "district": ["north"] * 4 + ["south"] * 4 + ["*"] * 4,
            "s": ["asthma", "asthma", "flu", "ulcer", "flu", "flu", "flu", "flu", "asthma", "flu", "ulcer", None],
        }
    )
