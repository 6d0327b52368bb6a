"""Equal rows of a table held once: what is decided, measured and judged then follows distinct rows, not rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Codes, Dataset, distinct_codes


def narrowest(n_labels: int) -> type[np.signedinteger]:
    """Return the narrowest integers that number so many labels."""
    return np.int8 if n_labels <= 2**7 else np.int16 if n_labels <= 2**15 else np.int32


def held_once(dataset: Dataset, most: int) -> Dataset | None:
    """Return a table of single values with equal rows held once, in ascending order of codes, and their weights.

    None where more than `most` rows differ. Codes may come in narrower integers than others take.
    """
    columns = {name: column for name, column in dataset.columns.items() if isinstance(column, CodedColumn)}
    assert len(columns) == len(dataset.columns), "sets are of single rows"
    assert dataset.carried is None, "columns that are carried along are of single rows"
    cells = distinct_codes([(column.codes, len(column.labels)) for column in columns.values()], dataset.n_rows)
    if cells.weight.size > most:
        return None
    held: dict[str, CodedColumn | CodedSets] = {
        name: replace(column, codes=np.ascontiguousarray(codes), counts=column.occurrences)
        for (name, column), codes in zip(columns.items(), cells.codes.T, strict=True)
    }
    n_cells = cells.weight.size
    return replace(dataset, columns=held, n_rows=n_cells, weights=cells.weight, entry_of=cells.cell_of)


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
