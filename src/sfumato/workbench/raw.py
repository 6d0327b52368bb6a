"""The first records of a text file as they stand in it, to be held against how they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

from sfumato.data.files.source import TEXT_FORMATS, Source, format_of
from sfumato.data.files.text import HEAD, encoding_of, opened
from sfumato.errors import InputError

COVER = "•••"
_LONGEST = 300  # characters of a record that are shown


@dataclass(frozen=True, kw_only=True)
class Raw:
    """Records, cell by cell to the letter, quotes included."""

    records: Sequence[Sequence[str]] = ()
    separator: str = ""

    def lines(self) -> list[str]:
        """Return the records as they stand in the file."""
        return [_cut(self.separator.join(record)) for record in self.records]

    def covered(self, names: Sequence[str], secrets: Set[str], *, named: bool) -> list[str]:
        """Return the records with cells of some columns covered; `named` where the first one names the columns.

        A record whose cells are not one for each column is covered whole: nobody knows what is what in it.
        """
        lines = []
        for number, record in enumerate(self.records):
            fits = len(record) == len(names) or (len(record) == len(names) + 1 and not record[-1].strip())
            if (named and number == 0) or record == [""]:
                cells = list(record)
            elif not fits:
                cells = [COVER]
            else:
                cells = [COVER if name in secrets else cell for name, cell in zip(names, record, strict=False)]
                cells += record[len(names) :]
            lines.append(_cut(self.separator.join(cells)))
        return lines


def raw_of(source: Source, separator: str | None, most: int) -> Raw:
    """Return the first records of a text file; none of other files, nor of one that cannot be made out at all.

    Without a separator every line is a record of one cell.
    """
    with suppress(InputError, OSError):
        if source.database is None and format_of(source) in TEXT_FORMATS:
            with opened(source.path, encoding=str(encoding_of(source).value)) as stream:
                text = stream.head(HEAD).decode("utf-8", "replace").removeprefix("\ufeff")
            records = _records(text, separator, most)
            return Raw(records=records, separator=separator or "")
    return Raw()


def _records(text: str, separator: str | None, most: int) -> list[list[str]]:
    if separator is None:
        return [[line] for line in re.split(r"\r\n|\r|\n", text, maxsplit=most)[:most]]
    bare = rf"[^{re.escape(separator)}\r\n]*"
    # A quote that is not closed in what was read ends it: what follows could be any column's.
    cell = re.compile(rf'("[^"]*(?:""[^"]*)*"{bare}|(?!"){bare})({re.escape(separator)}|\r\n|\r|\n|\Z)')
    records: list[list[str]] = []
    record: list[str] = []
    at = 0
    while at < len(text) and len(records) < most and (found := cell.match(text, at)):
        record.append(found[1])
        at = found.end()
        if found[2] != separator:
            records.append(record)
            record = []
        elif at == len(text):  # the last cell is empty
            records.append([*record, ""])
    return records


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
