"""What came along with a published table and does not belong there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StrayKind(StrEnum):
    """Why something does not belong to a release."""

    IDENTIFIER = "a column that the plan drops as an identifier"
    UNKNOWN = "a column that the plan says nothing about"
    UNDESCRIBED = "a column that release.json does not name"
    NUMBERS = "a column that numbers people otherwise than anew, 1, 2, 3 and so on"
    FILE = "a file that release.json does not name"
    CHANGED = "a file that is not the one release.json describes (its digest differs)"


@dataclass(frozen=True)
class Stray:
    """A column or a file that does not belong to a release."""

    kind: StrayKind
    name: str  # of the column or the file
    rows: int = 0  # how many rows of a table have it

    def __str__(self) -> str:
        return f"{self.name!r} is {self.kind.value}" + (f" ({self.rows:,} rows)" if self.rows else "")


def stray_columns(kind: StrayKind, names: list[str], rows: int) -> tuple[Stray, ...]:
    """Return columns that do not belong to a table of so many rows."""
    return tuple(Stray(kind, name, rows) for name in names)
