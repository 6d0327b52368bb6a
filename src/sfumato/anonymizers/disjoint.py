"""Labels that never overlap: the people of a population are cut apart, and each region shows one label a column.

Where people are counted (k-map, delta-presence), a person must be covered by one class alone: else classes rule people
out for one another. So regions are made from above. The whole is one region; a cut takes the label of one column apart
into those right below it: of the hierarchy, or, where there is none, halves of ranges and sets. Whatever is cut, every
person of the population lies in one region.

All that is asked holds for a union if it holds for its parts. So a region that fails is never cut further, and what can
be reached from small regions is looked at in full.

Sizes: n rows, p different people, c columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.conditions import Asked, conditions_for, holds, refuse_hopeless
from sfumato.data.dataset import (
    CodedColumn,
    Codes,
    Dataset,
    DistinctRows,
    counted,
    distinct_codes,
    distinct_rows,
    weights_of,
)
from sfumato.data.grid import Grid
from sfumato.data.hierarchy import ROOT, Tree
from sfumato.data.kinds import exact_number
from sfumato.data.knowledge import PublicInputs
from sfumato.data.labels import range_label, set_label
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Kind
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.models import DeltaPresence, KMap
from sfumato.models.base import Policy

POPULATION_MODELS: tuple[type[Any], ...] = (KMap, DeltaPresence)
REACHED = 400  # regions that lie within one, up to which all ways to cut it are compared

Integers: TypeAlias = NDArray[np.int64]
Box: TypeAlias = tuple[int, ...]  # one node a column


@dataclass(frozen=True, eq=False)
class Ladder:
    """The labels that a column may show, as a tree over the values of the population; node 0 is the root."""

    texts: tuple[str, ...]  # (m,)
    first: Integers  # (m,): lowest code of the population below each node
    last: Integers  # (m,)
    loss: NDArray[np.float64]  # (m,)
    below: tuple[tuple[int, ...], ...]  # the nodes right below each, by their codes
    within: Integers  # (m,): how many nodes lie below each, itself included

    @classmethod
    def of_nodes(cls, nodes: Sequence[tuple[int, int, str]], loss: NDArray[np.float64]) -> Ladder:
        """Take nodes as first code, last code and text, the root first, others after those that they lie in."""
        first, last = (np.array([node[at] for node in nodes], dtype=np.int64) for at in (0, 1))
        below: list[list[int]] = [[] for _ in nodes]
        within = np.ones(len(nodes), dtype=np.int64)
        above = np.full(len(nodes), -1)
        for node in range(1, len(nodes)):
            inside = np.flatnonzero((first[:node] <= first[node]) & (last[:node] >= last[node]))
            above[node] = inside[np.argmin((last - first)[inside])]
            below[above[node]].append(node)
        for node in range(len(nodes) - 1, 0, -1):
            within[above[node]] += within[node]
        ordered = tuple(tuple(sorted(each, key=lambda node: int(first[node]))) for each in below)
        return cls(tuple(text for _, _, text in nodes), first, last, loss, ordered, within)


def ladder_of(column: CodedColumn, weight: float, least: int, *, exact: bool) -> Ladder:
    """Return the labels of a column of the population: of its hierarchy, else ranges and sets that are halved."""
    nodes = _tree_nodes(column.tree) if column.tree is not None else _halves(column, least, exact=exact)
    first, last = (np.array([node[at] for node in nodes], dtype=np.int32) for at in (0, 1))
    return Ladder.of_nodes(nodes, weight * column.interval_loss(first, last))


def _tree_nodes(tree: Tree) -> list[tuple[int, int, str]]:
    """Return the nodes of a hierarchy from the root down; of those with the same values below, the lowest."""
    lowest: dict[tuple[int, int], str] = {}
    for first, last, text in zip(tree.first.tolist(), tree.last.tolist(), tree.labels, strict=True):
        lowest.setdefault((first, last), text)
    widest = sorted(lowest, key=lambda ends: (ends[0] - ends[1], ends[0]))
    return [(first, last, lowest[first, last]) for first, last in widest]


def _halves(column: CodedColumn, least: int, *, exact: bool) -> list[tuple[int, int, str]]:
    """Return ranges, or sets, of a column without a hierarchy: all, then halves of about as many people, and so on."""
    n_known = len(column.labels) - (column.missing >= 0)
    grid = None if exact or not Grid.suits(column) else Grid.of(column, column.occurrences, least)
    whole = len(column.labels) - 1
    ends = [(code, code) for code in range(n_known)]
    if grid is not None:
        ends = [pair for pair in zip(grid.first.tolist(), grid.last.tolist(), strict=True) if pair[0] < n_known]

    def text(low: int, high: int) -> str:
        first, last = ends[low][0], ends[high][1]
        if grid is not None:
            return grid.label(column, low, high)
        if column.kind is Kind.NUMBER:
            return range_label(column.labels[first], column.labels[last])
        return set_label([column.labels[code] for code in range(first, last + 1)], len(column.labels))

    nodes = [] if column.missing < 0 and ends else [(0, whole, ROOT)]
    if column.missing >= 0 and whole:
        nodes.append((column.missing, column.missing, column.labels[column.missing]))
    people = np.cumsum([column.occurrences[first : last + 1].sum() for first, last in ends])
    waiting = [(0, len(ends) - 1)] if ends else []
    while waiting:
        low, high = waiting.pop(0)
        nodes.append((ends[low][0], ends[high][1], text(low, high)))
        if low < high:
            before = people[low - 1] if low else 0
            middle = int(np.searchsorted(people[low:high], (before + people[high]) / 2)) + low
            middle = min(max(middle, low), high - 1)
            waiting += [(low, middle), (middle + 1, high)]
    return nodes


@dataclass(frozen=True, eq=False)
class Region:
    """Part of the population, with the rows that lie in it."""

    box: Box
    rows: Integers  # numbers of rows that take part
    people: Integers  # numbers of different people


@dataclass(frozen=True, eq=False)
class Land:
    """Rows and people in the codes of the population, and what is asked of a region with rows in it."""

    ladders: Sequence[Ladder]
    row: Sequence[Codes]  # c times (n,)
    person: Sequence[Codes]  # c times (p,)
    rows: Integers  # (n,): how many each row stands for
    people: Integers  # (p,)
    asked: Asked
    of_people: PeopleAsked

    @property
    def whole(self) -> Region:
        """Everybody."""
        return Region((0,) * len(self.ladders), np.arange(self.rows.size), np.arange(self.people.size))

    def holds(self, region: Region) -> bool:
        """Whether all that is asked holds for the rows of a region, and for its people; nothing is asked of nobody."""
        size, people = int(self.rows[region.rows].sum()), int(self.people[region.people].sum())
        if not self.of_people.low * people <= size <= self.of_people.high * people:
            return False
        if not size:
            return True
        if people < self.of_people.k:
            return False
        histogram = np.zeros(self.asked.conditions.bars, dtype=np.int64)
        for bars in self.asked.bar_of:
            np.add.at(histogram, bars[region.rows], self.rows[region.rows])
        return holds(self.asked.conditions, histogram, size)

    def lost(self, region: Region) -> float:
        """Return what the rows of a region lose together."""
        labels = sum(float(ladder.loss[node]) for ladder, node in zip(self.ladders, region.box, strict=True))
        return labels * int(self.rows[region.rows].sum())

    def cuts(self, region: Region) -> Iterator[list[Region]]:
        """Yield the parts of every cut after which all parts hold; parts without rows are left out."""
        for at, ladder in enumerate(self.ladders):
            below = ladder.below[region.box[at]]
            if not below:
                continue
            ends = ladder.last[list(below)]
            part_of_row = np.searchsorted(ends, self.row[at][region.rows])
            part_of_person = np.searchsorted(ends, self.person[at][region.people])
            parts = [
                Region(
                    (*region.box[:at], node, *region.box[at + 1 :]),
                    region.rows[part_of_row == number],
                    region.people[part_of_person == number],
                )
                for number, node in enumerate(below)
            ]
            if all(map(self.holds, parts)):
                yield [part for part in parts if part.rows.size]

    def divided(self, checkpoint: Callable[[], None]) -> list[Region]:
        """Return regions with rows that lose as little as was found: all ways where few can be reached, else greedily.

        The whole must hold.
        """
        final: list[Region] = []
        waiting, known = [self.whole], dict[Box, tuple[float, list[Region]]]()
        while waiting:
            checkpoint()
            region = waiting.pop()
            reached = math.prod(int(ladder.within[node]) for ladder, node in zip(self.ladders, region.box, strict=True))
            if reached <= REACHED:
                final += self._best(region, known)[1]
                continue
            parts = min(self.cuts(region), key=lambda parts: sum(map(self.lost, parts)), default=None)
            if parts is None:
                final.append(region)
            else:
                waiting += parts
        return final

    def _best(self, region: Region, known: dict[Box, tuple[float, list[Region]]]) -> tuple[float, list[Region]]:
        """Return the least loss of all ways to cut a region further, and its parts."""
        if region.box not in known:
            best = self.lost(region), [region]
            for parts in self.cuts(region):
                found = [self._best(part, known) for part in parts]
                loss = math.fsum(each for each, _ in found)
                if loss < best[0]:
                    best = loss, [part for _, own in found for part in own]
            known[region.box] = best
        return known[region.box]


class PeopleAsked(NamedTuple):
    """What is asked of the people of a population whom a class could be about."""

    k: int
    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, models: Sequence[KMap | DeltaPresence]) -> PeopleAsked:
        """Return what is asked by all models together."""
        presence = [model for model in models if isinstance(model, DeltaPresence)]
        return cls(
            k=max((model.k for model in models if isinstance(model, KMap)), default=1),
            low=max((model.exact_low for model in presence), default=Fraction(0)),
            high=min((model.exact_high for model in presence), default=Fraction(1)),
        )


def population_of(models: Sequence[KMap | DeltaPresence], public: PublicInputs) -> tuple[str, Dataset]:
    """Return the population that requirements name, or raise where they name several."""
    names = sorted({model.population for model in models})
    if len(names) > 1:
        raise DataError(f"Requirements name {len(names)} populations: {', '.join(names)}.\nName one in all of them.")
    return names[0], public.populations[names[0]]


def refuse_outsiders(name: str, more: int, combinations: int) -> None:
    """Raise where so many combinations occur more often in the table than in a population."""
    if more:
        raise DataError(
            f"The population {name!r} must contain the table, but {more:,} of {combinations:,} combinations of "
            "quasi-identifiers occur more often in the table.\nGive one that contains it, in the same spelling."
        )


def out_of_reach(models: Sequence[KMap | DeltaPresence], rows: int, name: str, people: int) -> Unsatisfiable:
    """Return the error where not even all rows as one class have what is asked of people."""
    return Unsatisfiable(
        f"{', '.join(model.name for model in models)} does not even hold for all {rows:,} rows as one class: the "
        f"population {name!r} has {people:,} people.\nAsk for less, or give a larger population."
    )


def besides_people(policy: Policy) -> Policy:
    """Return what is asked of classes besides how many people of a population they could be about."""
    return Policy(tuple(model for model in policy if not isinstance(model, POPULATION_MODELS)))


def refuse_dropping(name: str, policy: Policy, drop_rows: float) -> None:
    """Raise where rows may be dropped, and people of a population are to be counted, by an anonymizer."""
    if drop_rows and policy.of(*POPULATION_MODELS):
        raise PolicyError(
            f"{name} was asked for k-map or delta-presence with drop_rows = {drop_rows:g}, but it drops nobody where "
            'people of a population are counted.\nSet drop_rows = 0, or choose anonymizer = "full-domain".'
        )


def recode_apart(
    name: str,
    dataset: Dataset,
    policy: Policy,
    before: Recoding,
    workplace: Workplace,
    *,
    drop_rows: float,
    exact: bool,
) -> Recoding:
    """Return labels that never overlap for the quasi-identifiers, for an anonymizer, or raise Unsatisfiable."""
    refuse_dropping(name, policy, drop_rows)
    models: tuple[KMap | DeltaPresence, ...] = policy.of(*POPULATION_MODELS)
    rows = None if before.keep_row is None else np.flatnonzero(before.keep_row)
    asked = conditions_for(dataset, besides_people(policy), rows)
    refuse_hopeless(dataset, asked)
    land = land_of(dataset, models, asked, rows, workplace.public, exact=exact)
    regions = land.divided(workplace.checkpoint) if land.rows.size else []
    shown, class_of = labels_of(land, regions, dataset.n_rows, rows)
    labelled = {column.name: labels for column, labels in zip(dataset.quasi_identifiers, shown, strict=True)}
    return before.with_columns(labelled, class_of=class_of, facts={"classes": len(regions), "labels_overlap": False})


def land_of(
    dataset: Dataset,
    models: Sequence[KMap | DeltaPresence],
    asked: Asked,
    rows: Integers | None,
    public: PublicInputs,
    *,
    exact: bool = False,
) -> Land:
    """Return what is cut, or raise when the population lacks people of the table, or nothing can help."""
    (name, population), columns = population_of(models, public), dataset.quasi_identifiers
    known = [population.column(column.name) for column in columns]
    distinct = distinct_rows(known, population.n_rows)
    row_codes = [
        _places(column, those)[column.codes if rows is None else column.codes[rows]]
        for column, those in zip(columns, known, strict=True)
    ]
    weights = asked.weights if asked.weights is not None else np.ones(asked.bar_of.shape[1], dtype=np.int64)
    refuse_outsiders(name, *_more_than_people(row_codes, weights, distinct))
    least = max(asked.conditions.k, 2)
    land = Land(
        ladders=[
            ladder_of(those, weight, least, exact=exact)
            for those, weight in zip(known, weights_of(columns), strict=True)
        ],
        row=row_codes,
        person=[np.ascontiguousarray(distinct.codes[:, at]) for at in range(len(columns))],
        rows=weights,
        people=distinct.weight,
        asked=asked,
        of_people=PeopleAsked.of(models),
    )
    if weights.size and not land.holds(land.whole):
        raise out_of_reach(models, int(weights.sum()), name, population.n_rows)
    return land


def labels_of(
    land: Land, regions: Sequence[Region], n_rows: int, rows: Integers | None
) -> tuple[list[Labelled], Codes]:
    """Return a column of labels for each quasi-identifier, and each row's class; -1 where a row takes no part."""
    class_of = np.full(n_rows, -1, dtype=np.int32)
    for number, region in enumerate(regions):
        class_of[region.rows if rows is None else rows[region.rows]] = number
    shown = []
    for at, ladder in enumerate(land.ladders):
        node_of = np.array([region.box[at] for region in regions] or [0], dtype=np.int32)
        shown.append(Labelled(codes=node_of[np.maximum(class_of, 0)], labels=ladder.texts))
    return shown, class_of


def _places(column: CodedColumn, known: CodedColumn) -> Codes:
    """Return the code that each value of the table has in the population; beyond the last where it has none."""
    code_of: dict[Any, int] = {label: code for code, label in enumerate(known.labels) if code != known.missing}
    if column.kind is Kind.NUMBER and known.kind is Kind.NUMBER:
        code_of = {exact_number(label): code for label, code in code_of.items()}
    found = []
    for code, label in enumerate(column.labels):
        if code == column.missing:
            found.append(known.missing if known.missing >= 0 else len(known.labels))
        else:
            number = column.kind is Kind.NUMBER and known.kind is Kind.NUMBER
            found.append(code_of.get(exact_number(label) if number else label, len(known.labels)))
    return np.array(found, dtype=np.int32)


def _more_than_people(rows: Sequence[Codes], weights: Integers, people: DistinctRows) -> tuple[int, int]:
    """Return how many combinations occur in more rows than people, of how many in the table."""
    together = [np.concatenate([own, theirs]) for own, theirs in zip(rows, people.codes.T, strict=True)]
    n_rows, n_people = weights.size, people.weight.size
    number_of = distinct_codes([(each, int(each.max(initial=0)) + 1) for each in together], n_rows + n_people)
    size, there = (
        counted(number_of.distinct_of[here], number_of.weight.size, counts)
        for here, counts in ((slice(n_rows), weights), (slice(n_rows, None), people.weight))
    )
    return int((size > there).sum()), int((size > 0).sum())
