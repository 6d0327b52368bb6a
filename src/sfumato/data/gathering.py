"""One row a person: rows of events become sets, first and last values, counts and means of whom they are about.

Rows are put together by codes, all at once: a column costs as much as to sort its rows once. Missing cells say nothing;
whoever has no others gets a missing value, or the empty set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import Codes, as_arrow, as_numpy, starts_of
from sfumato.data.dates import moment_of
from sfumato.data.distinct import naming, text_codes
from sfumato.data.files import Source, fitted, read_columns
from sfumato.data.hierarchy import some
from sfumato.data.kinds import exact_number, infer_kind, is_integer, is_list, is_text, value_type
from sfumato.data.persons import numbers_in, spelled_once
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.sets import flattened, repeat_sets
from sfumato.data.variants import REMEDY, keys_of
from sfumato.errors import DataError, did_you_mean

Read = Callable[[Source, Collection[str]], pa.Table]  # a source without some of its columns


class How(StrEnum):
    """What becomes of the cells of a person."""

    SAME = "same"  # they agree; else it is an error
    SET = "set"
    FIRST = "first"
    LAST = "last"
    COUNT = "count"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"
    SUM = "sum"


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """A column of the people's table, and what it is made from."""

    name: str
    how: How
    column: str | None  # of the table of events; None: count rows


@dataclass(frozen=True, kw_only=True)
class _OfPeople:
    """A table with rows of people."""

    person: str
    columns: tuple[Gathered, ...] = ()  # that are made
    order: str | None = None  # column that says which row is first

    @property
    def used(self) -> frozenset[str]:
        """The columns that are read to make others, or to tell people and rows apart."""
        found = (self.person, self.order, *(column.column for column in self.columns))
        return frozenset(name for name in found if name is not None)

    def fitted(self, source: Source, schema: Schema) -> Source:
        """Return how to read it: numbers of people to the letter, others as what is made of them asks for."""
        counted = (How.MIN, How.MAX, How.MEAN, How.SUM)
        understood = {
            column.column
            for column in self.columns
            if column.how in counted or (column.how is not How.COUNT and not schema.is_text(column.name))
        }
        found = fitted(source, schema)
        return replace(found, as_text=((found.as_text | self.used) - understood - {self.order}) | {self.person})


@dataclass(frozen=True, kw_only=True)
class Events(_OfPeople):
    """A further table, with any number of rows for each person."""

    source: Source


@dataclass(frozen=True, kw_only=True)
class Gather(_OfPeople):
    """Who each row is about, and how rows of a person become one; columns that are not made must be the same in all."""

    together: bool = True  # whether rows are put together; False: each person has one row, or it is an error
    events: tuple[Events, ...] = field(default=())

    def names(self, found: Sequence[str], schema: Schema) -> list[str]:
        """Return the columns of the table of people, given those of the source; raise where one is not there."""
        _check_found(self.used, found, "The source")
        made = [column.name for column in (*self.columns, *(each for events in self.events for each in events.columns))]
        spent = self.used - set(made) - set(schema.columns)
        own = {column.name for column in self.columns if column.column in (column.name, None)}
        if twice := {name for name in made if made.count(name) > 1 or (name in found and name not in own)}:
            raise DataError(
                f"[gather] makes columns that are there already: {some(twice)}.\nGive each a name of its own."
            )
        return [*(name for name in found if name not in spent), *(name for name in made if name not in found)]

    def told(self, name: str) -> str:
        """Return in words what becomes of a column before anything else."""
        if name == self.person:
            return "says whose row it is"
        made = (*self.columns, *(each for events in self.events for each in events.columns))
        how = {column.name: column.how for column in made}.get(name)
        return f"{how} of a person's rows" if how is not None else ""


@dataclass(frozen=True, eq=False)
class Gathering:
    """What was gathered, in counts."""

    rows: int  # of the source
    strangers: Mapping[str, int]  # by file: rows about people who are not in the source
    by_words: Collection[str] = ()  # columns of words in whose order rows were put
    notes: Collection[str] = ()  # about how people are numbered

    def sentences(self) -> list[str]:
        """Return what deserves a second look."""
        left_out = [
            f"{count:,} rows of {name} are about people who are not in the source: they were left out."
            for name, count in self.strangers.items()
        ]
        in_words = [
            f"Rows of a person are in the order of words in {name!r}, numbers inside them by size: check that this is "
            "the order of time."
            for name in self.by_words
        ]
        return [*self.notes, *left_out, *in_words]


def gather(table: pa.Table, asked: Gather, schema: Schema, read: Read) -> tuple[pa.Table, Gathering]:
    """Return one row for each person of a table, in the order in which they come, with what happened to them.

    Nothing of the people's numbers is in what comes back.
    """
    names, n_rows = asked.names(table.column_names, schema), table.num_rows
    numbers, labels, notes = _numbers(table.column(asked.person), asked.person, "The source", schema)
    n_people = len(labels)
    if not asked.together and n_people < n_rows:
        raise DataError(
            f"Each row was to be another person, but {asked.person!r} numbers {n_people:,} people on {n_rows:,} rows.\n"
            "Models count rows, and who has several would hide among their own: say under [gather] how the rows of a "
            'person become one, or keep all with [release] persons = "numbered".'
        )
    own = {column.name: column for column in asked.columns}
    wanted = []
    for name in names:
        spec = schema.spec(name)
        if name in own:
            wanted.append(own[name])
        elif name in table.column_names and spec is not None and spec.role is not Role.IDENTIFIER:
            wanted.append(Gathered(name=name, how=How.SAME, column=name))
    grouping = _Grouping(table, numbers, n_people, asked.order, schema)
    made, by_words = grouping.all_of(wanted), {asked.order: grouping.by_words}
    strangers: dict[str, int] = {}
    for events in asked.events:
        found, name = read_columns(events.source), events.source.shown
        _check_found(events.used, found, name)
        happened = read(events.fitted(events.source, schema), set(found) - events.used)
        theirs, known, more = _numbers(happened.column(events.person), events.person, name, schema)
        notes += more
        place_of = pc.index_in(known, value_set=labels)
        alike = pc.index_in(keys_of(known), value_set=keys_of(labels))
        if respelled := place_of.null_count - alike.null_count:
            raise DataError(
                f"{name} was to tell about people of the source, but spells the numbers of {respelled:,} of them "
                f"otherwise: in another case, with blanks around them or in another form of Unicode.\n{REMEDY}"
            )
        person_of = as_numpy(pc.fill_null(place_of, n_people)).astype(np.int32)[theirs]
        strangers[name] = int((person_of == n_people).sum())
        grouping = _Grouping(happened, person_of, n_people, events.order, schema)
        made |= grouping.all_of(events.columns)
        by_words[events.order] = by_words.get(events.order, False) or grouping.by_words
    strangers = {name: count for name, count in strangers.items() if count}
    in_words = [name for name, words in by_words.items() if name and words]
    return pa.table(made), Gathering(n_rows, strangers, in_words, notes)


def varying(table: pa.Table, person: str, names: Sequence[str], schema: Schema) -> list[str]:
    """Return the columns that are not the same in all rows of a person; lists may always differ."""
    numbers, labels, _ = _numbers(table.column(person), person, "The table", schema)
    grouping = _Grouping(table, numbers, len(labels), None, schema)
    found = []
    for name in names:
        try:
            grouping.all_of([Gathered(name=name, how=How.SAME, column=name)])
        except DataError:
            found.append(name)
    return found


def _numbers(
    array: pa.ChunkedArray, column: str, where: str, schema: Schema
) -> tuple[Codes, pa.Array, tuple[str, ...]]:
    """Return each row's person, their numbers as text, and what is to be said of these."""
    with naming(column):
        codes, labels, gaps = numbers_in(array, schema.missing)
    if gaps:
        raise DataError(
            f"{where} was to be gathered by person, but {int((codes == len(labels)).sum()):,} of {codes.size:,} rows "
            f"have no value in {column!r}.\nGive each row its person, or leave these rows out of the file."
        )
    return spelled_once(codes, labels, column, schema)


def _check_found(used: Collection[str], found: Sequence[str], where: str) -> None:
    for name in sorted(set(used) - set(found)):
        raise DataError(f"{where} lacks a column that the plan gathers: {name!r}.{did_you_mean(name, found)}")


class _Grouping:
    """The rows of a table, by person: n rows, p people. Rows of nobody are of person p."""

    def __init__(self, table: pa.Table, person_of: Codes, people: int, order: str | None, schema: Schema) -> None:
        self.table, self.people, self.schema = table, people, schema
        key: NDArray[Any] = person_of
        self.by_words = False  # whether rows stand in the order of words
        if order is not None:
            codes, labels, _ = text_codes(table.column(order), schema.missing)
            kind = infer_kind(labels, value_type(table.column(order).type))
            self.by_words = kind is Kind.CATEGORY and bool(labels)
            with naming(order):
                rank = _rank(codes, labels, kind)
            key = person_of * (rank.max(initial=0) + 1) + rank
        rows = np.argsort(key, kind="stable")
        self.rows = rows[: int((person_of < people).sum())].astype(np.int32)  # of somebody, person by person
        self.person_of = person_of[self.rows]
        self.start = np.searchsorted(self.person_of, np.arange(people + 1))

    def all_of(self, wanted: Sequence[Gathered]) -> dict[str, pa.Array | pa.ChunkedArray]:
        """Return the columns, or raise with all that is wrong with them."""
        made, problems = {}, []
        for column in wanted:
            try:
                made[column.name] = self._made(column)
            except DataError as error:
                problems.append(f"Column {column.name!r}: {error}")
        if problems:
            raise DataError("\n".join(problems))
        return made

    def _made(self, asked: Gathered) -> pa.Array | pa.ChunkedArray:
        if asked.column is None:
            return as_arrow(np.diff(self.start))
        array = self.table.column(asked.column)
        if asked.how is How.SET:
            return self._sets(array, self.schema.spec(asked.name) or ColumnSpec(name=asked.name, role=Role.ITEMS))
        if is_list(array.type):
            raise DataError(f"lists can be gathered as a set only, not as {asked.how}.\nWrite set.")
        codes, labels, _ = text_codes(array, self.schema.missing)
        known = codes[self.rows] < len(labels)  # (n,), person by person
        if asked.how is How.COUNT:
            return as_arrow(self._sums(known.astype(np.int64)))
        if asked.how in (How.MEAN, How.SUM):
            return self._numbers(codes, labels, known, array.type, asked.how)
        return self._picked(array, codes, labels, known, asked.how)

    def _sums(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.diff(starts_of(values)[self.start])

    def _picked(
        self, array: pa.ChunkedArray, codes: Codes, labels: Sequence[str], known: NDArray[np.bool_], how: How
    ) -> pa.ChunkedArray:
        """Return for each person the cell of one of their rows, null where all are missing."""
        rows, person_of = self.rows[known], self.person_of[known]
        start = np.searchsorted(person_of, np.arange(self.people + 1))
        absent = start[1:] == start[:-1]
        if how in (How.MIN, How.MAX) and rows.size:
            kind = infer_kind(labels, value_type(array.type))
            if kind is Kind.CATEGORY:
                raise DataError(
                    "its values are neither numbers nor dates, so none is the least.\nWrite set, first or last."
                )
            rank = _rank(codes, labels, kind)
            some_row = np.zeros(len(labels) + 1, dtype=np.int32)
            some_row[rank] = np.arange(rank.size)
            best = np.minimum if how is How.MIN else np.maximum
            found = np.zeros(self.people, dtype=np.int64)
            found[~absent] = best.reduceat(rank[rows], start[:-1][~absent])
            return array.take(as_arrow(some_row[found], absent if absent.any() else None))
        if how is How.SAME:
            one = codes[rows[np.minimum(start[:-1], max(rows.size - 1, 0))]] if rows.size else codes[:0]
            differ = np.unique(person_of[codes[rows] != one[person_of]]) if rows.size else rows
            if differ.size:
                raise DataError(
                    f"{differ.size:,} people have different values in their rows.\n"
                    "Say under [gather.columns] what becomes of them: set, first, last, min, max, mean, sum or count."
                )
        place = start[1:] - 1 if how is How.LAST else start[:-1]
        place[absent] = 0
        chosen = rows[place] if rows.size else np.zeros(self.people, dtype=np.int32)
        return array.take(as_arrow(chosen, absent if absent.any() else None))

    def _numbers(
        self, codes: Codes, labels: Sequence[str], known: NDArray[np.bool_], kind: pa.DataType, how: How
    ) -> pa.Array:
        if infer_kind(labels, value_type(kind)) is not Kind.NUMBER and labels:
            raise DataError(f"its values are not numbers, so they have no {how}.\nWrite set, first, last or count.")
        rows, person_of = self.rows[known], self.person_of[known]
        counts = np.bincount(person_of, minlength=self.people)
        absent = counts == 0
        if how is How.SUM and all(map(is_integer, labels)) and sum(abs(int(label)) for label in labels) < 2**31:
            whole = np.array([int(label) for label in labels] or [0], dtype=np.int64)
            each = np.zeros(self.rows.size, dtype=np.int64)
            each[known] = whole[codes[rows]]
            return as_arrow(self._sums(each), absent)
        values = np.array([float(label) for label in labels] or [0.0])
        total = np.bincount(person_of, weights=values[codes[rows]] if rows.size else None, minlength=self.people)
        found = total / np.maximum(counts, 1) if how is How.MEAN else total
        return as_arrow(found.astype(np.float64), absent)

    def _sets(self, array: pa.ChunkedArray, spec: ColumnSpec) -> pa.Array:
        """Return lists of all members in a person's cells, each once; text is cut at its separator."""
        if is_list(array.type):
            flat, start = flattened(array)
            members, labels, _ = text_codes(flat, self.schema.missing)
            items, begin = repeat_sets(members, start, self.rows)
            kind = value_type(flat.type)
        else:
            codes, cells, _ = text_codes(array, self.schema.missing)
            kind = value_type(array.type)
            cut = pc.split_pattern(pa.array(cells, pa.string()), spec.separator) if is_text(kind) else None
            flat_text = cut.flatten() if cut is not None else pa.array(cells, pa.string())
            sizes_of = as_numpy(pc.list_value_length(cut)) if cut is not None else np.ones(len(cells), dtype=np.int64)
            members, labels, _ = text_codes(pa.chunked_array([flat_text], pa.string()), self.schema.missing)
            start = np.concatenate([[0], np.cumsum(sizes_of), [sizes_of.sum()]]).astype(np.int64)  # the last is missing
            items, begin = repeat_sets(members, start, codes[self.rows])
        person_of, known = np.repeat(self.person_of, np.diff(begin)), items < len(labels)
        width = max(len(labels), 1)
        once = np.unique(person_of[known] * np.int64(width) + items[known])
        values = pa.array(labels, pa.string()).cast(kind) if labels else pa.nulls(1, kind)
        texts = pa.DictionaryArray.from_arrays(as_arrow((once % width).astype(np.int32)), values)
        return pa.LargeListArray.from_arrays(
            as_arrow(np.searchsorted(once, np.arange(self.people + 1) * np.int64(width))), texts
        )


def _rank(codes: Codes, labels: Sequence[str], kind: Kind) -> NDArray[np.int64]:
    """Return where each row stands in the order of its value: numbers by size, dates by time; missing ones first.

    Words stand in the order of letters, but numbers inside them by size.
    """
    keys: list[Any]
    if kind is Kind.NUMBER:
        keys = [exact_number(label) for label in labels]
    elif kind is Kind.DATE:
        moments = [moment_of(label) for label in labels]
        zones = sum(zone for _, zone in moments)
        if 0 < zones < len(labels):
            raise DataError(
                f"{zones:,} of its {len(labels):,} values tell their time zone and the others do not, so it is not "
                "known which is earlier.\nGive all of them a zone, or none."
            )
        keys = [moment for moment, _ in moments]
    else:
        parts = (re.split(r"0*([0-9]+)", label) for label in labels)
        keys = [[(len(part), part) if place % 2 else part for place, part in enumerate(each)] for each in parts]
    order = sorted(range(len(labels)), key=lambda code: (keys[code], labels[code]))
    rank = np.zeros(len(labels) + 1, dtype=np.int64)
    rank[order] = np.arange(1, len(labels) + 1)
    return rank[codes]
