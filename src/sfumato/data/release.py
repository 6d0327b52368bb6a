"""What an outsider gets: a table of labels and its public description.

A `Release` is made by publishing a recoding, or read from a folder or from any table of any tool. Audits see nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Codes, Dataset
from sfumato.data.encoding import check_columns, encode_column, infer_kind, text_codes
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError

FORMAT = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedColumn:
    """A column of labels as published; code v (= len(labels)) is the missing value where `has_missing`."""

    name: str
    role: Role
    kind: Kind
    codes: Codes  # (n,)
    labels: tuple[str, ...]  # every label that may be published, missing marker included as the last one if any is missing
    has_missing: bool = False
    type: pa.DataType = pa.string()
    spec: ColumnSpec | None = None  # what the plan declares: hierarchy, domain


@dataclass(frozen=True, eq=False)
class Release:
    """A published table."""

    columns: Mapping[str, ReleasedColumn | CodedSets]
    carried: pa.Table | None
    n_rows: int
    order: tuple[str, ...]
    missing: str = ""  # how a missing value is written
    description: Mapping[str, Any] = field(default_factory=dict)  # what release.json says

    @property
    def quasi_identifiers(self) -> tuple[ReleasedColumn, ...]:
        """The quasi-identifiers, in order."""
        return tuple(
            column
            for column in self.columns.values()
            if column.role is Role.QUASI_IDENTIFIER and isinstance(column, ReleasedColumn)
        )

    def column(self, name: str) -> ReleasedColumn:
        """Return a column of single labels by name."""
        column = self.columns.get(name)
        if not isinstance(column, ReleasedColumn):
            found = "holds sets" if column is not None else "is not in it"
            raise DataError(f"The release was asked for column {name!r}, but that {found}.\nIt has: {', '.join(self.columns)}.")
        return column
