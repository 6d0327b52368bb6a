"""Which values of a column labels are, also where a file spells them otherwise: 4 for 4.0, a time without its zeros."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np

from sfumato.data.dataset import CodedColumn, Codes
from sfumato.data.kinds import as_number, exact_number
from sfumato.data.release import ReleasedColumn

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(?::(\d\d))?(?:\.(\d+))?(.*)")


def codes_of(released: ReleasedColumn, column: CodedColumn) -> Codes:
    """Return the code of each label that is a value of the original column, -1 for all others, (m,)."""
    code_of = {label: code for code, label in enumerate(column.labels)}
    found = np.array([code_of.get(label, -1) for label in released.labels], dtype=np.int32)
    if column.several:
        _in_other_digits(found, released, column)
    _at_the_same_moment(found, released, column)
    return found


def _in_other_digits(found: Codes, released: ReleasedColumn, column: CodedColumn) -> None:
    """Fill in numbers of people with several: they are words among others, and nobody else takes them for numbers."""

    def members(of: ReleasedColumn | CodedColumn, label: str) -> frozenset[Decimal | str | None]:
        return frozenset(name if name is None else _exact(name) for name in of.several.get(label, (label,)))

    code_of = {members(column, label): code for code, label in enumerate(column.labels) if code != column.missing}
    for code in np.flatnonzero(found < 0):
        found[code] = code_of.get(members(released, released.labels[code]), -1)


def _at_the_same_moment(found: Codes, released: ReleasedColumn, column: CodedColumn) -> None:
    """Fill in times."""
    strange = {code: time for code in np.flatnonzero(found < 0) if (time := _time(released.labels[code]))}
    code_of = {_time(label): code for code, label in enumerate(column.labels)} if strange else {}
    for code, time in strange.items():
        found[code] = code_of.get(time, -1)


def _exact(label: str) -> Decimal | str:
    return label if math.isnan(as_number(label)) else exact_number(label)


def _time(label: str) -> tuple[str, ...] | None:
    """Return day, minute, seconds, parts of a second and zone of a time; None where a label is none.

    >>> _time("2024-03-05T14:30") == _time("2024-03-05 14:30:00.000"), _time("2024-03-05")
    (True, None)
    """
    read = _TIME.fullmatch(label)
    return None if read is None else (read[1], read[2], read[3] or "00", (read[4] or "").rstrip("0"), read[5])
