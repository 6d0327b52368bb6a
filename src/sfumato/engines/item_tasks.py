"""Items of one part of the records, wherever that is: files of a private work folder in, such files out.

to-items/PART   records on their way to the part that items are withheld in, with the numbers of their rows
to-home/PART    and back, without what is withheld

A union of parts that are each safe is safe: a rule's confidence in the union is a weighted mean of those in the parts,
and a set that k records of a part hold is held by k of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import CodedSets, Dataset, as_arrow, as_numpy, distinct_codes
from sfumato.data.recoding import Labelled, Recoding
from sfumato.engines.cutting import mixed
from sfumato.engines.regions import Cluster
from sfumato.engines.tasks import ROW, Part, as_array, coded_part, keys_of, rows_like, without_rows
from sfumato.engines.workroom import arrived, got, kept, plain, sent

CLASS = "\0class"  # before the number of a quasi-identifier, beside columns of the table


def leading_items(room: Path, column: str, rank: NDArray[np.int64], part: Part) -> dict[tuple[int, int], int]:
    """Return how many occurrences there are in records that begin with the same two items, frequent ones first."""
    sets = coded_part(room, part.name).columns[column]
    assert isinstance(sets, CodedSets)
    size = np.diff(sets.start)
    pairs, number_of = np.unique(_leading(sets, rank), axis=0, return_inverse=True)
    counts = np.bincount(number_of.ravel(), weights=size, minlength=len(pairs)).astype(np.int64)
    return {(one, two): count for (one, two), count in zip(pairs.tolist(), counts.tolist(), strict=True)}


def _leading(sets: CodedSets, rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks of the two most frequent items of each record, (n, 2); those of missing ones come last."""
    last, size = rank.size, np.diff(sets.start)
    record = np.repeat(np.arange(size.size), size)
    order = np.lexsort((rank[sets.items], record))
    ranks = rank[sets.items][order]
    found = np.full((size.size, 2), last, dtype=np.int64)
    for place in range(2):
        has = size > place
        found[has, place] = ranks[sets.start[:-1][has] + place]
    return found


@dataclass(frozen=True)
class ItemParts:
    """Which part of the records each belongs to, by its leading items: bin b begins at first[b].

    Where all records of a bin begin alike and are too many, it has several parts, which take turns. Where classes are
    to be safe by themselves, records go to parts by the class that they are in.
    """

    columns: tuple[str, ...]
    rank: NDArray[np.int64]  # of each item of the first column
    first: tuple[tuple[int, int], ...]
    parts: tuple[int, ...]  # of each bin
    quasi_identifiers: tuple[str, ...] = ()  # that tell classes apart, where these are to be safe

    @property
    def numbers(self) -> range:
        """The number of each part."""
        return range(sum(self.parts))

    def of(self, sets: CodedSets, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the part of each record, (n,), given the numbers of their rows."""
        width = self.rank.size + 1
        key = _leading(sets, self.rank) @ np.array([width, 1])
        begins = np.array([one * width + two for one, two in self.first], dtype=np.int64)
        found = np.searchsorted(begins, key, side="right") - 1
        parts = np.array(self.parts, dtype=np.int64)
        return np.asarray((np.cumsum(parts) - parts)[found] + rows % parts[found])


def item_parts(
    cluster: Cluster, room: Path, parts: Sequence[Part], names: tuple[str, ...], sets: CodedSets, most: int
) -> ItemParts:
    """Return parts of the records with up to `most` occurrences where that can be, alike records together."""
    book = kept(room / "books").by_column[names[0]]
    of_code = np.zeros(len(sets.labels) + 1, dtype=np.int64)
    np.add.at(of_code, book.code_of[:-1], book.tally.counts)  # texts that are no members go to the last place
    rank = np.empty(len(sets.labels), dtype=np.int64)
    rank[np.argsort(-of_code[:-1], kind="stable")] = np.arange(rank.size)
    if int(of_code[:-1].sum()) <= most:
        return ItemParts(names, rank, ((0, 0),), (1,))
    counts: dict[tuple[int, int], int] = {}
    for found in cluster.each(partial(leading_items, room, names[0], rank), parts, "look at records"):
        for pair, count in found.items():
            counts[pair] = counts.get(pair, 0) + count
    first, held = [(0, 0)], [0]
    for pair in sorted(counts):
        if held[-1] and held[-1] + counts[pair] > most:
            first.append(pair)
            held.append(0)
        held[-1] += counts[pair]
    return ItemParts(names, rank, tuple(first), tuple(max(1, -(-each // most)) for each in held))


def send_items(room: Path, parts: ItemParts, part: Part) -> None:
    """Send the records of a part, with the numbers of their rows, to the parts that items are withheld in."""
    dataset, decision = coded_part(room, part.name), kept(room / "decision")
    made = decision.on(room, part, dataset)
    rows = np.arange(part.rows) if made.keep_row is None else np.flatnonzero(made.keep_row)
    sets = dataset.columns[parts.columns[0]]
    assert isinstance(sets, CodedSets)
    table = got(room / "coded" / part.name).select([*parts.columns, *parts.quasi_identifiers])
    table = table.append_column(ROW, as_arrow(part.first + np.arange(part.rows)))
    part_of = parts.of(sets, part.first + np.arange(part.rows))
    if parts.quasi_identifiers:
        shown = [_shown(made, dataset, name) for name in parts.quasi_identifiers]
        for at, codes in enumerate(shown):
            table = table.append_column(f"{CLASS}{at}", as_arrow(np.ascontiguousarray(codes)))
        part_of = (mixed(np.stack(shown, axis=1)) % np.uint64(len(parts.numbers))).astype(np.int64)
    table = table.take(as_arrow(rows))
    sent(room / "to-items" / part.name, table, part_of[rows], len(parts.numbers))


def _shown(made: Recoding, dataset: Dataset, name: str) -> NDArray[np.int32]:
    """Return codes of what rows show in a column, the same in all parts of the table."""
    new = made.columns.get(name)
    return new.codes if isinstance(new, Labelled) else dataset.column(name).codes


def withhold(
    room: Path, step: Step, workplace: Workplace, key: bytes, parts: Sequence[Part], number: int
) -> tuple[Mapping[str, Any], dict[str, Labelled | CodedSets]]:
    """Withhold items in one part of the records; return what there is to say, and the columns without their rows."""
    table = arrived(room / "to-items", [part.name for part in parts], number).sort_by(ROW)
    rows = as_numpy(plain(table.column(ROW)))
    dataset = rows_like(table.drop_columns([ROW]), kept(room / "template"))
    shown = [as_numpy(plain(table.column(name))) for name in table.column_names if name.startswith(CLASS)]
    sized = [(codes, int(codes.max(initial=0)) + 1) for codes in shown]
    before = Recoding(class_of=distinct_codes(sized, rows.size).distinct_of if shown else None)
    seed = int.from_bytes(keys_of(key, "items", number)()[:16], "little")
    place = replace(workplace, rng=np.random.default_rng(seed))
    made = step.carry_out(dataset, before, place)
    columns = {name: made.columns.get(name, dataset.columns.get(name)) for name in table.column_names}
    sets = {name: column for name, column in columns.items() if isinstance(column, CodedSets)}
    arrays = {ROW: as_arrow(rows), **{name: as_array(column, 0, rows.size) for name, column in sets.items()}}
    home = np.searchsorted([part.first for part in parts], rows, side="right") - 1
    sent(room / "to-home" / f"{number}", pa.table(arrays), home, len(parts))
    return made.facts, {name: without_rows(column) for name, column in sets.items()}
