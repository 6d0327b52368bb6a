"""What comes out of Python is, label for label, what was published; types come back where every label is a value."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.data.encoding import encode
from sfumato.data.frames import like, to_arrow
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.release import publish
from sfumato.data.schema import Role, Schema

DAYS = [datetime.datetime(2020, 1, 5), datetime.datetime(2020, 1, 28), datetime.datetime(2020, 5, 2, 13)]
LARGE = 2**53 + 1
NOT_USED = "Xylophonist"
PANDAS = {
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "bool and None": pd.Series([True, None, False], dtype=object),
    "datetime64[ns]": pd.Series(DAYS).astype("datetime64[ns]"),
    "datetime64[us]": pd.Series(DAYS).astype("datetime64[us]"),
    "datetime with zone": pd.Series(DAYS).dt.tz_localize("Europe/Rome"),
    "datetime and NaT": pd.Series([DAYS[0], pd.NaT, DAYS[2]]),
    "date": pd.Series([day.date() for day in DAYS]),
    "time": pd.Series([day.time() for day in DAYS]),
    "timedelta": pd.Series(pd.to_timedelta([1, 1, 2], unit="D")),
    "int64": pd.Series([LARGE, 1, 2]),
    "int8": pd.Series([3, 1, 2], dtype="int8"),
    "uint64": pd.Series([2**64 - 1, 1, 2], dtype="uint64"),
    "Int64": pd.Series([LARGE, None, 2], dtype="Int64"),
    "large and None": pd.Series([LARGE, None, 2], dtype=object),
    "float64": pd.Series([0.1, None, 3.0]),
    "float32": pd.Series([0.1, 2.5, 3.0], dtype="float32"),
    "text": pd.Series(["a", None, "b"]),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "categorical": pd.Series(pd.Categorical(["a", None, "b"], categories=["b", NOT_USED, "a"], ordered=True)),
    "categorical numbers": pd.Series(pd.Categorical([30, 4, 30], categories=[4, 77, 30])),
    "arrow": pd.Series([LARGE, None, 2], dtype=pd.ArrowDtype(pa.int64())),
}
POLARS = {
    "bool": pl.Series([True, None, False]),
    "int128": pl.Series([2**70, 2**70 + 1, 1], dtype=pl.Int128),
    "int8": pl.Series([3, None, 2], dtype=pl.Int8),
    "int64": pl.Series([LARGE, None, 2]),
    "float32": pl.Series([0.1, None, 2.5], dtype=pl.Float32),
    "date": pl.Series([day.date() for day in DAYS]),
    "datetime": pl.Series(DAYS),
    "duration": pl.Series([datetime.timedelta(1), None, datetime.timedelta(2)]),
    "text": pl.Series(["a", None, "b"]),
    "categorical": pl.Series(["a", None, "b"], dtype=pl.Categorical),
}
ARROW = {
    "bool": pa.array([True, None, False]),
    "int64": pa.array([LARGE, None, 2]),
    "float": pa.array([0.1, None, 2.5], pa.float32()),
    "date": pa.array([day.date() for day in DAYS]),
    "timestamp": pa.array(DAYS, pa.timestamp("ms", "UTC")),
    "time": pa.array([day.time() for day in DAYS]),
    "duration": pa.array([datetime.timedelta(1), None, datetime.timedelta(2)]),
    "text": pa.array(["a", None, "b"]),
    "large text": pa.array(["a", None, "b"], pa.large_string()),
    "view": pa.array(["a", None, "b"], pa.string_view()),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.int8()), pa.array(["b", NOT_USED, "a"])),
}
FRAMES = {f"pandas {name}": pd.DataFrame({"a": column}) for name, column in PANDAS.items()}
FRAMES |= {f"polars {name}": pl.DataFrame({"a": column}) for name, column in POLARS.items()}
FRAMES |= {f"lazy {name}": pl.LazyFrame({"a": column}) for name, column in POLARS.items()}
FRAMES |= {f"arrow {name}": pa.table({"a": column}) for name, column in ARROW.items()}

SAME = "the same labels, chosen by an anonymizer"
RECODINGS = {
    "unchanged": lambda column: None,
    SAME: lambda column: column.labels,
    "some masked": lambda column: ("*", *column.labels[1:]),
    "a period": lambda column: ("2020-01", *column.labels[1:]),
    "a day": lambda column: ("2020-01-05", *column.labels[1:]),
    "a range": lambda column: tuple(f"[{label}, {label}0]" for label in column.labels),
    "a larger number": lambda column: (str(LARGE + 1), *column.labels[1:]),
    "yes and 1": lambda column: ("1", *("yes" for _ in column.labels[1:])),
}


def labels_of(table):
    column = encode(table, Schema(rest=Role.SENSITIVE)).column("a")
    return [None if code == column.missing else column.labels[code] for code in column.codes]


def dtype_of(frame):
    if isinstance(frame, pd.DataFrame):
        return frame["a"].dtype
    return (
        frame.collect_schema()["a"] if isinstance(frame, pl.DataFrame | pl.LazyFrame) else frame.schema.field("a").type
    )


@pytest.mark.parametrize("recoding", RECODINGS)
@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_shows_what_was_published(name, recoding):
    frame = FRAMES[name]
    dataset = encode(to_arrow(frame), Schema(rest=Role.SENSITIVE))
    column = dataset.column("a")
    labels = RECODINGS[recoding](column)
    changed = {} if labels is None else {"a": Labelled(codes=column.codes, labels=labels)}
    release = publish(dataset, Recoding(columns=changed), [])
    published = release.column("a")
    wanted = [None if code == published.missing else published.labels[code] for code in published.codes]

    back = like(frame, release.table())

    assert type(back) is type(frame)
    assert labels_of(to_arrow(back)) == wanted
    if recoding in ("unchanged", SAME) and "categorical" not in name:
        assert dtype_of(back) == dtype_of(frame)


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.OTHER])
@pytest.mark.parametrize("name", [name for name in FRAMES if "categorical" in name or "dictionary" in name])
def test_values_that_no_row_shows_do_not_travel(name, role):
    frame = FRAMES[name]
    dataset = encode(to_arrow(frame), Schema(rest=role))
    back = like(frame, publish(dataset, Recoding(), []).table())
    if isinstance(back, pd.DataFrame):
        assert isinstance(back["a"].dtype, pd.CategoricalDtype)
        assert sorted(map(str, back["a"].cat.categories)) == sorted({str(value) for value in back["a"].dropna()})
        assert back["a"].cat.ordered == frame["a"].cat.ordered
        assert NOT_USED.encode() not in pickle.dumps(back)
    else:
        buffers = [buffer for chunk in to_arrow(back).column("a").chunks for buffer in chunk.buffers() if buffer]
        assert not any(NOT_USED.encode() in buffer.to_pybytes() for buffer in buffers)
    if isinstance(back, pa.Table):
        assert NOT_USED not in back.column("a").chunk(0).dictionary.to_pylist()


def test_row_order_and_index_are_plain(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3]}, index=[7, 8, 9])
    back = like(frame, to_arrow(frame))
    assert list(back.index) == [0, 1, 2]
    assert np.array_equal(back["a"], frame["a"])
