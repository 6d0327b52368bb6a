"""What is done with one part of a table, wherever that is: files of a private work folder in, such files out.

    books, template, decision   what all parts have in common
    coded/PART                  rows in codes, in the order of the source; columns with role `other` as they were found
    distinct/PART               the distinct rows of a part, and how many there are of each
    drawn/PART                  sets of values, or values, drawn by chance
    to-KIND/PART                rows on their way: a batch for each place that they go to
    seen/FILE                   the distinct rows of a written file

A task that is done twice writes the same bytes, and every file appears as a whole. So whoever runs tasks may repeat
them, and run several of the same at once: nothing depends on where, when, in what order or how often they are done.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymizers.base import RowWork, Workplace
from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.dataset import CodedColumn, CodedSets, Dataset, DistinctRows, as_arrow, as_numpy, distinct_rows
from sfumato.data.distinct import Tally
from sfumato.data.encoding import tally
from sfumato.data.files import Source, digest, read_table
from sfumato.data.files.release import write_part
from sfumato.data.files.typed import RowGroups, read_row_groups
from sfumato.data.keystream import Keys, Stretch, ascending, random_places
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.release import Release, members_of, publish
from sfumato.data.schema import Schema
from sfumato.engines.workroom import arrived, got, kept, plain, put, sent

# Beside columns of a table, whose names hold no such character.
PLACE, ROW, WEIGHT = "\0place", "\0row", "\0weight"


# Codes.


@dataclass(frozen=True)
class Splits:
    """Where the rows of a source are, piece by piece, in their order."""

    source: Source
    drop: frozenset[str]
    groups: RowGroups | None  # of Parquet files; None: the whole source is one piece

    @property
    def numbers(self) -> range:
        """The number of each piece."""
        return range(1 if self.groups is None else len(self.groups.places))

    def read(self, number: int) -> pa.Table:
        """Return the rows of a piece, without the columns to drop."""
        if self.groups is None:
            return read_table(self.source, drop=self.drop)
        return read_row_groups(self.groups, number)


@dataclass(frozen=True)
class Part:
    """A part of the table in codes."""

    name: str
    first: int  # the number of its first row
    rows: int
    distinct: int  # distinct rows, in the columns that decide about classes


def tally_split(splits: Splits, schema: Schema, number: int) -> tuple[dict[str, Tally], int, pa.Schema]:
    """Return the tallies of a piece of the source, its rows, and its columns as found."""
    table = splits.read(number)
    return tally(table, schema), table.num_rows, table.schema


def code_split(room: Path, splits: Splits, columns: Sequence[str], rows: int, job: tuple[int, int]) -> list[Part]:
    """Write a piece of the source in codes, in parts of so many rows; job: its number, and that of its first row."""
    number, first = job
    dataset: Dataset = kept(room / "books").encode(splits.read(number))
    parts = []
    for begin in range(0, dataset.n_rows, rows):
        end = min(begin + rows, dataset.n_rows)
        name = f"{number:06d}-{begin // rows:06d}"
        table = _coded(dataset, begin, end)
        put(room / "coded" / name, [table])
        distinct = distinct_in(rows_like(table, dataset), columns)
        found = {f"{at}": as_arrow(np.ascontiguousarray(codes)) for at, codes in enumerate(distinct.codes.T)}
        put(room / "distinct" / name, [pa.table({**found, WEIGHT: as_arrow(distinct.weight)})])
        parts.append(Part(name, first + begin, end - begin, distinct.weight.size))
    return parts


def _coded(dataset: Dataset, first: int, last: int) -> pa.Table:
    arrays = {}
    for name in dataset.order:
        column = dataset.columns.get(name)
        if column is not None:
            arrays[name] = as_array(column, first, last)
        else:
            assert dataset.carried is not None
            arrays[name] = plain(dataset.carried.column(name).slice(first, last - first))
    return pa.table(arrays)


def as_array(column: CodedColumn | Labelled | CodedSets, first: int, last: int) -> pa.Array:
    """Return the codes of some rows of a column, or their sets of codes."""
    if not isinstance(column, CodedSets):
        return as_arrow(np.ascontiguousarray(column.codes[first:last]))
    start, items = members_of(column, first, last)
    return pa.LargeListArray.from_arrays(as_arrow(start), as_arrow(items))


def without_rows(column: Labelled | CodedSets) -> Labelled | CodedSets:
    """Return what is known of a column besides its rows."""
    none = np.empty(0, dtype=np.int32)
    if isinstance(column, Labelled):
        return replace(column, codes=none)
    return replace(column, start=np.zeros(1, dtype=np.int64), items=none)


def rows_like(table: pa.Table, like: Dataset, n_rows: int | None = None) -> Dataset:
    """Return rows in codes, given columns that know all but these."""
    there = tuple(name for name in like.order if name in table.column_names)
    columns = {name: column for name, column in like.columns.items() if name in there}
    carried = [name for name in there if name not in columns]
    return replace(
        like,
        columns={name: with_rows(column, table.column(name)) for name, column in columns.items()},
        carried=table.select(carried) if carried else None,
        n_rows=table.num_rows if n_rows is None else n_rows,
        order=there,
    )


def with_rows(column: Any, found: pa.ChunkedArray) -> Any:
    """Return a column with rows that were written as `as_array` has them."""
    array = plain(found)
    if not isinstance(column, CodedSets):
        return replace(column, codes=as_numpy(array))
    start, items = as_numpy(array.offsets), as_numpy(array.values).astype(np.int32, copy=False)
    if isinstance(column, BitSets):
        return column.with_packed(bit_sets_of(items, start, len(column.labels)))
    return replace(column, items=items, start=start)


def distinct_in(part: Dataset, columns: Sequence[str]) -> DistinctRows:
    """Return the distinct rows of a part, in some columns."""
    return distinct_rows([part.column(name) for name in columns], part.n_rows)


def coded_part(room: Path, name: str) -> Dataset:
    """Return a part in codes."""
    return rows_like(got(room / "coded" / name), kept(room / "template"))


# What was decided.


@dataclass(frozen=True)
class Decision:
    """What is published of each row, as all parts need to know it.

    Rows are found by the distinct row that they equal, and their number among its equals: piece i ends at ends[i] of
    all rows, one distinct row after the other. Where every row was decided about, by their number in the table.
    """

    columns: tuple[str, ...]  # that tell distinct rows apart
    ends: NDArray[np.int64] | None  # (p,); None: by row
    distinct_ends: NDArray[np.int64] | None  # (c,): where the rows of each distinct row end
    recoding: Recoding  # of pieces, or of rows

    def on(self, room: Path, part: Part, dataset: Dataset) -> Recoding:
        """Return what was decided about the rows of a part."""
        return decided(self.entries(room, part, dataset), self.recoding)

    def entries(self, room: Path, part: Part, dataset: Dataset) -> NDArray[np.int64]:
        """Return which entry of the recoding each row of a part has, (n,)."""
        if self.ends is None or self.distinct_ends is None:
            return part.first + np.arange(part.rows)
        distinct_of = distinct_in(dataset, self.columns).distinct_of
        table = got(room / "distinct" / part.name)
        number, begun = as_numpy(plain(table.column("number"))), as_numpy(plain(table.column("begun")))
        order = np.argsort(distinct_of, kind="stable")
        start = np.searchsorted(distinct_of[order], np.arange(number.size))
        rank = np.empty(part.rows, dtype=np.int64)
        rank[order] = np.arange(part.rows) - start[distinct_of[order]]
        place = np.concatenate([[0], self.distinct_ends])[number[distinct_of]] + begun[distinct_of] + rank
        return np.asarray(np.searchsorted(self.ends, place, side="right"))


def decided(entry_of: NDArray[np.int64], recoding: Recoding) -> Recoding:
    """Return what was decided about some rows, given the entry of each."""
    columns: dict[str, Labelled | CodedSets] = {}
    for name, column in recoding.columns.items():
        if isinstance(column, Labelled):
            columns[name] = replace(column, codes=column.codes[entry_of])
        else:
            assert entry_of.size == 0 or entry_of[-1] - entry_of[0] == entry_of.size - 1, "sets are of single rows"
            first = int(entry_of[0]) if entry_of.size else 0
            start, items = members_of(column, first, first + entry_of.size)
            columns[name] = replace(column, start=start, items=items)
    keep_row = recoding.keep_row[entry_of] if recoding.keep_row is not None else None
    return Recoding(columns=columns, keep_row=keep_row)


def some_rows(room: Path, job: tuple[Part, NDArray[np.int64]]) -> tuple[pa.Table, dict[str, NDArray[np.int32]]]:
    """Return some rows of a part in codes, and what is published of them, in codes; job: the part, and their places."""
    part, rows = job
    decision = kept(room / "decision")
    dataset = coded_part(room, part.name)
    made = decision.on(room, part, dataset)
    shown = {name: column.codes[rows] for name, column in made.columns.items() if isinstance(column, Labelled)}
    return got(room / "coded" / part.name).take(as_arrow(rows)), shown


# Steps that divide.


def keys_of(key: bytes, *names: object) -> Keys:
    """Return keys of their own for one purpose, from the key of a run: the same whenever they are asked for."""
    numbers = iter(range(2**63))
    return lambda: hmac.digest(key, "/".join(map(str, (*names, next(numbers)))).encode(), "sha256")


@dataclass(frozen=True)
class ToDraw:
    """What is drawn for each row, and the keys of blocks of rows of the whole table, in the order in which it asks."""

    work: RowWork
    keys: tuple[bytes, ...]
    total: int  # rows of the table


def draw_part(room: Path, part: Part) -> None:
    """Draw sets, or values, for the rows of a part."""
    asked: ToDraw = kept(room / "drawing")
    stretch = Stretch(part.first, part.rows, asked.total)
    drawn = asked.work.draw(coded_part(room, part.name), iter(asked.keys).__next__, Workplace(), stretch)
    put(room / "drawn" / part.name, [pa.table({name: as_array(each, 0, part.rows) for name, each in drawn.items()})])


# Publishing.


@dataclass(frozen=True)
class Home:
    """Columns that were decided about elsewhere, whose rows come home by their numbers."""

    folder: str
    places: tuple[str, ...]  # that rows come from; what the last of them says of a row holds
    columns: Mapping[str, Labelled | CodedSets]  # without their rows

    def rows(self, room: Path, number: int) -> pa.Table:
        """Return the rows of a part, with their numbers, in their order."""
        table = arrived(room / self.folder, self.places, number)
        rows = as_numpy(plain(table.column(ROW)))
        order = np.argsort(rows, kind="stable")
        last = np.append(rows[order][1:] != rows[order][:-1], True) if rows.size else np.empty(0, dtype=np.bool_)
        return table.take(as_arrow(order[last]))


@dataclass(frozen=True)
class Publishing:
    """What every file of the release has in common."""

    parts: tuple[Part, ...]
    total: int  # rows of the table
    files: int
    key: bytes | None  # of the order of rows; None: as they were
    drawn: Mapping[str, Labelled | CodedSets]  # columns without their rows
    homes: tuple[Home, ...]
    types: Mapping[str, pa.DataType]  # of columns in the files


def send_rows(room: Path, number: int) -> None:
    """Send what is published of the rows of a part, in codes, to the files that they will be in."""
    publishing: Publishing = kept(room / "publishing")
    part, decision = publishing.parts[number], kept(room / "decision")
    dataset = coded_part(room, part.name)
    made = decision.on(room, part, dataset)
    table = got(room / "coded" / part.name)
    for name, column in made.columns.items():
        table = _with_column(table, name, as_array(column, 0, part.rows))
    if publishing.drawn:
        drawn = got(room / "drawn" / part.name)
        for name in drawn.column_names:
            table = _with_column(table, name, drawn.column(name))
    rows = np.arange(part.rows) if made.keep_row is None else np.flatnonzero(made.keep_row)
    table = table.take(as_arrow(rows))
    for home in publishing.homes:
        found = home.rows(room, number)
        assert np.array_equal(as_numpy(plain(found.column(ROW))), part.first + rows)
        for name in home.columns:
            table = _with_column(table, name, found.column(name))
    place = _places(part, publishing.key)[rows]
    if publishing.key is None:
        file_of = place * np.uint64(publishing.files) // np.uint64(max(publishing.total, 1))
    else:
        file_of = ((place >> np.uint64(32)) * np.uint64(publishing.files)) >> np.uint64(32)
    sent(
        room / "to-file" / part.name,
        table.append_column(PLACE, as_arrow(place)),
        file_of.astype(np.int64),
        publishing.files,
    )


def _with_column(table: pa.Table, name: str, array: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, array)


def _places(part: Part, key: bytes | None) -> NDArray[np.uint64]:
    """Return numbers by which the rows of a part are put in order: as one machine would, of its rows (keystream.py)."""
    if key is None:
        return (part.first + np.arange(part.rows)).astype(np.uint64)
    return random_places(key, part.first, part.rows)


def write_file(room: Path, folder: Path, number: int) -> tuple[str, str, int]:
    """Write one file of the release; return its name, its digest, and how many rows it has."""
    publishing: Publishing = kept(room / "publishing")
    table = arrived(room / "to-file", [part.name for part in publishing.parts], number)
    table = table.take(as_arrow(ascending(as_numpy(plain(table.column(PLACE)))))).drop_columns([PLACE])
    template, decision = kept(room / "template"), kept(room / "decision")
    elsewhere = {name: column for home in publishing.homes for name, column in home.columns.items()}
    shells = {**decision.recoding.columns, **elsewhere, **publishing.drawn}
    columns = {name: with_rows(shell, table.column(name)) for name, shell in shells.items()}
    dataset = rows_like(table.drop_columns(list(shells)), template, table.num_rows)
    # What changes is known by its decision; of the column itself only labels and kind are asked for.
    bare = {name: template.columns[name] for name in shells}
    dataset = replace(dataset, columns={**dataset.columns, **bare}, order=template.order)
    dataset = replace(dataset, columns={name: dataset.columns[name] for name in template.columns})
    release = publish(dataset, Recoding(columns=columns), ())
    released = {
        name: replace(column, type=publishing.types[name]) if name in publishing.types else column
        for name, column in release.columns.items()
    }
    path = folder / f"part-{number:05d}.parquet"
    _whole_release(replace(release, columns=released), path)
    return path.name, digest(path), release.n_rows


def _whole_release(release: Release, path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_part(release, temporary)
    temporary.replace(path)
