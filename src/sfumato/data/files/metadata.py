"""What files and frames hold beside their table: keys that their writers need, and any others, which audits report.

Everything here is counted and never shown: keys and values may be names of people.
"""

from __future__ import annotations

import base64
import json
import re
import zipfile
import zoneinfo
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from sfumato.data.files.excel import used_sheets
from sfumato.data.files.source import Source, format_of, parts_of
from sfumato.data.files.typed import arrow_batches

_SCHEMA = b"ARROW:schema"
_ROW_OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_VERSION = re.compile(rb"\d+(\.\d+){1,3}([-.+]?[a-z]*\d*)?")
# What these keys hold where a well-known writer set them.
_HARMLESS: Mapping[bytes, re.Pattern[bytes]] = {
    b"PARQUET:field_id": re.compile(rb"-?\d+"),
    b"ARROW:extension:name": re.compile(rb"(arrow|pandas|polars|geoarrow)\.[a-z_0-9]+"),
    b"ARROW:extension:metadata": re.compile(rb"(\{\})?"),
    b"org.apache.spark.version": _VERSION,
    b"org.apache.spark.legacyDateTime": re.compile(rb""),
    b"org.apache.spark.legacyINT96": re.compile(rb""),
    b"writer.model.name": re.compile(rb"avro|protobuf|thrift|example"),
}
# The words of types, as pandas writes them.
_TYPE_WORDS = frozenset(
    (
        *(
            "bool",
            "boolean",
            "int",
            "uint",
            "float",
            "double",
            "decimal",
            "integer",
            "mixed",
            "empty",
            "object",
            "bytes",
        ),
        *("string", "str", "unicode", "python", "pyarrow", "large_string", "category", "categorical", "list", "struct"),
        *("datetime", "datetimetz", "timedelta", "date", "time", "timestamp", "duration", "period", "interval", "Int"),
        *("UInt", "Float", "right", "left", "both", "neither", "ns", "us", "ms", "s", "D", "M", "Y", "nan", "item"),
        *("dictionary", "values", "indices", "ordered", "large_list", "halffloat", "null", "map", "binary", "day"),
    )
)
_OF_COLUMNS = frozenset(("encoding", "num_categories", "ordered", "timezone", "precision", "scale"))
_INDEX = re.compile(r"__index_level_\d+__")
# Parts of a workbook that show nothing of its sheets, and the properties in which people write sentences.
_BESIDE = re.compile(r"xl/(threaded)?comments?.*|docprops/custom\.xml|customxml/.*|xl/persons?/.*", re.I)
_PROPERTY = re.compile(rb"<(?:dc:title|dc:subject|dc:description|cp:keywords|cp:category)>[^<\s]")
_DEFINED = re.compile(rb"<definedName\b[^>]*\bname=\"(?!_xlnm\.)")


def needless_in(source: Source, names: Collection[str]) -> int:
    """Return how many entries a file has beside its table that no well-known writer needs, given known columns."""
    if source.database is not None or source.in_catalog:
        return 0
    form = format_of(source)
    if form == "parquet":
        return sum(_in_parquet(part, names) for part in parts_of(source.path))
    if form == "arrow":
        with arrow_batches(source.path) as (schema, _, _):
            return needless_keys(schema, names)
    return _in_workbook(source) if form == "excel" else 0


def needless_with(frame: Any, names: Collection[str]) -> int:
    """Return how many entries a frame of Python has beside its table that nothing needs, given known columns."""
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return needless_keys(frame.schema, names)
    attributes = getattr(frame, "attrs", None)  # of pandas; they are written into Parquet files with the table
    return len(attributes) if isinstance(attributes, dict) else 0


def needless_keys(schema: pa.Schema, names: Collection[str]) -> int:
    """Return how many keys of a schema and its fields hold what no well-known writer needs.

    >>> field = pa.field("age", pa.int64(), metadata={"about": "Ann is 21"})
    >>> needless_keys(pa.schema([field], metadata={"people": "Ann, Bob"}), ["age"])
    2
    """
    known = {*names, *schema.names}
    found = [*_keys(schema.metadata), *(key for field in schema for key in _of_field(field))]
    return sum(not _is_needed(key, value, known) for key, value in found)


def _keys(metadata: Mapping[bytes, bytes] | None) -> Iterator[tuple[bytes, bytes]]:
    yield from (metadata or {}).items()


def _of_field(field: pa.Field) -> Iterator[tuple[bytes, bytes]]:
    yield from _keys(field.metadata)
    kind = field.type
    for place in range(kind.num_fields if pa.types.is_nested(kind) else 0):
        yield from _of_field(kind.field(place))


def _in_parquet(path: Path, names: Collection[str]) -> int:
    file = pa_parquet.ParquetFile(path)
    of_file = dict(file.metadata.metadata or {})
    found = needless_keys(file.schema_arrow.with_metadata(of_file), names)
    if _SCHEMA not in of_file:
        return found
    try:  # Arrow reads the keys of a file for those of this schema, which then nobody sees
        inside = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(of_file[_SCHEMA])))
    except (ValueError, OSError, pa.ArrowException):
        return found + 1
    return found + sum(
        not _is_needed(key, value, {*names, *inside.names})
        for key, value in _keys(inside.metadata)
        if of_file.get(key) != value
    )


def _is_needed(key: bytes, value: bytes, names: Collection[str]) -> bool:
    if key == _SCHEMA:
        return True
    if key == b"org.apache.spark.timeZone":
        return _is_zone(value.decode("utf-8", "replace"))
    if key in _HARMLESS:
        return _HARMLESS[key].fullmatch(value) is not None
    try:
        told = json.loads(value) if key in (b"pandas", _ROW_OF_SPARK) else None
    except ValueError:
        return False
    if not isinstance(told, dict):
        return False
    return _of_pandas(told, names) if key == b"pandas" else _of_spark(told, names)


def _of_spark(told: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether Spark's schema names columns of the table and says nothing else about them."""
    fields = told.get("fields")
    return (
        set(told) == {"type", "fields"}
        and isinstance(fields, list)
        and all(
            isinstance(field, dict)
            and set(field) <= {"name", "type", "nullable", "metadata"}
            and field.get("name") in names
            and not field.get("metadata")
            and isinstance(field.get("nullable"), bool)
            and _is_type_of_spark(field.get("type"))
            for field in fields
        )
    )


def _is_type_of_spark(told: Any) -> bool:
    """Whether a type of Spark is that of simple values, or of lists of them."""
    if not isinstance(told, dict):
        return _is_type(told)
    return set(told) <= {"type", "elementType", "containsNull"} and all(
        map(_is_type, (told["type"], told["elementType"]))
    )


def _of_pandas(told: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether what pandas says of a table is what it needs to read it: no attributes, and no name that is no column."""
    creator = told.get("creator", {})
    return (
        set(told) <= _PANDAS
        and not told.get("attributes")
        and not told.get("partition_columns")
        and isinstance(creator, dict)
        and set(creator) <= {"library", "version"}
        and creator.get("library", "pyarrow") in ("pyarrow", "fastparquet")
        and _is_version(creator.get("version"))
        and _is_version(told.get("pandas_version"))
        and _all(told.get("index_columns"), lambda each: _is_index(each, names))
        and _all(told.get("column_indexes"), lambda each: _is_column(each, names))
        and _all(told.get("columns"), lambda each: _is_column(each, names))
    )


_PANDAS = frozenset(
    (
        *("index_columns", "column_indexes", "columns", "attributes", "creator", "partition_columns"),
        "pandas_version",
    )
)


def _all(told: Any, right: Any) -> bool:
    return told is None or (isinstance(told, list) and all(map(right, told)))


def _is_version(told: Any) -> bool:
    return told is None or (isinstance(told, str) and _VERSION.fullmatch(told.encode()) is not None)


def _is_name(told: Any, names: Collection[str]) -> bool:
    return told is None or (isinstance(told, str) and (told in names or _INDEX.fullmatch(told) is not None))


def _is_index(told: Any, names: Collection[str]) -> bool:
    if not isinstance(told, dict):
        return told is not None and _is_name(told, names)
    numbers = (told.get(key) for key in ("start", "stop", "step"))
    return (
        set(told) <= {"kind", "name", "start", "stop", "step"}
        and told.get("kind") == "range"
        and _is_name(told.get("name"), names)
        and all(type(number) is int for number in numbers)
    )


def _is_column(told: Any, names: Collection[str]) -> bool:
    if not isinstance(told, dict) or not set(told) <= {"name", "field_name", "pandas_type", "numpy_type", "metadata"}:
        return False
    more = told.get("metadata") or {}
    return (
        all(_is_name(told.get(key), names) for key in ("name", "field_name"))
        and all(_is_type(told.get(key)) for key in ("pandas_type", "numpy_type"))
        and isinstance(more, dict)
        and set(more) <= _OF_COLUMNS
        and all(isinstance(value, bool | int | None) or _is_word(value) for value in more.values())
    )


def _is_word(told: Any) -> bool:
    return isinstance(told, str) and (told in ("UTF-8", "utf8") or _is_zone(told))


_zones = lru_cache(maxsize=1)(zoneinfo.available_timezones)  # reads a folder


def _is_zone(told: str) -> bool:
    return told in _zones() or re.fullmatch(r"[+-]\d\d:\d\d", told) is not None


def _is_type(told: Any) -> bool:
    if told is None:
        return True
    if not isinstance(told, str):
        return False
    plain = re.sub(r"(?<=, )[\w/+:-]+(?=\])|(?<=tz=)[\w/+:-]+", lambda zone: "" if _is_zone(zone[0]) else zone[0], told)
    return all(word in _TYPE_WORDS or word in _OF_SPARK for word in re.findall(r"[^\W\d]+", plain))


_OF_SPARK = frozenset(("byte", "short", "integer", "long", "float", "timestamp_ntz", "tz", "array"))


def _in_workbook(source: Source) -> int:
    """Return how many other sheets with content, remarks, names and descriptions a workbook has beside its table."""
    others = len(used_sheets(source)) - 1
    if not zipfile.is_zipfile(source.path):
        return others
    with zipfile.ZipFile(source.path) as parts:
        names = parts.namelist()
        held = {
            name.lower(): parts.read(name) for name in names if name.lower() in ("docprops/core.xml", "xl/workbook.xml")
        }
    beside = sum(_BESIDE.fullmatch(name) is not None for name in names)
    said = len(_PROPERTY.findall(held.get("docprops/core.xml", b"")))
    return others + beside + said + len(_DEFINED.findall(held.get("xl/workbook.xml", b"")))
