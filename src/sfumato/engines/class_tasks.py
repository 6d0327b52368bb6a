"""Classes with all of their rows, some of them at a time, wherever that is: files of a private work folder in and out.

terms/PART           the distinct rows of columns of terms, and how many there are of each
classes-N            which class each row is in, as all parts need to know it; N: rounds that were done before
round-N              which classes are worked on together, and what they can be joined to there
to-classes-N/PART    rows on their way to where all of their class are, with their numbers
from-classes/N-M     and back; what a later round says of a row goes before

Classes that may have to be joined are together as far as there is room: whole subtrees of what they were split from.
One that is not safe there is joined, in a round more, with all that lies below what it was split from, and solved from
the original rows of all of these. So the outcome is that of one machine, however rows lie in parts, and however many of
them are together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymizers.base import ByClass, ClassTree, ClassWork, Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import CodedSets, Dataset, as_arrow, as_numpy
from sfumato.data.equal_rows import number_equal_rows
from sfumato.data.recoding import Labelled, Recoding
from sfumato.engines.local import LOCAL_SERVES
from sfumato.engines.region_tasks import AT_ONCE
from sfumato.engines.regions import Cluster
from sfumato.engines.seeing import held_once
from sfumato.engines.tasks import ROW, WEIGHT, Decision, Home, Part, as_array, coded_part, rows_like, without_rows
from sfumato.engines.workroom import arrived, got, keep, kept, plain, put, sent
from sfumato.errors import DataError

ROWS_TOGETHER = 1 << 20  # rows of classes that a task takes, where classes are not larger
NODE = "\0node"  # beside columns of the table
Integers = NDArray[np.int64]


# What all rows tell.


def terms_of_part(room: Path, columns: Sequence[str], part: Part) -> int:
    """Keep the distinct rows of columns of terms in a part, as they appear; return how many these are."""
    table = got(room / "coded" / part.name).select(columns)
    found = _held_once(table.append_column(WEIGHT, as_arrow(np.ones(part.rows, dtype=np.int64))), room)
    put(room / "terms" / part.name, [found])
    return int(found.num_rows)


def _held_once(table: pa.Table, room: Path) -> pa.Table:
    """Return rows with weights, equal ones held once where the first of them stood."""
    columns: Any = rows_like(table.drop_columns([WEIGHT]), kept(room / "template"), table.num_rows).columns
    return held_once(table, number_equal_rows(columns, None, table.num_rows))


def distinct_terms(cluster: Cluster, room: Path, parts: Sequence[Part], columns: Sequence[str], most: int) -> Dataset:
    """Return the distinct rows of columns of terms with weights, as they appear in the table; raise beyond `most`."""
    cluster.each(partial(terms_of_part, room, columns), parts, "count sets of terms")
    waiting, held = list[pa.Table](), 0
    for at, part in enumerate(parts):
        waiting.append(got(room / "terms" / part.name))
        if sum(table.num_rows for table in waiting) > max(2 * held, AT_ONCE) or at == len(parts) - 1:
            waiting = [_held_once(pa.concat_tables(waiting).combine_chunks(), room)]
            held = waiting[0].num_rows
        if held > most:
            raise DataError(
                f"What terms tell is added up over the distinct rows of {', '.join(columns)}, on the driver, which "
                f"takes {most:,}; there are {held:,} or more.\n"
                f"Raise --distinct-on-driver if the driver has the memory (about 1 kB each), or {LOCAL_SERVES}, with 4 "
                "bytes a term as well."
            )
    [found] = waiting
    weights = as_numpy(plain(found.column(WEIGHT))).astype(np.int64)
    return replace(rows_like(found.drop_columns([WEIGHT]), kept(room / "template")), weights=weights)


# Trees of classes.


@dataclass(frozen=True, eq=False)
class Nodes:
    """What classes can be joined to, from the classes to what nothing is above. t nodes, in any order."""

    parent: Integers  # (t,): -1: nothing is above

    @cached_property
    def _levels(self) -> list[Integers]:
        """Nodes by how many are above them."""
        depth, jump = (self.parent >= 0).astype(np.int64), self.parent.copy()
        while (below := np.flatnonzero(jump >= 0)).size:  # twice as far each time
            depth[below] += depth[jump[below]]
            jump[below] = jump[jump[below]]
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=0)) + 1)))

    def below(self, counts: Integers) -> Integers:
        """Return counts of all that lies below each node, and of itself, (t,).

        >>> Nodes(np.array([-1, 0, 0, 1, 1])).below(np.array([0, 0, 5, 1, 2])).tolist()
        [8, 3, 5, 1, 2]
        """
        found = counts.copy()
        for level in self._levels[:0:-1]:
            np.add.at(found, self.parent[level], found[level])
        return found

    def topmost(self, marked: NDArray[np.bool_]) -> Integers:
        """Return for each node the highest marked one at or above it, -1 where none is, (t,).

        >>> Nodes(np.array([-1, 0, 0, 1, 1])).topmost(np.array([False, True, False, True, False])).tolist()
        [-1, 1, -1, 1, 1]
        """
        found = np.where(marked, np.arange(marked.size), -1)
        for level in self._levels[1:]:
            above = found[self.parent[level]]
            found[level] = np.where(above >= 0, above, found[level])
        return found


def packed(sizes: Integers, most: int) -> Integers:
    """Return a number for each of some things, so that those with the same one fit together, in their order.

    >>> packed(np.array([3, 1, 9, 2, 2]), 4).tolist()
    [0, 0, 1, 2, 2]
    """
    number, held, found = 0, 0, np.empty(sizes.size, dtype=np.int64)
    for at, size in enumerate(sizes.tolist()):
        if held and held + size > most:
            number, held = number + 1, 0
        held += size
        found[at] = number
    return found


# Tasks.


@dataclass(frozen=True, eq=False)
class Round:
    """Which classes are worked on, where, and what they can be joined to there."""

    number: int
    classes: str  # the file that knows the class of every row
    work: ClassWork
    columns: tuple[str, ...]  # whose rows are looked at
    at: Integers  # (t,): the node that the rows of each class begin in; -1: they are not in this round
    parent: Integers  # (t,): what a node is joined to; -1: nothing that is there
    place_of: Integers  # (t,): where a node is worked on
    places: int


class Classes(Protocol):
    """Knows the class of every row."""

    def nodes(self, room: Path, part: Part, dataset: Dataset) -> Integers:
        """Return the node of each row of a part, (n,); -1: it takes no part."""


@dataclass(frozen=True, eq=False)
class DecidedClasses:
    """Classes of rows that were decided about on the driver."""

    decision: Decision
    node_of: Integers  # (n,): of each entry

    def nodes(self, room: Path, part: Part, dataset: Dataset) -> Integers:
        """Return the node of each row of a part."""
        return self.node_of[self.decision.entries(room, part, dataset)]


def send_classes(room: Path, number: int, part: Part) -> None:
    """Send the rows of a part to where all rows of their class are."""
    sending: Round = kept(room / f"round-{number}")
    classes: Classes = kept(room / sending.classes)
    node = classes.nodes(room, part, coded_part(room, part.name))
    node = np.where(node >= 0, sending.at[node], -1)
    rows = np.flatnonzero(node >= 0)
    table = got(room / "coded" / part.name).select(sending.columns)
    table = table.append_column(ROW, as_arrow(part.first + np.arange(part.rows)))
    table = table.append_column(NODE, as_arrow(node)).take(as_arrow(rows))
    sent(room / f"to-classes-{number}" / part.name, table, sending.place_of[node[rows]], sending.places)


@dataclass(frozen=True, eq=False)
class Solved:
    """What the driver hears of classes that were worked on together."""

    moved: tuple[Integers, Integers]  # nodes whose rows were joined, and to what
    failed: Integers  # nodes that are not safe
    said: Any
    shells: dict[str, Labelled | CodedSets]  # columns without their rows


def solve_classes(room: Path, number: int, parts: Sequence[Part], place: int) -> Solved:
    """Work on classes, all of whose rows are here."""
    sending: Round = kept(room / f"round-{number}")
    table = arrived(room / f"to-classes-{number}", [part.name for part in parts], place).sort_by(ROW)
    rows, node = (as_numpy(plain(table.column(name))) for name in (ROW, NODE))
    dataset = rows_like(table.drop_columns([ROW, NODE]), kept(room / "template"))
    done = sending.work.solve(dataset, ClassTree(node, sending.parent), Workplace())
    arrays = {ROW: as_arrow(rows), **{name: as_array(each, 0, rows.size) for name, each in done.columns.items()}}
    home = np.searchsorted([part.first for part in parts], rows, side="right") - 1
    sent(room / "from-classes" / f"{number}-{place}", pa.table(arrays), home, len(parts))
    started, first = np.unique(node, return_index=True)
    ended = done.node_of[first]
    joined = started != ended
    shells = {name: without_rows(column) for name, column in done.columns.items()}
    return Solved((started[joined], ended[joined]), done.failed, done.said, shells)


# What the driver does.


def rows_in(tree: ClassTree, distinct: Dataset) -> Integers:
    """Return how many rows each class has, (t,), 0 for nodes that are none."""
    own, inside = np.zeros(tree.parent.size, dtype=np.int64), tree.node_of >= 0
    np.add.at(own, tree.node_of[inside], 1 if distinct.weights is None else distinct.weights[inside])
    return own


class Gathered:
    """Which classes are together in a round, and where rows ended so far. Sizes: t nodes."""

    def __init__(self, parent: Integers, own: Integers, together: int) -> None:
        """Begin with each class by itself, beside all that it may have to be joined with, as far as there is room.

        own: the rows of each class, (t,), 0 for what is none.
        """
        self.above, self.own, self.nodes, self.together = parent, own, Nodes(parent), together
        self.rows, every = self.nodes.below(own), np.arange(parent.size)
        tops = self.nodes.topmost(self.rows <= together)
        self.tops = np.where(tops < 0, every, tops)  # a class may have more rows than fit together
        self.at, self.ended = every, every  # where the rows of each class begin, and where they ended
        self.parent = np.where(self.tops == every, -1, parent)
        self.stuck = every[:0]  # nodes that are not safe, with nothing above them
        self.rounds = 0  # that were heard of

    @property
    def chosen(self) -> Integers:
        """The nodes below which classes are worked on together."""
        return np.unique(self.tops[(self.own > 0) & (self.at >= 0)])

    def round(self, number: int, classes: str, work: ClassWork, columns: tuple[str, ...]) -> Round:
        """Return what tasks have to know."""
        chosen, place_of = self.chosen, np.full(self.own.size, -1)
        place_of[chosen] = packed(self.rows[chosen], self.together)
        places = int(place_of.max(initial=-1)) + 1
        return Round(number, classes, work, columns, self.at, self.parent, place_of[self.tops], places)

    def hear(self, solved: Sequence[Solved]) -> bool:
        """Take what became of classes; return whether some are joined now, which another round is for."""
        self.rounds += 1
        moved = np.arange(self.own.size)
        for each in solved:
            moved[each.moved[0]] = each.moved[1]
        self.ended = np.where(self.at >= 0, moved[self.at], self.ended)
        failed = np.concatenate([each.failed for each in solved])
        above = self.above[failed]
        self.stuck = failed[above < 0]
        if not failed.size or self.stuck.size:
            return False
        marked = np.zeros(self.own.size, dtype=np.bool_)
        marked[above] = True
        self.tops = self.at = self.nodes.topmost(marked)
        self.parent = np.full(self.own.size, -1)
        return True


@dataclass(frozen=True)
class ClassesInParts:
    """Has a step done class by class."""

    cluster: Cluster
    room: Path
    parts: tuple[Part, ...]
    columns: tuple[str, ...]  # whose rows are looked at
    together: int  # rows of classes that a task takes
    most: int  # rows of one class, or of classes that have to be joined

    def decide(
        self, step: Step, dataset: Dataset, decision: Decision, before: Recoding, workplace: Workplace
    ) -> tuple[Recoding, Home]:
        """Return what a step decides of distinct rows, and where the rows of its columns come home from.

        decision: what steps before decided, as all parts need to know it.
        """
        pieces = before.pieces
        distinct = dataset if pieces is None else dataset.standing_for(pieces.row_of, pieces.count)
        work = cast("ByClass", step.anonymizer).by_class(distinct, step.policy, workplace)
        tree = work.classes(distinct, before)
        classes = DecidedClasses(replace(decision, recoding=Recoding()), tree.node_of)
        gathered = Gathered(tree.parent, rows_in(tree, distinct), self.together)
        home, facts = self.solve(step, work, classes, gathered, workplace)
        node_of = np.where(tree.node_of >= 0, gathered.ended[tree.node_of], -1)
        return replace(work.joined(distinct, before, node_of), facts=facts), home

    def solve(
        self, step: Step, work: ClassWork, classes: Classes, gathered: Gathered, workplace: Workplace, number: int = 0
    ) -> tuple[Home, Mapping[str, Any]]:
        """Have all classes worked on; return where rows come home from, and what there is to say.

        number: rounds that were done before, about other classes.
        """
        said, places, known, more = list[Any](), list[str](), f"classes-{number}", True
        shells: dict[str, Labelled | CodedSets] = {}
        keep(self.room / known, classes)
        while more:
            number += 1
            self._refuse_too_large(step, gathered.rows[gathered.chosen])
            sending = gathered.round(number, known, work, self.columns)
            stage = workplace.stage(f"{step.anonymizer.name} in {sending.places} part(s), each of whole classes")
            solved = self._solve(sending)
            stage.done()
            said += [each.said for each in solved]
            places += [f"{number}-{place}" for place in range(sending.places)]
            shells = solved[0].shells
            more = gathered.hear(solved)
        started = np.flatnonzero(gathered.own)
        ended = np.unique(gathered.ended[started])
        facts = work.facts(said, ended, int((~np.isin(started, ended)).sum()))
        return Home("from-classes", tuple(places), shells), facts

    def _solve(self, sending: Round) -> list[Solved]:
        keep(self.room / f"round-{sending.number}", sending)
        self.cluster.each(partial(send_classes, self.room, sending.number), self.parts, "send rows to their classes")
        solve = partial(solve_classes, self.room, sending.number, self.parts)
        return self.cluster.each(solve, range(sending.places), "work on classes")

    def _refuse_too_large(self, step: Step, rows: Integers) -> None:
        if (largest := int(rows.max(initial=0))) > self.most:
            raise DataError(
                f"{step.anonymizer.name} was asked for on classes that are not safe by themselves, or are large: "
                f"{largest:,} rows would have to be worked on together, and a task takes {self.most:,}.\n"
                "Raise --distinct-on-driver if executors have the memory, ask for less, or "
                f"{LOCAL_SERVES}, with 4 bytes a term as well."
            )
