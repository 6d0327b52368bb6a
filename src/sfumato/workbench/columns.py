"""What each column is by the plan, and what it looks like."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.data.dataset import Codes, counted
from sfumato.data.distinct import text_codes
from sfumato.data.kinds import is_list

SAMPLES = 12


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

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


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
