"""What the cells of a column are: types of Arrow, and texts that are numbers or dates."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.dates import day_of
from sfumato.data.schema import Kind

# Cells that mean "missing" wherever they stand, and those that do so among numbers or dates only.
MARKERS = ("", "?", "*", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
MARKERS_AMONG_NUMBERS = (
    *("-", "--", ".", "..", "x", "X", "n/a", "na", "none", "None", "NONE", "nil", "missing", "Missing", "MISSING"),
    *("unknown", "Unknown", "UNKNOWN", "not known", "not available", "n.a.", "k.A.", "NaT", "<NA>", "inf", "-inf"),
    *("unbekannt", "Unbekannt", "k. A.", "keine Angabe", "fehlt", "inconnu", "Inconnu", "n.d.", "N.D.", "nd", "ND"),
    *("desconocido", "Desconocido", "sconosciuto", "Sconosciuto", "onbekend", "Onbekend", "desconhecido", "(null)"),
    *("#NV", "#N/D", "#DIV/0!", "#VALUE!", "#WERT!", "#REF!", "#BEZUG!", "#NAME?", "#NUM!", "#ZAHL!", "#NULL!"),
)
INFINITE = ("inf", "-inf")  # numbers that no range holds, as Arrow spells them
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # that have a date, from 1970-01-01 on
_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is one of lists."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of single values, be they in a dictionary or not; any text is plain text."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if is_text(inner) else inner


def has_far_days(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether days or moments lie outside of the years 1 to 9999, as those do by which databases mean "for ever".

    >>> has_far_days(pa.array([0, 5_000_000], pa.date32())), has_far_days(pa.array([0, None], pa.timestamp("us")))
    (True, False)
    """
    if pa.types.is_timestamp(values.type):
        in_a_day = 86_400 * _IN_A_SECOND[values.type.unit]
    elif pa.types.is_date(values.type):
        in_a_day = 1 if pa.types.is_date32(values.type) else 86_400_000
        values = values.cast(pa.int32()) if in_a_day == 1 else values
    else:
        return False
    ends = pc.min_max(values.cast(pa.int64()))
    least, most = ends["min"].as_py(), ends["max"].as_py()
    return least is not None and (least < _FIRST_DAY * in_a_day or most >= (_LAST_DAY + 1) * in_a_day)


def infer_kind(labels: Sequence[str], found_type: pa.DataType) -> Kind:
    """Return `number` or `date` when every value is one; codes with leading zeros are categories."""
    if pa.types.is_boolean(found_type) or not labels:
        return Kind.CATEGORY
    if all(_NUMBER.fullmatch(label) and math.isfinite(float(label)) for label in labels):
        return Kind.NUMBER
    return Kind.DATE if all(day_of(label) for label in labels) else Kind.CATEGORY


def missing_markers(labels: Sequence[str], found_type: pa.DataType) -> list[str]:
    """Return the cells of a text column that stand for missing values."""
    if pa.types.is_floating(value_type(found_type)):
        return [label for label in labels if label in INFINITE]
    if not is_text(value_type(found_type)):
        return []
    found = [marker for marker in MARKERS if marker in set(labels)]
    if odd := [label for label in labels if label in MARKERS_AMONG_NUMBERS]:
        rest = [label for label in labels if label not in MARKERS and label not in MARKERS_AMONG_NUMBERS]
        if len(rest) > 2 * len(odd) and infer_kind(rest, found_type) in (Kind.NUMBER, Kind.DATE):
            found += odd
    return found


def is_integer(label: str) -> bool:
    """Whether a text is a whole number that fits 64 bits."""
    return _INTEGER.fullmatch(label) is not None


def as_number(label: str) -> float:
    """Return a text as number, not-a-number when it is none: Python's `1_000` and `inf` are not what people mean.

    >>> as_number(" 1.50"), as_number("1_000"), as_number("1e999")
    (1.5, nan, nan)
    """
    try:
        number = float(label) if "_" not in label else math.nan
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def exact_number(label: str) -> Decimal:
    """Return the number that a text means, to the last digit: floats take neighbours above 2**53 for one.

    >>> exact_number("9007199254740993") > exact_number("9007199254740992.0")
    True
    """
    return Decimal(label.strip())


def seconds_of(durations: pa.Array) -> pa.Array:
    """Return durations as the text of their seconds.

    >>> seconds_of(pa.array([90_000, 1_500, -250, None], pa.duration("ms"))).to_pylist()
    ['90', '1.5', '-0.25', None]
    """
    parts = _IN_A_SECOND[durations.type.unit]
    exact = (None if count is None else Decimal(count) / parts for count in durations.cast(pa.int64()).to_pylist())
    return pa.array([None if number is None else f"{number.normalize():f}" for number in exact], pa.string())


def number_type(labels: Sequence[str]) -> pa.DataType:
    """Return the type that takes all these labels: text when one is a range, or more than a float can hold."""
    if all(is_integer(label) for label in labels):
        return pa.int64()
    if infer_kind(labels, pa.string()) is not Kind.NUMBER or len({float(label) for label in labels}) < len(labels):
        return pa.string()
    exact = all(exact_number(repr(float(label))) == exact_number(label) for label in labels)
    return pa.float64() if exact else pa.string()


def typed(labels: Sequence[str], kind: pa.DataType) -> pa.Array:
    """Return the values that were written as labels, in the type that they had.

    >>> typed(["5", "+7"], pa.int64()).to_pylist(), typed(["01:30:00"], pa.time32("s")).to_pylist()
    ([5, 7], [datetime.time(1, 30)])
    """
    texts = pa.array(labels, pa.string())
    if is_text(kind):
        return texts
    if pa.types.is_integer(kind):
        return pa.array([int(label) for label in labels], kind)
    if pa.types.is_floating(kind):
        return pa.array([float(label) for label in labels], pa.float64()).cast(kind, safe=False)
    if pa.types.is_time(kind):
        moments = pa.array([f"1970-01-01 {label}" for label in labels], pa.string()).cast(pa.timestamp(kind.unit))
        return moments.cast(kind)
    if pa.types.is_duration(kind):
        return pa.array([int(Fraction(label) * _IN_A_SECOND[kind.unit]) for label in labels], pa.int64()).cast(kind)
    if pa.types.is_null(kind):
        return pa.nulls(len(labels))
    return texts.cast(kind)
