"""What stands above the names of the columns: titles, dates of an export, names of groups of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from sfumato.data.contents import personal_values
from sfumato.data.files.source import Source
from sfumato.data.files.spelling import is_value, looks_like_a_record
from sfumato.errors import DataError

_MOST = 40  # records that may stand above


def lines_above(records: Sequence[Sequence[str]], merged: Container[int] = ()) -> int:
    """Return how many of the first records stand above the one that names the columns; 0 where that is not sure.

    The names are the first record that fills all cells, each with another text and none with a number or a date. The
    records above leave half of the cells empty, or have a number or a date, or cells that were `merged`. Names that
    lack the one of a column are no title: what follows them is a person's record, and no names. Nor is a record that
    holds the name of a person or a contact.

    >>> people = [["age", "sex", "city"], ["34", "m", "Rome"], ["35", "f", "Bonn"]]
    >>> lines_above([["Export"], ["As of", "1.2.2024"], *people]), lines_above(people)
    (2, 0)
    >>> lines_above([["Patient", "", ""], ["Anna Rossi", "Rome", "x"], ["Eve Meier", "Bonn", "y"]])
    0
    >>> lines_above([["sex", "city"], ["Ann", "m", "Rome"], ["Eve", "f", "Bonn"]])  # as R writes names of rows
    0
    """
    widths = Counter(len(record) for record in records if any(record))
    usual = max(widths, key=lambda width: (widths[width], width), default=0)
    whole = [record for record in records if len(record) == usual]
    needed = max((place + 1 for place in range(usual) if any(record[place].strip() for record in whole)), default=0)
    above = 0  # records that are titles for sure
    lacks_one = False
    for number, record in enumerate(records[: _MOST + 1]):
        filled = [cell for cell in map(str.strip, record) if cell]
        if not filled:
            above += bool(above)  # a blank line behind a title
        elif len(filled) < needed and (number in merged or 2 * len(filled) <= needed or any(map(is_value, filled))):
            above += 1
            lacks_one = len(filled) == needed - 1 and number not in merged and not any(map(is_value, filled))
        else:
            below = [each for each in records[number + 1 :] if len(each) == usual]
            named = len(filled) == needed == len(set(filled)) and all(map(str.strip, record[:needed]))
            sure = above > lacks_one and named and needed > 1 and below and number not in merged
            a_record = any(map(is_value, filled)) or looks_like_a_record(filled, below) or personal_values(filled)
            return number if sure and not a_record else 0
    return 0


def no_such_line(source: Source, found: str) -> DataError:
    """Return the error for a line that shall name the columns and is not there."""
    return DataError(
        f"{source.path} was to be read with the names of columns on line {source.header_row}, but {found}.\n"
        "Correct header_row under [source] (for `sfumato init`: --header-row), counted from 1."
    )
