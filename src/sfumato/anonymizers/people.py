"""From a decision about people to one about all their rows: every row of a person is published alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.anonymizers.boxes import groups_of, label_boxes, of_all_rows
from sfumato.data.dataset import Dataset, RowsOf, as_arrow, distinct_codes
from sfumato.data.keystream import in_random_order
from sfumato.data.recoding import Labelled, Recoding, SplitTree


def spread(people: Dataset, recoding: Recoding, key: bytes) -> tuple[Dataset, Recoding]:
    """Return the rows of people with new numbers of people among them, and what is published of each row.

    People of a class get labels that cover all their rows, so that each of them stays in one class as a whole.
    """
    rows = people.rows
    assert rows is not None
    assert recoding.pieces is None, "people are held one by one"
    kept = np.ones(people.n_rows, dtype=np.bool_) if recoding.keep_row is None else recoding.keep_row
    columns = {
        name: replace(column, codes=column.codes[rows.person_of])
        for name, column in recoding.columns.items()
        if isinstance(column, Labelled)
    }
    if rows.varying:
        covering, _ = label_boxes(rows.table, _groups(people, rows, recoding, kept))
        columns |= {name: covering[name] for name in rows.varying}
    table = _numbered(rows, kept, str(people.schema.person), key)
    keep_row = None if recoding.keep_row is None else recoding.keep_row[rows.person_of]
    return table, Recoding(columns=columns, keep_row=keep_row, facts=recoding.facts, public=recoding.public)


def _groups(people: Dataset, rows: RowsOf, recoding: Recoding, kept: NDArray[np.bool_]) -> SplitTree:
    """Return the rows of each class, as what labels are made of."""
    changed = {name: column for name, column in recoding.columns.items() if isinstance(column, Labelled)}
    shown = [changed.get(column.name, column) for column in people.quasi_identifiers]
    columns = [(column.codes[kept], len(column.labels)) for column in shown]
    class_of = of_all_rows(distinct_codes(columns, int(kept.sum())).distinct_of, np.flatnonzero(kept), people.n_rows)
    groups = groups_of(class_of[rows.person_of])
    tree = recoding.tree
    return groups if tree is None else replace(groups, value_sets=tree.value_sets, exact=tree.exact, grids=tree.grids)


def _numbered(rows: RowsOf, kept: NDArray[np.bool_], name: str, key: bytes) -> Dataset:
    """Return the rows with a number for each person whose rows are kept: 1, 2, 3 and so on, in an order by chance."""
    number_of = np.zeros(kept.size, dtype=np.int64)
    number_of[in_random_order(np.flatnonzero(kept).astype(np.int32), key)] = np.arange(1, int(kept.sum()) + 1)
    numbers = pa.chunked_array([as_arrow(number_of[rows.person_of])])
    table = rows.table
    carried = table.carried if table.carried is not None else pa.table({})
    carried = carried.append_column(name, numbers) if carried.num_columns else pa.table({name: numbers})
    return replace(table, carried=carried)
