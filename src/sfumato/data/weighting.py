"""Survey weights: how many people each row stands for, in a column that the plan names ([source] weight)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.distinct import text_codes
from sfumato.data.kinds import as_number
from sfumato.errors import DataError


def row_weights_of(carried: pa.Table | None, description: Mapping[str, Any], n_rows: int) -> NDArray[np.float64]:
    """Return the weight of each row, as the description of a release names their column; 1 where it names none."""
    name = description.get("weight")
    if name is None:
        return np.ones(n_rows)
    if carried is None or name not in carried.column_names:
        raise DataError(f"Rows are weighted by {name!r}, but the table has no such column.\nGive the whole table.")
    return weights_in_column(carried.column(name), str(name))


def weights_in_column(column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    """Return a column of weights, or raise where a cell is no number of 0 or more, or where all are 0.

    >>> weights_in_column(pa.chunked_array([["1.5", "2"]]), "w").tolist()
    [1.5, 2.0]
    """
    codes, labels, has_missing = text_codes(column, ("",))
    values = np.array([*map(as_number, labels), *([np.nan] if has_missing else [])])
    bad = ~(values >= 0)
    if bad.any() or not values.any():
        found = f"{int(np.isin(codes, np.flatnonzero(bad)).sum()):,} row(s) do not" if bad.any() else "no row does"
        raise DataError(
            f"Rows are to be weighted by {name!r}, which needs a number, 0 or more, in every row and one above 0 "
            f"somewhere; {found}.\nMend the column, or leave [source] weight out."
        )
    weights: NDArray[np.float64] = values[codes]
    return weights
