"""What is done with one region of a table, wherever that is: files of a private work folder in, such files out.

samples/PART            some distinct rows of a part
counted, sample         columns that know how common their values are; the sample of all parts
to-region/PART          the distinct rows of a part, by the region that they are in
region/PHASE-NUMBER     the distinct rows of a region, and what was decided about them
dealt/NUMBER            what was decided, for the rows of each part
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import Codes, Dataset, DistinctRows, as_arrow, as_numpy, counted, starts_of
from sfumato.data.keystream import ascending
from sfumato.data.recoding import Labelled, Pieces, Recoding
from sfumato.engines.cutting import Cut, Regions, Sample, distinct_among, mixed
from sfumato.engines.tasks import WEIGHT, Part, distinct_in, keys_of
from sfumato.engines.workroom import arrived, got, keep, kept, plain, sent
from sfumato.errors import Unsatisfiable

AT, COUNT = "\0at", "\0count"
AT_ONCE = 1 << 20  # distinct rows of parts that are put together at least


def carry_out_on_distinct(step: Step, distinct: Dataset, before: Recoding, workplace: Workplace) -> Recoding:
    """Return what a step decides about distinct rows with weights; about single ones where it cannot take these."""
    held = distinct if before.pieces is None else distinct.standing_for(before.pieces.row_of, before.pieces.count)
    if held.weights is not None and not step.anonymizer.counts_with(step.policy):
        row_of = np.repeat(np.arange(held.n_rows), held.weights)
        before = before.divided(Pieces(row_of, np.ones(row_of.size, dtype=np.int64)))
        held = held.standing_for(row_of, None)
    return step.carry_out(held, before, workplace)


def of_distinct(template: Dataset, columns: Sequence[str], codes: Codes, weight: NDArray[np.int64]) -> Dataset:
    """Return distinct rows with weights, given columns that know all but these."""
    found = dict(template.columns)
    for at, name in enumerate(columns):
        found[name] = replace(template.column(name), codes=np.ascontiguousarray(codes[:, at]))
    return replace(template, columns=found, carried=None, n_rows=weight.size, weights=weight)


def coded_distinct(table: pa.Table, columns: Sequence[object]) -> Codes:
    """Return the codes of distinct rows as a task kept them, (n, q), one for each of the columns."""
    found = [as_numpy(plain(table.column(f"{at}"))) for at in range(len(columns))]
    return np.stack(found, axis=1) if found else np.empty((table.num_rows, 0), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class AllDistinct:
    """The distinct rows of all parts, in ascending order of codes, and how many rows each stands for."""

    codes: Codes  # (c, q)
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, room: Path, parts: Sequence[Part], sizes: Sequence[int]) -> AllDistinct:
        """Return those of all parts; never more than twice as many as there are in the end are held at once."""
        found = cls(np.empty((0, len(sizes)), dtype=np.int32), np.empty(0, dtype=np.int64))
        waiting, held = [found], 0
        for at, part in enumerate(parts):
            table = got(room / "distinct" / part.name)
            waiting.append(cls(coded_distinct(table, sizes), as_numpy(plain(table.column(WEIGHT)))))
            held += table.num_rows
            if held > max(found.weight.size, AT_ONCE) or at == len(parts) - 1:
                found = cls._merged(waiting, sizes)
                waiting, held = [found], 0
        return found

    @classmethod
    def _merged(cls, several: Sequence[AllDistinct], sizes: Sequence[int]) -> AllDistinct:
        codes, weight = (np.concatenate([getattr(each, name) for each in several]) for name in ("codes", "weight"))
        distinct = distinct_among(codes, sizes, weight)
        return cls(distinct.codes, distinct.weight)

    @cached_property
    def _by_number(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Numbers of the distinct rows in ascending order, and which of these each is of."""
        numbers = mixed(self.codes)
        order = ascending(numbers)
        return numbers[order], order

    def places(self, codes: Codes) -> NDArray[np.int64]:
        """Return which of these distinct rows each row of codes is, (n, q) -> (n,); all of them are among these."""
        numbers, order = self._by_number
        found = order[np.searchsorted(numbers, mixed(codes))]
        if np.array_equal(self.codes[found], codes):
            return found
        # Two distinct rows share a number, one chance in 100,000 for 20 million of them: they are told apart by codes.
        both = np.concatenate([self.codes, codes])
        distinct = distinct_among(both, (both.max(axis=0) + 1).tolist())
        return distinct.distinct_of[len(self.codes) :].astype(np.int64)


def sample_part(room: Path, columns: Sequence[str], most: int, part: Part) -> None:
    """Keep a sample of the distinct rows of a part."""
    table = got(room / "distinct" / part.name)
    keep(
        room / "samples" / part.name,
        Sample.of(coded_distinct(table, columns), as_numpy(plain(table.column(WEIGHT))), most),
    )


@dataclass(frozen=True)
class Sides:
    """Asks how many rows with each value of some columns lie below each of some cuts."""

    columns: tuple[str, ...]
    regions: Regions
    cuts: Mapping[int, Sequence[Cut]]  # by node
    judged: tuple[str, ...]
    sizes: tuple[int, ...]  # values of the judged columns

    def counted_in(self, room: Path, part: Part) -> dict[int, NDArray[np.int64]]:
        """Return counts of all judged columns, one after the other, with rows before: of the node, then of each cut."""
        table = got(room / "distinct" / part.name)
        codes, weight = coded_distinct(table, self.columns), as_numpy(plain(table.column(WEIGHT)))
        node_of = self.regions.of(codes)
        found = {}
        for node, cuts in self.cuts.items():
            inside = np.flatnonzero(node_of == node)
            counts = [self._count(codes[inside], weight[inside])]
            for cut in cuts:
                low = inside[codes[inside, cut.column] < cut.bound]
                counts.append(self._count(codes[low], weight[low]))
            found[node] = np.stack(counts)
        return found

    def _count(self, codes: Codes, weight: NDArray[np.int64]) -> NDArray[np.int64]:
        places = [self.columns.index(name) for name in self.judged]
        each = [counted(codes[:, at], size, weight) for at, size in zip(places, self.sizes, strict=True)]
        return np.concatenate([[weight.sum()], *each]).astype(np.int64)


def send_distinct(room: Path, columns: Sequence[str], regions: Regions, part: Part) -> None:
    """Send the distinct rows of a part to the regions that they are in."""
    table = got(room / "distinct" / part.name)
    table = table.append_column(AT, as_arrow(np.arange(table.num_rows)))
    number_of = regions.numbers(coded_distinct(table, columns))
    sent(room / "to-region" / part.name, table, number_of, len(regions.leaves))


@dataclass(frozen=True, eq=False)
class Arrived:
    """The distinct rows of all parts in one region: those of part i are start[i]:start[i + 1]."""

    distinct: DistinctRows
    start: NDArray[np.int64]
    at: NDArray[np.int64]  # their places among those of their part
    weight: NDArray[np.int64]

    @classmethod
    def of(cls, room: Path, shape: Shape, number: int) -> Arrived:
        """Return those of a region."""
        tables = [got(room / "to-region" / name, number) for name in shape.parts]
        start = starts_of([table.num_rows for table in tables])
        table = pa.concat_tables(tables).combine_chunks()
        codes, weight = coded_distinct(table, shape.columns), as_numpy(plain(table.column(WEIGHT)))
        return cls(distinct_among(codes, shape.sizes, weight), start, as_numpy(plain(table.column(AT))), weight)

    def part_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the parts of some of these rows."""
        return np.asarray(np.searchsorted(self.start, rows, side="right") - 1)

    def begun(self) -> NDArray[np.int64]:
        """Return how many rows of each distinct row lie in parts before; shape: distinct rows of all parts."""
        begun, so_far = np.empty(self.weight.size, dtype=np.int64), np.zeros(self.distinct.weight.size, dtype=np.int64)
        for first, last in zip(self.start[:-1], self.start[1:], strict=True):
            number = self.distinct.distinct_of[first:last]
            begun[first:last] = so_far[number]
            so_far[number] += self.weight[first:last]
        return begun


@dataclass(frozen=True)
class Shape:
    """What all tasks about regions know of the table."""

    columns: tuple[str, ...]  # that tell distinct rows apart
    sizes: tuple[int, ...]  # values of each
    parts: tuple[str, ...]  # names
    regions: Regions = field(default_factory=Regions)


@dataclass(frozen=True, eq=False)
class Solved:
    """What was decided about the distinct rows of a region."""

    codes: Codes
    weight: NDArray[np.int64]
    recoding: Recoding

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each piece, or distinct row, ends among all rows of the region."""
        return np.cumsum(self.weight if self.recoding.pieces is None else self.recoding.pieces.count)

    def runs(self, here: Arrived) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return runs of the rows of parts' distinct rows: which of these, the entry that they have, and how many."""
        ends = self.ends
        first_row = (np.cumsum(self.weight) - self.weight)[here.distinct.distinct_of] + here.begun()
        low = np.searchsorted(ends, first_row, side="right")
        high = np.searchsorted(ends, first_row + here.weight - 1, side="right")
        owner = np.repeat(np.arange(low.size), high - low + 1)
        run = np.arange(owner.size) - np.repeat(np.cumsum(high - low + 1) - (high - low + 1), high - low + 1)
        entry = low[owner] + run
        begins = np.maximum(first_row[owner], np.concatenate([[0], ends])[entry])
        return owner, entry, np.minimum((first_row + here.weight)[owner], ends[entry]) - begins


@dataclass(frozen=True, eq=False)
class Said:
    """What the driver hears of a region."""

    facts: Mapping[str, Any]
    labels: Mapping[str, tuple[tuple[str, ...], str | None]]  # by column: those that occur, and the one for nothing
    sampled: Mapping[str, tuple[str, ...]]  # by column: what rows of the sample show
    distinct: int
    public: Mapping[str, Mapping[str, Any]]  # by column: what release.json shall add


def solve_region(
    room: Path, step: Step, workplace: Workplace, key: bytes, shape: Shape, number: int
) -> Said | Unsatisfiable:
    """Decide about a region, for the first time or once more."""
    path = room / "region" / f"{step.anonymizer.phase.name}-{number}"
    template: Dataset = kept(room / "counted")
    earlier = [room / "region" / f"{name}-{number}" for name in kept(room / "forming")]
    before = next((found for found in earlier[::-1] if found != path and found.exists()), None)
    if before is None:
        distinct = Arrived.of(room, shape, number).distinct
        made = Solved(distinct.codes, distinct.weight, Recoding())
    else:
        made = pickle.loads(before.read_bytes())
    seed = int.from_bytes(keys_of(key, "region", number)()[:16], "little")
    place = replace(workplace, rng=np.random.default_rng(seed))
    dataset = of_distinct(template, shape.columns, made.codes, made.weight)
    try:
        recoding = carry_out_on_distinct(step, dataset, made.recoding, place)
    except Unsatisfiable as error:
        return error
    made = replace(made, recoding=recoding)
    keep(path, made)
    return said_of(room, shape, made, number)


def said_of(room: Path, shape: Shape, made: Solved, number: int) -> Said:
    """Return what the driver hears of a region that was decided about."""
    sample: Sample = kept(room / "sample")
    mine = np.flatnonzero(shape.regions.numbers(sample.codes) == number)
    both = np.concatenate([made.codes, sample.codes[mine]])
    distinct_of = distinct_among(both, shape.sizes).distinct_of[len(made.codes) :]
    first = np.searchsorted(made.ends, (np.cumsum(made.weight) - made.weight)[distinct_of], side="right")
    labels, sampled = {}, {}
    for name, column in made.recoding.columns.items():
        assert isinstance(column, Labelled), "sets are of single rows"
        used = np.unique(column.codes).tolist()
        nothing = column.labels[column.missing] if column.missing >= 0 else None
        labels[name] = (tuple(column.labels[code] for code in used), nothing)
        sampled[name] = tuple(column.labels[code] for code in column.codes[first].tolist())
    return Said(made.recoding.facts, labels, sampled, made.weight.size, made.recoding.public)


def deal_region(room: Path, phase: str, labels: Mapping[str, tuple[str, ...]], shape: Shape, number: int) -> int:
    """Send what was decided about a region to the rows of each part; return how many rows are published."""
    made: Solved = pickle.loads((room / "region" / f"{phase}-{number}").read_bytes())
    here = Arrived.of(room, shape, number)
    owner, entry, count = made.runs(here)
    arrays = {AT: as_arrow(here.at[owner]), COUNT: as_arrow(count)}
    for name, column in made.recoding.columns.items():
        assert isinstance(column, Labelled)
        place = {label: code for code, label in enumerate(labels[name])}
        code_of = np.array([place.get(label, 0) for label in column.labels], dtype=np.int32)
        arrays[name] = as_arrow(code_of[column.codes[entry]])
    sent(room / "dealt" / f"{number}", pa.table(arrays), here.part_of(owner), len(shape.parts))
    return int(made.weight.sum())


def rows_of_runs(runs: pa.Table, shape: Shape, dataset: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of a part in the order of their distinct rows, and the run of each."""
    order = np.argsort(as_numpy(plain(runs.column(AT))), kind="stable")
    run_of = np.repeat(order, as_numpy(plain(runs.column(COUNT)))[order])
    return np.argsort(distinct_in(dataset, shape.columns).distinct_of, kind="stable"), run_of


@dataclass(frozen=True)
class Dealt:
    """What is published of each row, where regions decided: runs of the rows of each distinct row of a part."""

    shape: Shape
    recoding: Recoding  # without rows

    def on(self, room: Path, part: Part, dataset: Dataset) -> Recoding:
        """Return what was decided about the rows of a part."""
        names = [f"{number}" for number in range(len(self.shape.regions.leaves))]
        runs = arrived(room / "dealt", names, self.shape.parts.index(part.name))
        rows, run_of = rows_of_runs(runs, self.shape, dataset)
        columns: dict[str, Any] = {}
        for name, column in self.recoding.columns.items():
            assert isinstance(column, Labelled)
            codes = np.empty(part.rows, dtype=np.int32)
            codes[rows] = as_numpy(plain(runs.column(name)))[run_of]
            columns[name] = replace(column, codes=codes)
        return Recoding(columns=columns)
