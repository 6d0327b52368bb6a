"""A column of a frame comes out as what it was, or is refused by name: whatever its type, and in every role."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError

HALVES = [1, 1, 1, 2, 2, 2]
LISTS = [["a"], ["b", "c"], [], ["a"], ["b"], ["c"]]
PANDAS: dict[str, Any] = {
    "timedelta": pd.to_timedelta([1, 2, 3, 4, 5, None], unit="h"),
    "lists": LISTS,
    "nullable int": pd.array([1, 2, None, 4, 5, 6], dtype="Int64"),
    "nullable boolean": pd.array([True, False, None] * 2, dtype="boolean"),
    "bool": [True, False] * 3,
    "nullable text": pd.array(["a", "b", None] * 2, dtype="string"),
    "nullable float": pd.array([1.5, None, 2] * 2, dtype="Float64"),
    "datetime": pd.to_datetime(["2024-01-01"] * 6),
    "datetime with zone": pd.to_datetime(["2024-01-01 10:00"] * 6).tz_localize("Europe/Berlin"),
    "categorical numbers": pd.Categorical([1, 2, 3] * 2),
    "period": pd.period_range("2024-01", periods=6, freq="M"),
    "interval": pd.interval_range(0, 6),
    "complex": np.array([1j] * 6),
    "sparse": pd.arrays.SparseArray([0, 0, 1, 0, 0, 1]),
    "decimal": [decimal.Decimal("1.10")] * 6,
    "dictionaries": [{"a": 1}] * 6,
    "bytes": [b"ab"] * 6,
    "uuid": [uuid.UUID(int=5)] * 6,
}
POLARS: dict[str, Any] = {
    "lists": pl.Series(LISTS),
    "lists of numbers": pl.Series([[1], [2, 3], [], [1], [2], [3]]),
    "enum": pl.Series(["x", "y", "x"] * 2, dtype=pl.Enum(["y", "x"])),
    "categorical": pl.Series(["x", "y", None] * 2, dtype=pl.Categorical),
    "duration": pl.Series([datetime.timedelta(hours=hour) for hour in range(6)]),
    "time": pl.Series([datetime.time(hour) for hour in range(6)]),
    "decimal": pl.Series([decimal.Decimal("1.10")] * 6),
    "struct": pl.Series([{"a": 1}] * 6),
    "array": pl.Series([[1, 2]] * 6, dtype=pl.Array(pl.Int64, 2)),
    "binary": pl.Series([b"ab"] * 6),
    "null": pl.Series([None] * 6),
    "boolean": pl.Series([True, None, False] * 2),
    "uint64": pl.Series([2**63 + n for n in range(6)], dtype=pl.UInt64),
    "objects": pl.Series([object()] * 6, dtype=pl.Object),
}
ARROW: dict[str, Any] = {
    "string_view": pa.array(["a", "b", None] * 2, pa.string_view()),
    "large_string": pa.array(["a", "b", None] * 2, pa.large_string()),
    "binary_view": pa.array([b"a"] * 6, pa.binary_view()),
    "dictionary": pa.array(["a", "b", None] * 2).dictionary_encode(),
    "dictionary of numbers": pa.array([1, 2, 3] * 2).dictionary_encode(),
    "decimal128": pa.array([decimal.Decimal("1.10")] * 6, pa.decimal128(10, 2)),
    "decimal256": pa.array([decimal.Decimal("1.10")] * 6, pa.decimal256(50, 2)),
    "lists of lists": pa.array([[["a"]]] * 6),
    "struct": pa.array([{"a": 1}] * 6),
    "map": pa.array([[("a", 1)]] * 6, pa.map_(pa.string(), pa.int64())),
    "fixed lists": pa.array([[1, 2]] * 6, pa.list_(pa.int64(), 2)),
    "time32": pa.array([1] * 6, pa.time32("s")),
    "duration": pa.array([1] * 6, pa.duration("s")),
    "months and days": pa.array([(1, 2, 3)] * 6, pa.month_day_nano_interval()),
    "half": pa.array(np.arange(6).astype(np.float16)),
    "run ends": pa.RunEndEncodedArray.from_arrays([3, 6], ["a", "b"]),
    "timestamp with zone": pa.array([datetime.datetime(2024, 1, 1)] * 6, pa.timestamp("us", "UTC")),
}
FRAMES = {f"pandas {name}": lambda c=column: pd.DataFrame({"age": HALVES, "x": c}) for name, column in PANDAS.items()}
FRAMES |= {f"polars {name}": lambda c=column: pl.DataFrame({"age": HALVES, "x": c}) for name, column in POLARS.items()}
FRAMES |= {f"arrow {name}": lambda c=column: pa.table({"age": HALVES, "x": c}) for name, column in ARROW.items()}
REFUSED_AS_OTHER = {
    *("pandas complex", "pandas sparse", "polars objects", "arrow binary_view", "arrow run ends"),
}
REFUSED_AS_SENSITIVE = REFUSED_AS_OTHER | {
    *("pandas period", "pandas interval", "pandas dictionaries", "polars struct", "arrow lists of lists"),
    *("arrow struct", "arrow map", "arrow months and days"),
}


def cells(frame: Any) -> tuple[str, list[str]]:
    column = frame["x"]
    values = column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.to_list()
    return str(column.type if isinstance(column, pa.ChunkedArray) else column.dtype), list(map(repr, values))


@pytest.mark.parametrize("role", ["other", "sensitive"])
@pytest.mark.parametrize("name", FRAMES)
def test_a_column_is_kept_as_what_it_was_or_refused_by_name(name: str, role: str) -> None:
    frame = FRAMES[name]()
    plan = sf.Plan.from_dict(
        {
            "columns": {"age": {"role": "quasi-identifier"}, "x": {"role": role}},
            "require": [{"model": "k-anonymity", "k": 2}],
            "release": {"shuffle": False},
        }
    )
    if name in (REFUSED_AS_OTHER if role == "other" else REFUSED_AS_SENSITIVE):
        with pytest.raises(DataError, match="'x'"):
            sf.anonymize(frame, plan, measure=False, attack=False)
    else:
        assert cells(sf.anonymize(frame, plan, measure=False, attack=False).release.data) == cells(frame)
