"""Whom the classes of a node could be about: people of a population, at the same levels as the table.

Sizes: n rows, q quasi-identifiers, c classes, p different people, v values of a column in the table, w in the
population.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.disjoint import PeopleAsked, out_of_reach, population_of, refuse_outsiders
from sfumato.anonymizers.local_recoding.units import LARGEST_KEY, combine
from sfumato.data.dataset import CodedColumn, counted, distinct_rows
from sfumato.data.hierarchy import ROOT
from sfumato.data.knowledge import PublicInputs
from sfumato.models import DeltaPresence, KMap

if TYPE_CHECKING:
    from sfumato.anonymizers.full_domain.lattice import Ladder


@dataclass(frozen=True, eq=False)
class Crowd:
    """A population, and what is asked of the part of it that a class could be about."""

    # q times (levels, w): first code of the label in the table, -1: none covers it
    label_at: Sequence[NDArray[np.int32]]
    code: NDArray[np.int32]  # (p, q)
    weight: NDArray[np.int64]  # (p,)
    values: Sequence[int]  # of each column in the table
    asked: PeopleAsked

    def people(self, node: Sequence[int], label: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int64], int]:
        """Return how many people each class with these labels (q times (c,)) could be about, and how many none is."""
        shown = [
            at[level][self.code[:, column]] for column, (at, level) in enumerate(zip(self.label_at, node, strict=True))
        ]
        inside = np.ones(self.weight.size, dtype=np.bool_)
        for codes in shown:
            inside &= codes >= 0
        n_classes = label[0].size if label else 1
        together = [np.concatenate([own, codes[inside]]) for own, codes in zip(label, shown, strict=True)]
        _, group_of = combine(together, self.values, n_classes + int(inside.sum()))
        count = np.bincount(group_of[n_classes:], weights=self.weight[inside], minlength=int(group_of.max()) + 1)
        people = count[group_of[:n_classes]].astype(np.int64)
        return people, int(self.weight.sum()) - int(people.sum())

    def fails(self, size: NDArray[np.int64], people: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which classes have too few people, and which are too much or too little of theirs; shape (c,) each."""
        k, low, high = self.asked
        terms = (high.numerator, high.denominator, low.numerator, low.denominator)
        if max(terms) * int(self.weight.sum()) >= LARGEST_KEY:  # whole numbers of any size
            size, people = size.astype(object), people.astype(object)
        above = size * high.denominator > people * high.numerator
        below = size * low.denominator < people * low.numerator
        return np.asarray(people < k, np.bool_), np.asarray(above | below, np.bool_)


def crowd_of(
    models: Sequence[KMap | DeltaPresence],
    columns: Sequence[CodedColumn],
    ladders: Sequence[Ladder],
    rows: NDArray[np.int64],
    public: PublicInputs,
    weights: NDArray[np.int64] | None = None,
) -> Crowd:
    """Return the population that requirements name, or raise when it lacks people of the table, or nothing can help.

    weights: how many people each of the rows stands for, None: one each.
    """
    name, population = population_of(models, public)
    known = [population.column(column.name) for column in columns]
    distinct = distinct_rows(known, population.n_rows)
    crowd = Crowd(
        label_at=[_labels_at(*each) for each in zip(columns, ladders, known, strict=True)],
        code=distinct.codes,
        weight=distinct.weight,
        values=[len(column.labels) for column in columns],
        asked=PeopleAsked.of(models),
    )
    codes = [column.codes[rows] for column in columns]
    some_row, class_of = combine(codes, crowd.values, rows.size)
    size = counted(class_of, some_row.size, weights)
    people, _ = crowd.people([0] * len(columns), [code[some_row] for code in codes])
    refuse_outsiders(name, int((size > people).sum()) if rows.size else 0, some_row.size)
    n, everybody, (k, low, high) = int(size.sum()), population.n_rows, crowd.asked
    if n and (everybody < k or not low <= Fraction(n, everybody) <= high):
        raise out_of_reach(models, n, name, everybody)
    return crowd


def _labels_at(column: CodedColumn, ladder: Ladder, known: CodedColumn) -> NDArray[np.int32]:
    """Return for each level and value of the population the first code of the label that covers it, -1: none."""
    population_tree = known.tree
    assert population_tree is not None
    spans = zip(population_tree.labels, population_tree.first.tolist(), population_tree.last.tolist(), strict=True)
    below = {label: slice(first, last + 1) for label, first, last in reversed(list(spans))}
    same = known.hierarchy.same if known.hierarchy else {}
    below[ROOT] = slice(0, len(known.labels) - (known.missing >= 0))  # a group of all values has no missing one
    below |= {label: below[only] for label, only in same.items() if only in below}
    below[ROOT] = slice(0, len(known.labels))
    found = np.full((len(ladder.node), len(known.labels)), -1, dtype=np.int32)
    for level in range(len(ladder.node)):
        for code, text in enumerate(ladder.text(level)):
            if code == column.missing and text != ROOT:
                found[level, known.missing if known.missing >= 0 else []] = ladder.first[level, code]
            elif text in below:
                found[level, below[text]] = ladder.first[level, code]
    return found
