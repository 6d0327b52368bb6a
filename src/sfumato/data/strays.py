"""What came along with a published table and does not belong there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sfumato.data.schema import ColumnSpec, Role


class StrayKind(StrEnum):
    """Why something does not belong to a release."""

    IDENTIFIER = "a column that the plan drops as an identifier"
    UNKNOWN = "a column that the plan says nothing about"
    UNDESCRIBED = "a column that release.json does not name"
    NUMBERS = "a column that numbers people otherwise than anew, 1, 2, 3 and so on"
    FILE = "a file that release.json does not name"
    SPELLINGS = "a column that must show each value in one spelling, but has"
    CHANGED = "a file that is not the one release.json describes (its digest differs)"


@dataclass(frozen=True)
class Stray:
    """A column or a file that does not belong to a release."""

    kind: StrayKind
    name: str  # of the column or the file
    rows: int = 0  # how many rows of a table have it
    found: str = ""  # what it has, in words and counts

    def __str__(self) -> str:
        return (
            f"{self.name!r} is {self.kind.value}"
            + (f" {self.found}" if self.found else "")
            + (f" ({self.rows:,} rows)" if self.rows else "")
        )


def stray_columns(kind: StrayKind, names: list[str], rows: int) -> tuple[Stray, ...]:
    """Return columns that do not belong to a table of so many rows."""
    return tuple(Stray(kind, name, rows) for name in names)


def strays_among(
    specs: Sequence[tuple[str, ColumnSpec | None]], n_rows: int, description: Mapping[str, Any]
) -> tuple[Stray, ...]:
    """Return the columns of a table that do not belong to it, each once."""
    identifiers = [name for name, spec in specs if spec is not None and spec.role is Role.IDENTIFIER]
    unknown = [name for name, spec in specs if spec is None]
    described = description.get("columns", {name for name, _ in specs})
    undescribed = [name for name, _ in specs if name not in {*described, *identifiers, *unknown}]
    found = {StrayKind.IDENTIFIER: identifiers, StrayKind.UNKNOWN: unknown, StrayKind.UNDESCRIBED: undescribed}
    return tuple(stray for kind, names in found.items() for stray in stray_columns(kind, names, n_rows))
