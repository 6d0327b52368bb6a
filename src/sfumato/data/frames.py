"""Frames of other libraries: pandas, polars, pyarrow and whatever narwhals knows; in as Arrow, out as they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import pyarrow as pa

from sfumato.data.hierarchy import some
from sfumato.data.kinds import is_text, value_type
from sfumato.errors import DataError


def to_arrow(frame: Any) -> pa.Table:
    """Return a frame as Arrow table; a lazy one is collected, an index of pandas is left out."""
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        table = frame
    else:
        wrapped = _wrapped(frame)
        if isinstance(wrapped, nw.LazyFrame):
            wrapped = wrapped.collect()
        table = _from_pandas(frame) if wrapped.implementation.is_pandas() else wrapped.to_arrow()
    if twice := _twice(table.column_names):
        raise DataError(f"The frame has columns with the same name: {some(twice)}.\nRename them.")
    return table.replace_schema_metadata(None)


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _wrapped(frame: Any) -> Any:
    try:
        return nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        raise DataError(
            f"The frame has columns with the same name: {some(_twice(map(str, frame.columns)))}.\nRename them."
        ) from None
    except TypeError:
        kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
        raise DataError(
            f"A table was expected, but a {kind} was given.\nGive a frame of pandas, polars or pyarrow."
        ) from None


def _from_pandas(frame: Any) -> pa.Table:
    """Convert column by column, to be able to name the one that does not work: pyarrow would show its cells."""
    names = [str(name) for name in frame.columns]
    arrays = []
    for position, name in enumerate(names):
        try:
            arrays.append(pa.array(frame.iloc[:, position], from_pandas=True))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise DataError(
                f"Column {name!r} of the frame holds values of several kinds, or of one that Arrow does not know.\n"
                "Convert the column to text, numbers, dates or lists of these."
            ) from None
    return pa.Table.from_arrays(arrays, names=names)


def like(frame: Any, table: pa.Table) -> Any:
    """Return a table as the kind of frame that `frame` is; columns whose type did not change get their dtype back."""
    if isinstance(frame, pa.RecordBatch | pa.Table):
        return _plain_text(table, frame.schema)
    wrapped = _wrapped(frame)
    if wrapped.implementation.is_pandas():
        return _to_pandas(frame, table)
    table = _plain_text(table, None)
    if isinstance(wrapped, nw.LazyFrame) and not wrapped.implementation.is_polars():
        return table  # tables that live elsewhere, such as in a database, stay there
    result = nw.from_arrow(table, backend=wrapped.implementation)
    found = result.schema
    for name, wanted in wrapped.collect_schema().items():
        if name in found and _fits(found[name], wanted):
            result = result.with_columns(nw.col(name).cast(wanted))
    return result.lazy().to_native() if isinstance(wrapped, nw.LazyFrame) else result.to_native()


def _fits(found: Any, wanted: Any) -> bool:
    """Whether values of a type can be given back as those of another: generalized ones are text and stay text."""
    if found == wanted:
        return False
    return bool(found == nw.String and wanted == nw.Categorical) or (found.is_numeric() and wanted.is_numeric())


def _plain_text(table: pa.Table, wanted: pa.Schema | None) -> pa.Table:
    """Return dictionaries of text as text, unless the original had them as dictionaries too."""
    for position, field in enumerate(table.schema):
        if not pa.types.is_dictionary(field.type):
            continue
        target = pa.string()
        if wanted is not None and field.name in wanted.names:
            before = wanted.field(field.name).type
            if is_text(value_type(before)):
                target = before
        table = table.set_column(position, field.name, table.column(position).cast(target))
    return table


def _to_pandas(frame: Any, table: pa.Table) -> Any:
    dtypes = {str(name): dtype for name, dtype in zip(frame.columns, frame.dtypes, strict=True)}
    table = _plain_text(table, None)
    result = table.to_pandas()
    for name in result.columns:
        wanted = dtypes.get(name)
        if wanted is None or result[name].dtype == wanted:
            continue
        known = getattr(wanted, "categories", None)
        if known is not None and not result[name].dropna().isin(known).all():
            continue
        try:
            if hasattr(wanted, "__from_arrow__"):  # no detour: numpy would make floats of whole numbers with gaps
                converted = table.column(name).to_pandas(types_mapper={table.column(name).type: wanted}.get)
            else:
                converted = result[name].astype(wanted)
        except (TypeError, ValueError, NotImplementedError):
            continue  # generalized: the labels are no longer values of that type
        if converted.isna().sum() == result[name].isna().sum():
            result[name] = converted
    return result
