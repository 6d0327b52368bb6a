"""How generalized values are written, and read back.

| published | means |
| --- | --- |
| `[20, 29]` | a number from 20 to 29, both included |
| `[20, 30)` | a number from 20 up to, but not including, 30 |
| `{a|b|c}` | one of these values, of a column without a hierarchy |
| `*` | any value |
| anything else | a value, or a label of the column's hierarchy |
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from sfumato.data.hierarchy import ROOT

_RANGE = re.compile(r"\[\s*(?P<low>[^\s,\[\]()]+)\s*,\s*(?P<high>[^\s,\[\]()]+)\s*(?P<end>[\])])")


def number_text(value: float) -> str:
    """Return a number as short text: 20 rather than 20.0.

    >>> number_text(20.0), number_text(0.5)
    ('20', '0.5')
    """
    return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else repr(float(value))


def range_label(low: str, high: str) -> str:
    """Return the label of a closed range, or the value itself when both ends are equal.

    >>> range_label("20", "29"), range_label("20", "20")
    ('[20, 29]', '20')
    """
    return low if low == high else f"[{low}, {high}]"


def range_ends(label: str) -> tuple[str, str, bool] | None:
    """Return (low, high, high included) of a range label as they are written, or None when it is none.

    >>> range_ends("[2024-01-01, 2024-03-31]"), range_ends("20-29")
    (('2024-01-01', '2024-03-31', True), None)
    """
    match = _RANGE.fullmatch(label)
    return (match["low"], match["high"], match["end"] == "]") if match is not None else None


def parse_range(label: str) -> tuple[float, float, bool] | None:
    """Return (low, high, high included) of a range of numbers, or None when it is none.

    >>> parse_range("[20, 29]"), parse_range("[0.5, 1)"), parse_range("20-29")
    ((20.0, 29.0, True), (0.5, 1.0, False), None)
    """
    ends = range_ends(label)
    if ends is None:
        return None
    try:
        return float(ends[0]), float(ends[1]), ends[2]
    except ValueError:
        return None


def set_label(values: Sequence[str], whole: int) -> str:
    """Return the label of "one of these values": the value itself, `{a|b}`, or `*` when it is the `whole` domain.

    >>> set_label(["a"], 3), set_label(["a", "b"], 3), set_label(["a", "b", "c"], 3)
    ('a', '{a|b}', '*')
    """
    if len(values) == 1:
        return values[0]
    if len(values) == whole:
        return ROOT
    return "{" + "|".join(value.replace("\\", "\\\\").replace("|", "\\|") for value in values) + "}"


def parse_set(label: str) -> tuple[str, ...] | None:
    r"""Return the values of a set label, or None when it is none.

    >>> parse_set("{a|b}"), parse_set("a"), parse_set(set_label(["a|b", "c\\"], 3))
    (('a', 'b'), None, ('a|b', 'c\\'))
    """
    if len(label) < 2 or label[0] != "{" or label[-1] != "}":
        return None
    values, current, escaped = [], "", False
    for character in label[1:-1]:
        if escaped:
            current, escaped = current + character, False
        elif character == "\\":
            escaped = True
        elif character == "|":
            values.append(current)
            current = ""
        else:
            current += character
    return (*values, current)
