"""What other columns tell of hidden cells, where rows lie in parts: each part is counted, and counts are added up.

beside/PART   for each question and column: how often each value stands beside each kind of cell, as a batch
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.anonymizers.dependence import (
    ROWS,
    Cells,
    Doubt,
    GivenAway,
    Kinds,
    Question,
    Tally,
    answer,
    elements,
    kept_rows,
    published_columns,
    single_values,
    some_rows,
    tally_elements,
    tally_single,
)
from sfumato.data.dataset import CodedSets, Dataset, as_arrow, as_numpy
from sfumato.data.recoding import Labelled, Recoding
from sfumato.engines.regions import Cluster
from sfumato.engines.tasks import Home, Part, coded_part, with_rows
from sfumato.engines.workroom import arrived, got, keep, kept, put

MANY = 1 << 16  # values of a column in a part, from which on only some are looked at, with all of their rows
VALUES = 1 << 20  # of the whole table that are looked at then
_BESIDE = pa.schema([("known", pa.string()), ("value", pa.int64()), ("shown", pa.int64()), ("rows", pa.int64())])


@dataclass(frozen=True)
class Asking:
    """What every part has to know."""

    questions: tuple[Question, ...]
    columns: tuple[tuple[int, str, bool], ...]  # the question, the column beside it, and whether by its elements
    parts: tuple[Part, ...]
    total: int  # rows of the table
    drawn: Mapping[str, Labelled | CodedSets]  # columns without their rows
    homes: tuple[Home, ...]

    @property
    def share(self) -> int:
        """Of so many values of a column that has many, one is looked at."""
        return max(1, -(-self.total // VALUES))


def published_part(room: Path, asking: Asking, number: int) -> tuple[Dataset, Recoding]:
    """Return the rows of a part that are published, as they were and as they are published."""
    part, decision = asking.parts[number], kept(room / "decision")
    dataset = coded_part(room, part.name)
    columns: dict[str, Any] = {}
    if asking.drawn:
        table = got(room / "drawn" / part.name)
        columns = {name: with_rows(asking.drawn[name], table.column(name)) for name in table.column_names}
    made = decision.on(room, part, dataset)
    dataset, made = kept_rows(dataset, made.with_columns(columns))
    for home in asking.homes:
        table = home.rows(room, number)
        made = made.with_columns({name: with_rows(each, table.column(name)) for name, each in home.columns.items()})
    return dataset, made


def count_part(room: Path, number: int) -> tuple[int, list[bool]]:
    """Count in a part; return how many rows are published, and of which columns only some values were counted."""
    asking: Asking = kept(room / "asking")
    dataset, made = published_part(room, asking, number)
    part = asking.parts[number]
    cells = {
        each.column: Cells.of(dataset.columns[each.column], made.columns[each.column]) for each in asking.questions
    }
    rows = some_rows(dataset.n_rows, max(1, ROWS * part.rows // max(asking.total, ROWS)))
    columns: dict[str, list[Any]] = {}
    for name, known in published_columns(dataset, made):
        columns.setdefault(name, []).append(known)
    tables, some = [_kinds_of(cells[each.column].kinds) for each in asking.questions], []
    for at, name, by_elements in asking.columns:
        here = cells[asking.questions[at].column]
        found = []
        for known in columns[name]:
            several = elements(known, rows) if by_elements else None
            single = None if by_elements else single_values(known)
            if several is not None:
                found.append((tally_elements(several, here, rows, dataset.n_rows), several.labels))
            if single is not None:
                found.append((tally_single(single[0], len(single[1]) + 1, here, fewest=1), single[1]))
        some.append(sum(int((tally.rows > 0).sum()) for tally, _ in found) > MANY)
        share = asking.share if some[-1] else 1
        tables.append(
            pa.concat_tables([_BESIDE.empty_table(), *(_labelled(*each, here.kinds, share) for each in found)])
        )
    put(room / "beside" / part.name, tables)
    return dataset.n_rows, some


def _kinds_of(kinds: Kinds) -> pa.Table:
    names = pa.array([""] * kinds.value.size, pa.string())
    numbers = [as_arrow(each.astype(np.int64)) for each in (kinds.value, kinds.shown, kinds.count)]
    return pa.Table.from_arrays([names, *numbers], schema=_BESIDE)


def _labelled(tally: Tally, labels: Any, kinds: Kinds, share: int) -> pa.Table:
    """Return counts with labels in place of codes; rows in all have no kind."""
    texts = labels if isinstance(labels, pa.Array) else pa.array(labels, pa.string())
    texts = pa.concat_arrays([texts.cast(pa.string()), pa.array([None], pa.string())])
    occurs = tally.rows > 0
    if share > 1:
        chosen = np.zeros(occurs.size, dtype=np.bool_)
        for place in np.flatnonzero(occurs).tolist():
            chosen[place] = _is_chosen(texts[place].as_py(), share)
        occurs &= chosen
    places, pairs = np.flatnonzero(occurs), np.flatnonzero(occurs[tally.known])
    nothing = np.full(places.size, -1, dtype=np.int64)
    kind = tally.kind[pairs]
    known = np.concatenate([tally.known[pairs], places])
    value = np.concatenate([kinds.value[kind].astype(np.int64), nothing])
    shown = np.concatenate([kinds.shown[kind].astype(np.int64), nothing])
    count = np.concatenate([tally.count[pairs], tally.rows[places]])
    arrays = [texts.take(as_arrow(known)), *map(as_arrow, (value, shown, count.astype(np.int64)))]
    return pa.Table.from_arrays(arrays, schema=_BESIDE)


def _is_chosen(text: str | None, share: int) -> bool:
    return zlib.crc32((text or "").encode()) % share == 0


def given_away_in_parts(
    cluster: Cluster, room: Path, asking: Asking, dataset: Dataset, published: Mapping[str, Any]
) -> list[GivenAway]:
    """Answer questions by counts of all parts; published: what is known of the columns in question besides rows."""
    keep(room / "asking", asking)
    counted = cluster.each(partial(count_part, room), range(len(asking.parts)), "look for columns that tell others")
    names = [part.name for part in asking.parts]
    rows = sum(published for published, _ in counted)
    kinds, doubts = [], []
    for at, each in enumerate(asking.questions):
        _, found, _ = _added(arrived(room / "beside", names, at))
        kinds.append(found)
        original = dataset.columns[each.column]
        doubts.append(Doubt.of(original, published[each.column], found, rows, each.bound))
    told: dict[tuple[int, str], int] = {}
    for place, (at, name, _) in enumerate(asking.columns):
        table = arrived(room / "beside", names, len(asking.questions) + place)
        share = asking.share if any(some[place] for _, some in counted) else 1
        if share > 1:
            table = table.filter(pa.array([_is_chosen(text, share) for text in table.column("known").to_pylist()]))
        values, found, rows_of = _added(table)
        tally = Tally(values, _numbers(kinds[at], found), found.count, rows_of)
        cells = share * tally.given_away(doubts[at], kinds[at])
        told[at, name] = max(told.get((at, name), 0), cells)
    return [
        answer(name, asking.questions[at].column, cells, doubts[at], kinds[at])
        for (at, name), cells in told.items()
        if cells
    ]


def _added(table: pa.Table) -> tuple[NDArray[np.int64], Kinds, NDArray[np.int64]]:
    """Return counts of all parts together: values in codes beside kinds of cells, ascending, and rows of each value."""
    known = pc.dictionary_encode(table.column("known").combine_chunks(), null_encoding="encode")
    table = table.set_column(0, "known", known.indices)
    table = table.group_by(["known", "value", "shown"]).aggregate([("rows", "sum")])
    table = table.sort_by([(name, "ascending") for name in ("known", "value", "shown")])
    code, value, shown, count = (
        as_numpy(table.column(name).combine_chunks()) for name in ("known", "value", "shown", "rows_sum")
    )
    rows = np.zeros(len(known.dictionary), dtype=np.int64)
    rows[code[value < 0]] = count[value < 0]
    beside = value >= 0
    kinds = Kinds(value[beside].astype(np.int32), shown[beside].astype(np.int32), count[beside])
    return code[beside].astype(np.int64), kinds, rows


def _numbers(kinds: Kinds, found: Kinds) -> NDArray[np.int64]:
    """Return which of all kinds each of some is."""
    width = int(kinds.shown.max(initial=0)) + 1
    keys = kinds.value.astype(np.int64) * width + kinds.shown
    return np.asarray(np.searchsorted(keys, found.value.astype(np.int64) * width + found.shown))
