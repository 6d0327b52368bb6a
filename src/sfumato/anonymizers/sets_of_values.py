"""What kernels test where a person has several sensitive values: l-diversity and t-closeness of people.

t-closeness takes each set of values for a value of its own. l-diversity is about single values, whichever of a person's
is the one that counts: nobody may guess that a person has some value and be right in more than one of l cases. For each
value that enough people have, a column says who has it, and its share is limited.

Sizes: n people, v labels of the column, of which some are sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, Codes, counted
from sfumato.errors import DataError, Unsatisfiable
from sfumato.kernels.classes.conditions import DISTINCT, LIMITED, Condition
from sfumato.models import LDiversity, TCloseness

MOST_VALUES = 1_000  # that a column of its own is made of


@dataclass(frozen=True, eq=False)
class TestsOfSets:
    """Columns with what is asked of each: codes, how many there are, and the condition."""

    columns: list[tuple[Codes, int, Condition]]
    least: int  # people that each class needs besides


def tests_of_sets(column: CodedColumn, codes: Codes, model: Any, k: int) -> TestsOfSets | None:
    """Return what is asked of a column in which people have several values; None where one value a person is judged."""
    if not column.several or (isinstance(model, TCloseness) and model.distance == "equal"):
        return None
    people = int(np.isin(codes, [code for code, label in enumerate(column.labels) if label in column.several]).sum())
    if not isinstance(model, LDiversity) or model.kind not in ("distinct", "frequency"):
        raise DataError(
            f"{model.name} is asked of column {column.name!r}, of which {people:,} people have several values: it can "
            'be judged there as l-diversity of kind "distinct" or "frequency", or t-closeness of distance "equal".\n'
            "Ask for one of these, or say under [gather] which value of a person counts."
        )
    has = _holders(column)
    holders = has @ counted(codes, len(column.labels))  # (values,): people who have each
    hopeless = bool(codes.size) and Fraction(int(holders.max(initial=0)), codes.size) * model.exact_l > 1
    if model.kind == "distinct" and (hopeless or 2 * people < codes.size):
        return TestsOfSets([_distinct_among_others(column, codes, int(model.exact_l))], 0)
    if hopeless:
        raise Unsatisfiable(
            f"l-diversity of {column.name!r} counts people, of whom {int(holders.max()):,} of {codes.size:,} have the "
            f"same value among theirs: more than one of {float(model.exact_l):g}, even if all are one class.\n"
            "Lower l, or say under [gather] which value of a person counts."
        )
    return _limited(column, codes, has, holders, model, k)


def _distinct_among_others(column: CodedColumn, codes: Codes, l: int) -> tuple[Codes, int, Condition]:
    """Ask for l values among people who have a single one; those with several count as one value more."""
    is_set = np.array([label in column.several for label in column.labels])
    place = np.where(is_set, 0, np.cumsum(~is_set)).astype(np.int32)
    return place[codes], int((~is_set).sum()) + 1, Condition(DISTINCT, 0, l=l + 1)


def _limited(
    column: CodedColumn, codes: Codes, has: NDArray[np.bool_], holders: NDArray[np.int64], model: LDiversity, k: int
) -> TestsOfSets:
    """Limit the share of people who have a value, for each that enough people have to be above it somewhere."""
    least = max(k, math.ceil(model.exact_l))
    chosen = np.flatnonzero(holders * float(model.exact_l) > least * (1 - 1e-9))
    if chosen.size > MOST_VALUES:
        raise DataError(
            f"l-diversity of {column.name!r} counts people with several values, and {chosen.size:,} values are "
            f"frequent enough to matter; up to {MOST_VALUES:,} can be looked at.\nAsk it of a coarser column."
        )
    limit = Condition(LIMITED, 0, shares=[(Fraction(0), Fraction(1)), (Fraction(0), 1 / model.exact_l)])
    return TestsOfSets([(has[value].astype(np.int32)[codes], 2, limit) for value in chosen], least)


def _holders(column: CodedColumn) -> NDArray[np.bool_]:
    """Return which labels tell that somebody has each value, (values, v)."""
    members = [
        column.several.get(label, (None if code == column.missing else label,))
        for code, label in enumerate(column.labels)
    ]
    value_of = {
        value: number for number, value in enumerate(dict.fromkeys(value for each in members for value in each))
    }
    has = np.zeros((len(value_of), len(members)), dtype=np.bool_)
    for code, each in enumerate(members):
        has[[value_of[value] for value in each], code] = True
    return has
