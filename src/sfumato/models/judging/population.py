"""How many people of a population a class could be about: those whose values its published labels cover.

Sizes: c classes, p different combinations of quasi-identifiers in the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, distinct_rows
from sfumato.data.hierarchy import ROOT
from sfumato.data.labels import parse_range, parse_set
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import Classes, checked_codes, classes_of, read_label
from sfumato.models.judging.weights import Integers

AT_A_TIME = 20_000_000  # classes times combinations


@dataclass(frozen=True, eq=False)
class Covered:
    """What labels leave open, in people of the population."""

    classes: Classes
    people: Integers  # (c,): whom each class could be about
    elsewhere: int  # people whom no class could be about
    population: int


def covered_people(release: Release, name: str, model: PrivacyModel) -> Covered:
    """Return how many people of a population each class covers, or raise when the population cannot be had."""
    population = release.public.populations.get(name)
    if population is None:
        raise DataError(
            f"{model.name} is judged with the population {name!r}, which is not at hand.\n"
            "Put the file where the plan says, and judge the release with the plan."
        )
    classes = classes_of(release)
    _, some_row = np.unique(classes.class_of, return_index=True)
    columns = [column for column in release.columns.values() if column.role is Role.QUASI_IDENTIFIER]
    known = [population.column(column.name) for column in columns]
    cells = distinct_rows(known, population.n_rows)
    covers, label_of = [], []
    for column, values in zip(columns, known, strict=True):
        if isinstance(column, CodedSets):
            raise DataError(
                f"{model.name} cannot judge column {column.name!r}, which holds sets.\nGive it another role."
            )
        covers.append(_covers(column, values))
        label_of.append(checked_codes(column, release.n_rows)[some_row])
    people = np.zeros(some_row.size, dtype=np.int64)
    found = np.zeros(cells.weight.size, dtype=np.bool_)
    step = max(AT_A_TIME // max(cells.weight.size, 1), 1)
    for first in range(0, some_row.size, step):
        some = slice(first, first + step)
        open_to = np.ones((some_row[some].size, cells.weight.size), dtype=np.bool_)
        for at, (cover, label) in enumerate(zip(covers, label_of, strict=True)):
            open_to &= cover[label[some]][:, cells.codes[:, at]]
        people[some] = open_to @ cells.weight
        found |= open_to.any(axis=0)
    beyond = int((classes.size > people).sum())
    if beyond:
        raise DataError(
            f"{model.name} is judged with the population {name!r}, but {beyond:,} of {people.size:,} classes have more "
            "rows than it has people whom they could be about.\nGive a population that contains the table."
        )
    return Covered(classes, people, int(cells.weight[~found].sum()), population.n_rows)


def _covers(column: ReleasedColumn, values: CodedColumn) -> NDArray[np.bool_]:
    """Return which values of the population each label covers, shape (labels, values)."""
    covers = np.zeros((len(column.labels), len(values.labels)), dtype=np.bool_)
    code_of: dict[Any, list[int]] = {}
    for code, label in enumerate(values.labels):
        if code != values.missing:
            code_of.setdefault(read_label(label, values.kind), []).append(code)
    below = {}
    if values.tree is not None:
        spans = zip(values.tree.labels, values.tree.first.tolist(), values.tree.last.tolist(), strict=True)
        below = {label: slice(first, last + 1) for label, first, last in spans}
        below |= {label: below[only] for label, only in (values.hierarchy.same if values.hierarchy else {}).items()}
    for number, label in enumerate(column.labels):
        ends = parse_range(label)
        if number == column.missing:
            covers[number, values.missing] = values.missing >= 0
        elif label == ROOT:
            covers[number] = True
        elif (read := read_label(label, values.kind)) in code_of:
            covers[number, code_of[read]] = True
        elif label in below:
            covers[number, below[label]] = True
        elif ends is not None and values.values is not None:
            low, high, closed = ends
            covers[number] = (values.values >= low) & ((values.values < high) | (closed & (values.values == high)))
        else:
            members = [read_label(each, values.kind) for each in parse_set(label) or ()]
            covers[number, [code for each in members for code in code_of.get(each, ())]] = True
    return covers
