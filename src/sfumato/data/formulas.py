"""Cells that a spreadsheet would take for formulas: counted, never changed, lest the release is not the audited one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets
from sfumato.data.distinct import text_codes
from sfumato.data.kinds import as_number, is_text, value_type
from sfumato.data.release import Release

_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text rather than show it; plain numbers are none.

    >>> is_formula("=HYPERLINK(1)"), is_formula("-5"), is_formula("-5+cmd"), is_formula("a=b")
    (True, False, True, False)
    """
    return text.startswith(_BEGINNINGS) and math.isnan(as_number(text))


def formula_cells(release: Release) -> dict[str, int]:
    """Return how many cells of each column begin like a formula, where there are any."""
    return {name: count for name, count in _counts(release) if count}


def _counts(release: Release) -> Iterator[tuple[str, int]]:
    for name, column in release.columns.items():
        if isinstance(column, CodedSets):
            formula = _formulas(column.labels)
            first = column.items[column.start[:-1][np.diff(column.start) > 0]] if formula.any() else formula[:0]
            yield name, int(formula[first].sum())  # a cell begins with its first member
        else:
            yield name, int(_formulas(column.labels)[column.codes].sum())
    carried = release.carried
    for name, array in zip(carried.column_names, carried.columns, strict=True) if carried is not None else ():
        if is_text(value_type(array.type)):
            codes, labels, _ = text_codes(array, ())
            yield name, int(np.append(_formulas(labels), False)[codes].sum())  # the last is what is missing


def _formulas(labels: Sequence[str]) -> NDArray[np.bool_]:
    return np.fromiter(map(is_formula, labels), dtype=np.bool_, count=len(labels))
