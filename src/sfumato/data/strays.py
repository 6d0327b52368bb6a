"""What came along with a published table and does not belong there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sfumato.data.schema import ColumnSpec, Role, Schema


class StrayKind(StrEnum):
    """Why something does not belong to a release."""

    IDENTIFIER = "a column that the plan drops as an identifier"
    UNKNOWN = "a column that the plan says nothing about"
    ALIKE = "a column whose name differs from that of a protected column only in case, blanks or letter forms"
    UNDESCRIBED = "a column that release.json does not name"
    NUMBERS = "a column that numbers people otherwise than anew, 1, 2, 3 and so on"
    FILE = "a file that release.json does not name"
    SPELLINGS = "a column that must show each value in one spelling, but has"
    CHANGED = "a file that is not the one release.json describes (its digest differs)"
    METADATA = "a file or frame with metadata that its table does not need"
    ENTRIES = "a description with entries that sfumato never writes"


@dataclass(frozen=True)
class Stray:
    """A column or a file that does not belong to a release."""

    kind: StrayKind
    name: str  # of the column or the file
    rows: int = 0  # how many rows of a table have it
    entries: int = 0  # how many entries of a file are meant, whose names may be anything
    found: str = ""  # what it has, in words and counts

    def __str__(self) -> str:
        counted = f" ({self.rows:,} rows)" if self.rows else f" ({self.entries:,})" if self.entries else ""
        return f"{self.name!r} is {self.kind.value}{f' {self.found}' if self.found else ''}{counted}"


def stray_columns(kind: StrayKind, names: list[str], rows: int) -> tuple[Stray, ...]:
    """Return columns that do not belong to a table of so many rows."""
    return tuple(Stray(kind, name, rows) for name in names)


def stray_entries(kind: StrayKind, name: str, entries: int) -> tuple[Stray, ...]:
    """Return that a file or frame has so many entries that do not belong there; nothing where it has none."""
    return (Stray(kind, name, entries=entries),) if entries else ()


def strays_among(
    specs: Sequence[tuple[str, ColumnSpec | None]], n_rows: int, description: Mapping[str, Any], schema: Schema
) -> tuple[Stray, ...]:
    """Return the columns of a table that do not belong to it, each once."""
    identifiers = [name for name, spec in specs if spec is not None and spec.role is Role.IDENTIFIER]
    alike = [name for name, spec in specs if spec is None and schema.lookalike(name) is not None]
    unknown = [name for name, spec in specs if spec is None and name not in alike]
    described = description.get("columns", {name for name, _ in specs})
    undescribed = [name for name, _ in specs if name not in {*described, *identifiers, *alike, *unknown}]
    found = {
        StrayKind.IDENTIFIER: identifiers,
        StrayKind.ALIKE: alike,
        StrayKind.UNKNOWN: unknown,
        StrayKind.UNDESCRIBED: undescribed,
    }
    return tuple(stray for kind, names in found.items() for stray in stray_columns(kind, names, n_rows))
