"""How many people of a population a class could be about: those whose values its published labels cover.

Sizes: c classes, p different combinations of quasi-identifiers in the population.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, distinct_rows
from sfumato.data.hierarchy import ROOT
from sfumato.data.labels import parse_range, parse_set, range_ends
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.errors import DataError
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.classes import Classes, checked_codes, classes_of, read_label
from sfumato.models.judging.weights import Integers


@dataclass(frozen=True, eq=False)
class Covered:
    """What labels leave open, in people of the population."""

    classes: Classes
    people: Integers  # (c,): whom the labels of each class cover
    alone: Integers  # (c,): those of them whom no other class covers
    elsewhere: int  # people whom no class could be about
    population: int

    @property
    def overlap(self) -> int:
        """How many classes cover people whom others cover as well."""
        return int((self.alone < self.people).sum())

    @property
    def surely(self) -> Integers:
        """How many people each row of a class could be about, whatever other classes rule out, at least, (c,).

        A row of the class may change places with any other, and its person with anybody whom this class alone covers.
        """
        return np.where(self.alone < self.people, np.maximum(self.alone, self.classes.size), self.people)


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
    distinct = distinct_rows(known, population.n_rows)
    covers, label_of = [], []
    for column, values in zip(columns, known, strict=True):
        if isinstance(column, CodedSets):
            raise DataError(
                f"{model.name} cannot judge column {column.name!r}, which holds sets.\nGive it another role."
            )
        covers.append(covers_values(column, values))
        label_of.append(checked_codes(column, release.n_rows)[some_row])
    people = np.zeros(some_row.size, dtype=np.int64)
    covered_by = np.zeros(distinct.weight.size, dtype=np.int64)
    one_of = np.full(distinct.weight.size, -1, dtype=np.int64)  # a class that covers each
    for number, inside in _whom(covers, label_of, distinct.codes):
        people[number] = distinct.weight[inside].sum()
        covered_by[inside] += 1
        one_of[inside] = number
    beyond = int((classes.size > people).sum())
    if beyond:
        raise DataError(
            f"{model.name} is judged with the population {name!r}, but {beyond:,} of {people.size:,} classes have more "
            "rows than it has people whom they could be about.\nGive a population that contains the table."
        )
    once = covered_by == 1
    alone = np.bincount(one_of[once], distinct.weight[once], some_row.size).astype(np.int64)
    return Covered(classes, people, alone, int(distinct.weight[covered_by == 0].sum()), population.n_rows)


def _whom(
    covers: list[NDArray[np.bool_]], label_of: list[NDArray[np.int32]], codes: NDArray[np.int32]
) -> Iterator[tuple[int, Integers]]:
    """Yield each class and the combinations that it covers: column by column, classes with equal labels together.

    The column whose labels cover least comes first, so that few combinations are left for the others.
    """
    n_classes = label_of[0].size if label_of else 1
    if not n_classes:
        return
    left = []
    for at, (cover, label) in enumerate(zip(covers, label_of, strict=True)):
        held = cover @ np.bincount(codes[:, at], minlength=cover.shape[1])
        left.append(int(held[label].sum()))
    order = sorted(range(len(covers)), key=left.__getitem__)
    waiting = [(np.arange(n_classes), np.arange(len(codes)), 0)]
    while waiting:
        classes, inside, depth = waiting.pop()
        if depth == len(order):
            yield from ((int(number), inside) for number in classes)
            continue
        cover, at = covers[order[depth]], order[depth]
        labels = label_of[at][classes]
        by_label = np.argsort(labels, kind="stable")
        found, start = np.unique(labels[by_label], return_index=True)
        own = codes[inside, at]
        for label, some in zip(found.tolist(), np.split(classes[by_label], start[1:]), strict=True):
            waiting.append((some, inside[cover[label][own]], depth + 1))


def covers_values(column: ReleasedColumn, values: CodedColumn) -> NDArray[np.bool_]:
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
        same = values.hierarchy.same if values.hierarchy else {}
        known = slice(0, len(values.labels) - (values.missing >= 0))  # a group of all values has no missing one
        below |= {label: known if only == ROOT else below[only] for label, only in same.items() if only in below}
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
        elif values.dates and (days := range_ends(label)) is not None:
            covers[number] = [
                code != values.missing and days[0] <= day <= days[1] for code, day in enumerate(values.labels)
            ]
        elif ends is not None and values.values is not None:
            low, high, closed = ends
            covers[number] = (values.values >= low) & ((values.values < high) | (closed & (values.values == high)))
        else:
            members = [read_label(each, values.kind) for each in parse_set(label) or ()]
            covers[number, [code for each in members for code in code_of.get(each, ())]] = True
    return covers
