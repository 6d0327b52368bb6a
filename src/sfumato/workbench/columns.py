"""What each column is by the plan, and what it looks like."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.dataset import Codes, counted
from sfumato.data.dates import day_of
from sfumato.data.distinct import text_codes
from sfumato.data.kinds import as_number, is_list, is_text, value_type

SAMPLES = 12
MOST_WRONG = 0.1  # share of the cells that were typed wrong rather than meant otherwise


@dataclass(frozen=True)
class ColumnFacts:
    """A column as its page shows it, without any of its values."""

    number: int
    name: str
    kind: str
    role: str | None  # by the plan; None where it says nothing of the column
    guess: str | None  # the role that it looks like
    reason: str  # of the guess
    warning: str  # what happens where the guess is wrong
    distinct: int
    missing: float  # share of its cells
    shortest: int  # characters of a value
    longest: int
    hierarchy: str  # none, complete, misses or broken
    hierarchy_missing: int  # values that it does not know


def misfits(table: pa.Table) -> dict[str, tuple[str, int]]:
    """Return, by column, what nearly all cells of it are, number or date, and how many are not: they were typed wrong.

    >>> misfits(pa.table({"age": ["31", "32", "33", "34", "35", "36", "37", "38", "39", "n.a.", ""]}))
    {'age': ('number', 1)}
    """
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not is_text(value_type(column.type)):
            continue
        cells = [cell for cell in column.to_pylist() if cell]
        for kind, fits in (("number", _is_number), ("date", _is_date)):
            others = sum(not fits(cell) for cell in cells)
            if 0 < others <= MOST_WRONG * len(cells):
                found[name] = (kind, others)
    return found


def _is_date(cell: str) -> bool:
    return day_of(cell) is not None


def _is_number(cell: str) -> bool:
    return not math.isnan(as_number(cell))


@dataclass(frozen=True, eq=False)
class Coded:
    """A column in codes, whatever its role: label by label as found, missing cells last."""

    codes: Codes  # (n,)
    labels: tuple[str, ...]
    has_missing: bool
    type: pa.DataType

    @classmethod
    def of(cls, array: pa.ChunkedArray, missing: tuple[str, ...]) -> Coded:
        """Code a column; cells that are lists count as what they hold, in order."""
        if is_list(array.type):
            cells = [None if cell is None else "|".join(map(str, cell)) for cell in array.to_pylist()]
            array = pa.chunked_array([pa.array(cells, pa.string())])
        codes, labels, has_missing = text_codes(array, missing)
        return cls(codes, tuple(labels), has_missing, array.type)

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.labels) + self.has_missing

    @property
    def rows(self) -> list[int]:
        """How many rows have each label."""
        return [int(count) for count in counted(self.codes, self.size)[: len(self.labels)]]

    @property
    def rows_missing(self) -> int:
        """How many cells are missing."""
        return int((self.codes == len(self.labels)).sum()) if self.has_missing else 0

    def samples(self) -> list[str]:
        """Return some values, each once, from all over the column."""
        spread = np.linspace(0, max(self.codes.size - 1, 0), min(5 * SAMPLES, self.codes.size)).astype(np.int64)
        codes = dict.fromkeys(code for code in self.codes[spread].tolist() if code < len(self.labels))
        return [self.labels[code] for code in codes][:SAMPLES]

    def values(self, most: int) -> dict[str, Any]:
        """Return values with how many rows have each, the most frequent first, and how many more there are."""
        rows = np.array(self.rows, dtype=np.int64)
        order = np.lexsort((np.arange(rows.size), -rows))[:most].tolist()
        return {
            "values": [[self.labels[code], int(rows[code])] for code in order],
            "more": max(rows.size - most, 0),
            "missing": self.rows_missing,
        }
