"""Hierarchies to start from: ranges of numbers, periods of dates, prefixes of codes, else the value or nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.builders import hierarchy_source
from sfumato.data.names import mentions
from sfumato.data.schema import Kind
from sfumato.drafting.columns import Look
from sfumato.errors import InputError

_CODE = re.compile(r"[^\s*]*\d[^\s*]*")
_NO_CODE = re.compile(r"[+-]?\d+[.,]\d+|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\D*.*")  # decimals, and days
_LONGEST_CODE = 20
_FEWEST_NUMBERS = 8  # distinct ones that quantiles are told of
_LARGEST = 1e12
FLAT = "hierarchy = { flat = true }"


def hierarchy_lines(look: Look, labels: Sequence[str]) -> tuple[Kind, str, str]:
    """Return the kind of a quasi-identifier, the line of its hierarchy, and a note on it, which may be empty.

    What is proposed was built once over all values, so it works on them.
    """
    for kind, builder, line, note in _proposals(look, labels):
        try:
            hierarchy_source(builder, Path()).build(labels, "The hierarchy")
        except InputError:
            continue
        return kind, f"hierarchy = {line}", note
    return look.kind, FLAT, ""


def mask_lines(look: Look, labels: Sequence[str]) -> tuple[Kind, str]:
    """Return the kind of a sensitive column, and the line of the hierarchy that its masks are labels of."""
    if look.kind is Kind.NUMBER and not _is_code(look) and (edges := _quantiles(look, labels)):
        shown = ", ".join(f"[{', '.join(map(_plain, level))}]" for level in edges)
        try:
            hierarchy_source({"edges": edges}, Path()).build(labels, "The hierarchy")
            return Kind.NUMBER, f"hierarchy = {{ edges = [{shown}] }}"
        except InputError:
            pass
    kind, line, _ = hierarchy_lines(look, labels)
    return kind, line


def _quantiles(look: Look, labels: Sequence[str]) -> list[list[float]]:
    """Return edges with about as many people between them, rounded, in eights and in quarters."""
    count_of = dict(zip(look.labels, look.counts, strict=True))
    ordered = sorted((float(label), count_of[label]) for label in labels)
    values = np.array([value for value, _ in ordered])
    if values.size < _FEWEST_NUMBERS or not np.isfinite(values).all() or np.abs(values).max() > _LARGEST:
        return []
    reached = np.cumsum([count for _, count in ordered])
    places = np.searchsorted(reached, reached[-1] * np.arange(1, 8) / 8)
    span = float(values[-1] - values[0])
    unit = 10.0 ** math.floor(math.log10(span / 20))
    inner = sorted({float(f"{round(value / unit) * unit:.12g}") for value in values[places]})
    low = float(f"{math.floor(values[0] / unit) * unit:.12g}")
    high = float(f"{(math.floor(values[-1] / unit) + 1) * unit:.12g}")
    fine = [low, *(edge for edge in inner if low < edge < high), high]
    coarse = [low, *fine[2:-1:2], high]
    return [level for level in (fine, coarse) if len(level) > 2]


def _proposals(look: Look, labels: Sequence[str]) -> list[tuple[Kind, dict[str, Any], str, str]]:
    found: list[tuple[Kind, dict[str, Any], str, str]] = []
    if look.kind is Kind.DATE:
        days = {label[:10] for label in labels}
        levels = ["day"] if len(days) < len(labels) and any(len(label) > 10 for label in labels) else []
        levels += ["month", "quarter", "year", "decade"]
        text = ", ".join(f'"{level}"' for level in levels)
        found.append((Kind.DATE, {"dates": levels}, f"{{ dates = [{text}] }}", ""))
    elif look.compact_dates:
        note = "looks like dates; write them as 2024-05-31 to get quarters too"
        found.append((Kind.CATEGORY, {"prefix": [6, 4]}, "{ prefix = [6, 4] }", note))
    elif look.kind is Kind.NUMBER and not _is_code(look):
        widths = _widths([label for label in labels if label not in look.odd_codes])  # -9 to 99 is no scale
        if widths:
            found.append((Kind.NUMBER, {"widths": widths}, f"{{ widths = [{', '.join(map(_plain, widths))}] }}", ""))
    elif look.odd_dates:
        note = "looks like dates; write them as 2024-05-31 to get months and years"
        found.append((Kind.CATEGORY, {"flat": True}, "{ flat = true }", note))
    else:
        if lengths := _prefixes(labels):
            text = str(lengths[0]) if list(range(lengths[0], 0, -1)) == lengths else str(lengths)
            found.append((Kind.CATEGORY, {"prefix": lengths}, f"{{ prefix = {text} }}", "its codes share prefixes"))
    kind = Kind.CATEGORY if look.kind is Kind.NUMBER and _is_code(look) else look.kind
    if look.durations:
        found = [(kind, builder, line, "durations in seconds") for kind, builder, line, _ in found]
    many = len(labels) > 20 and kind is Kind.CATEGORY
    note = f"{len(labels):,} values and no groups: a hierarchy of your own would keep more" if many else ""
    found.append((kind, {"flat": True}, "{ flat = true }", note))
    return found


def _is_code(look: Look) -> bool:
    """Whether numbers are rather names of places or things: nobody adds up postal codes."""
    return mentions(look.name, "zip zipcode plz postal postcode code icd fips") and all(
        label.isdecimal() for label in look.labels
    )


def _widths(labels: Sequence[str]) -> list[float]:
    """Return widths of ranges that cut the column into some tens, some, and few parts."""
    values = sorted(float(label) for label in labels)
    if len(values) < 3:
        return []
    span = values[-1] - values[0]
    if not 1e-12 < span < 1e15:
        return []
    step = 10.0 ** math.floor(math.log10(span / 10))
    if all(value.is_integer() for value in values):
        step = max(step, 1.0)
    widths = [float(f"{step * factor:g}") for factor in (1, 5, 10, 50)]
    return [width for width in widths if width < span and (width > 1 or step < 1)]


def _plain(width: float) -> str:
    """Return a width as TOML reads it: 1000000 rather than 1e+06.

    >>> _plain(1e6), _plain(0.5), _plain(1e-9)
    ('1000000', '0.5', '1e-09')
    """
    return str(int(width)) if float(width).is_integer() else f"{width:.12g}"


def _prefixes(labels: Sequence[str]) -> list[int]:
    """Return lengths of prefixes, falling, each of which leaves fewer groups than the one before.

    >>> _prefixes(["10115", "10117", "10999", "80331", "80333", "80469"])
    [4, 2]
    >>> _prefixes(["low", "high"])
    []
    """
    if any(map(_NO_CODE.fullmatch, labels)):
        return []
    if len(labels) < 6 or not all(_CODE.fullmatch(label) and len(label) <= _LONGEST_CODE for label in labels):
        return []
    lengths: list[int] = []
    groups = len(labels)
    for length in range(max(map(len, labels)) - 1, 0, -1):
        here = len({label[:length] + "*" * (len(label) - length) for label in labels})
        if 2 <= here <= 0.9 * groups:
            lengths.append(length)
            groups = here
    return lengths
