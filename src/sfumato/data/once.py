"""Equal rows of a table held once: what is decided, measured and judged then follows distinct rows, not rows.

Single rows are there while they are read and while they are written: before, as codes of a byte or two a cell, then as
the number of their distinct row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import STEP, CodedColumn, CodedSets, Codes, Dataset, distinct_codes, distinct_rows
from sfumato.data.keystream import in_random_order
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, ReleasedColumn, publish
from sfumato.data.schema import Schema


def held_once(dataset: Dataset, most: int) -> Dataset | None:
    """Return a table of single values with equal rows held once, in ascending order of codes, and their weights.

    None where more than `most` rows differ. Codes may come in narrower integers than others take.
    """
    columns = {name: column for name, column in dataset.columns.items() if isinstance(column, CodedColumn)}
    assert len(columns) == len(dataset.columns), "sets are of single rows"
    assert dataset.carried is None, "columns that are carried along are of single rows"
    distinct = distinct_rows(list(columns.values()), dataset.n_rows)
    n_distinct = distinct.weight.size
    if n_distinct > most:
        return None
    held: dict[str, CodedColumn | CodedSets] = {
        name: replace(column, codes=np.ascontiguousarray(codes), counts=column.occurrences)
        for (name, column), codes in zip(columns.items(), distinct.codes.T, strict=True)
    }
    return replace(dataset, columns=held, n_rows=n_distinct, weights=distinct.weight, entry_of=distinct.distinct_of)


def widened(dataset: Dataset) -> Dataset:
    """Return a table whose codes came in narrow integers as others take it."""
    columns: dict[str, CodedColumn | CodedSets] = {
        name: replace(column, codes=column.codes.astype(np.int32, copy=False))
        for name, column in dataset.columns.items()
        if isinstance(column, CodedColumn)
    }
    return replace(dataset, columns={**dataset.columns, **columns})


def dealt_out(dataset: Dataset, pieces: NDArray[np.int64]) -> Codes:
    """Return which piece each row of the table is, (total,), where rows held once were divided into pieces.

    `pieces` says how many rows each piece stands for, those of a row held once one after the other; rows of the table
    get them in their order.
    """
    assert dataset.entry_of is not None
    order = np.argsort(dataset.entry_of, kind="stable").astype(np.int32)
    found: Codes = np.empty(order.size, dtype=np.int32)
    found[order] = np.repeat(np.arange(pieces.size, dtype=np.int32), pieces)
    return found


def publish_once(
    dataset: Dataset, recoding: Recoding, models: Sequence[Mapping[str, Any]], key: bytes | None
) -> Release:
    """Return what `publish` would of all rows of a table, with equal ones held once and the place of each row."""
    assert dataset.entry_of is not None
    held, entry_of = dataset, dataset.entry_of
    if recoding.pieces is not None:
        held = dataset.standing_for(recoding.pieces.row_of, recoding.pieces.count)
        entry_of = dealt_out(dataset, recoding.pieces.count)
    weights = held.weights
    assert weights is not None
    rows = np.arange(entry_of.size, dtype=np.int32)
    if recoding.keep_row is not None:
        rows = rows[recoding.keep_row[entry_of]]
        weights = weights[recoding.keep_row]
        place_of = np.cumsum(recoding.keep_row, dtype=np.int32) - np.int32(1)
        entry_of = place_of[entry_of]
    if key is not None:
        rows = in_random_order(rows, key)
    places: Codes = np.empty(rows.size, dtype=np.int32)
    for start in range(0, rows.size, STEP):
        places[start : start + STEP] = entry_of.take(rows[start : start + STEP])
    release = publish(held, recoding, models)
    description = {**release.description, "rows": places.size}
    return replace(release, weights=weights, entry_of=places, description=description)


def seen_once(table: pa.Table, schema: Schema, description: Mapping[str, Any]) -> Release:
    """Take a table as a release, equal rows of single values once; all of them where it holds anything else."""
    release = Release.from_table(table, schema, description, narrow=True)
    columns = {name: column for name, column in release.columns.items() if isinstance(column, ReleasedColumn)}
    if len(columns) < len(release.columns) or release.carried is not None:
        wide = {name: replace(column, codes=column.codes.astype(np.int32)) for name, column in columns.items()}
        return replace(release, columns={**release.columns, **wide})
    distinct = distinct_codes([(column.codes, len(column.labels)) for column in columns.values()], release.n_rows)
    held: dict[str, ReleasedColumn | CodedSets] = {
        name: replace(column, codes=np.ascontiguousarray(codes))
        for (name, column), codes in zip(columns.items(), distinct.codes.T, strict=True)
    }
    return replace(release, columns=held, n_rows=distinct.weight.size, weights=distinct.weight)
