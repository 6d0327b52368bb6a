"""The first look at a source, before there is a plan: how it is written, its first rows, and what it looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from sfumato.data.files import Source, how_read, sample
from sfumato.data.files.databases.reading import rows_of
from sfumato.data.files.stat import with_catalog_beside
from sfumato.data.schema import SECRET_ROLES
from sfumato.drafting import draft_table
from sfumato.workbench.columns import misfits
from sfumato.workbench.raw import Raw, raw_of

SHOWN_ROWS = 20
LOOKED_AT = 1_000  # rows from which it is guessed what to cover
_LONGEST = 60  # characters of a cell


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What the first rows of a source tell, for the holder's eyes."""

    how: Mapping[str, tuple[Any, str]] = field(default_factory=dict)  # it is read, and why
    names: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[Sequence[str]] = ()
    secrets: Set[str] = frozenset()  # columns that look like names or secrets
    odd: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # cells that do not fit, by column
    count: int | None = None  # rows of a table of a database
    raw: Raw = field(default_factory=Raw)  # the first lines of a text file

    def lines(self, *, covered: bool) -> list[str]:
        """Return the first lines as found; covered, none of a file that could not be read: any cell may be a secret."""
        if not covered:
            return self.raw.lines()
        named = bool(self.how.get("header", (False, ""))[0]) and "header_row" not in self.how
        return self.raw.covered(self.names, self.secrets, named=named) if self.names else []


def not_read(source: Source) -> Looked:
    """Return what there is to see of a source that could not be read."""
    return Looked(raw=raw_of(source, None, SHOWN_ROWS))


def looked_at(source: Source) -> Looked:
    """Look at a source."""
    source = with_catalog_beside(source)
    how = {each.key: (each.value, each.reason) for each in how_read(source)}
    table = sample(source, LOOKED_AT)
    guesses = draft_table(table).guesses if table.num_rows > 1 else ()
    return Looked(
        how=how,
        names=table.column_names,
        kinds={guess.name: guess.kind.value for guess in guesses},
        rows=[[_cell(cell) for cell in row.values()] for row in table.slice(0, SHOWN_ROWS).to_pylist()],
        # Of a single row nothing can be guessed, so nothing of it is shown before somebody asks for it.
        secrets={guess.name for guess in guesses if guess.role in SECRET_ROLES} if guesses else set(table.column_names),
        odd=misfits(table),
        count=rows_of(source) if source.database is not None else None,
        raw=raw_of(source, str(how["separator"][0]) if "separator" in how else None, SHOWN_ROWS + 1),
    )


def _cell(value: Any) -> str:
    text = "" if value is None else " | ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
