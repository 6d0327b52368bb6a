"""Frames of other libraries: pandas, polars, pyarrow and whatever narwhals knows; in as Arrow, out as they came."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath
from typing import Any

import narwhals as nw
import pyarrow as pa

from sfumato.data.dataset import as_arrow
from sfumato.data.distinct import Placed
from sfumato.data.hierarchy import some
from sfumato.data.kinds import is_text, typed, value_type
from sfumato.data.names import repeated
from sfumato.errors import DataError

_BEYOND_ARROW = (nw.Int128, nw.UInt128)


def is_spark(frame: Any) -> bool:
    """Whether a frame is one of Spark, which stays where it is."""
    return type(frame).__module__.partition(".")[0] == "pyspark"


def to_arrow(frame: Any, needed: Collection[str] = ()) -> pa.Table:
    """Return a frame as Arrow table; a lazy one is collected, an index of pandas is left out unless it is needed.

    An index of several levels is refused, and one with the name of a needed column that the frame does not have.
    """
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        table = frame
    else:
        wrapped = _wrapped(frame)
        if isinstance(wrapped, nw.LazyFrame):
            wrapped = wrapped.collect()
        is_pandas = wrapped.implementation.is_pandas()
        table = _from_pandas(frame) if is_pandas else _from_narwhals(wrapped)
        if is_pandas and (name := _name_in_pandas(frame.index.name)) in needed and name not in table.column_names:
            raise DataError(
                f"The plan names the column {name!r}, but it is the index of the frame, which is left out.\n"
                "Make a column of it: frame.reset_index()."
            )
    for position, name in enumerate(table.column_names, start=1):
        if not name.strip():
            raise DataError(
                f"Column number {position:,} of the frame has no name, but a plan gives roles by name.\nName the "
                "column. In pandas, set frame.columns; frame.reset_index() makes columns of a named index."
            )
    if twice := repeated(table.column_names):
        raise DataError(f"The frame has columns with the same name: {some(twice)}.\nRename them.")
    for name in table.column_names:
        if is_text(table.schema.field(name).type):
            continue
        try:
            table.column(name).slice(0, 1).take(pa.array([0] if table.num_rows else [], pa.int32()))
        except pa.ArrowException:
            raise DataError(
                f"Column {name!r} of the frame is of type {table.schema.field(name).type}, of which Arrow cannot pick "
                "rows.\nConvert the column to text, numbers, dates or lists of these."
            ) from None
    return table.replace_schema_metadata(None)


def _wrapped(frame: Any) -> Any:
    try:
        return nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        raise DataError(
            f"The frame has columns with the same name: {some(repeated(map(str, frame.columns)))}.\nRename them."
        ) from None
    except TypeError:
        kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
        files = " For a file, name it in the plan ([source] path) and call sf.run(plan, out)."
        raise DataError(
            f"A table was expected, but a {kind} was given.\nGive a frame of pandas, polars or pyarrow."
            f"{files if isinstance(frame, str | PurePath) else ''}"
        ) from None


def _from_narwhals(wrapped: Any) -> pa.Table:
    """Convert whole numbers that are too long for Arrow to text, which has all their digits."""
    kinds = wrapped.collect_schema()
    for name in (name for name, kind in kinds.items() if kind == nw.Object):  # places in memory, to anybody else
        raise DataError(
            f"Column {name!r} of the frame holds objects of Python.\n"
            "Convert the column to text, numbers, dates or lists of these."
        )
    long = [name for name, kind in kinds.items() if kind in _BEYOND_ARROW]
    return (wrapped.with_columns(nw.col(*long).cast(nw.String)) if long else wrapped).to_arrow()


def _name_in_pandas(name: Any) -> str:
    """Return the name of a column or an index as text; pandas gives a marker of missing values where there is none."""
    return "" if not isinstance(name, str) and str(name) in ("None", "nan", "<NA>", "NaT") else str(name)


def _from_pandas(frame: Any) -> pa.Table:
    """Convert column by column, to be able to name the one that does not work: pyarrow would show its cells."""
    if frame.columns.nlevels > 1:
        raise DataError(
            "The columns of the frame have names of several levels (a MultiIndex), but a plan names a column by one "
            'text.\nSet frame.columns = ["_".join(map(str, name)) for name in frame.columns], then call '
            "frame.reset_index() if the index holds columns too."
        )
    if frame.index.nlevels > 1:
        raise DataError(
            f"The index of the frame has {frame.index.nlevels} levels (a MultiIndex), which would be lost.\n"
            "Make columns of them: frame.reset_index(). Or drop them: frame.reset_index(drop=True)."
        )
    names = [_name_in_pandas(name) for name in frame.columns]
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
    """Return a published table as the kind of frame that `frame` is.

    It shows, label for label, what was published: a column gets the type that it had in `frame` only where every label
    is a value of that type. Values that no row shows, as of a categorical, do not come along.
    """
    if isinstance(frame, pa.RecordBatch | pa.Table):
        return _with_types(table, frame.schema)
    wrapped = _wrapped(frame)
    if wrapped.implementation.is_pandas():
        return _to_pandas(frame, table)
    top = wrapped.head(0)
    found = _from_narwhals(top.collect() if isinstance(top, nw.LazyFrame) else top).schema
    table = _with_types(table, pa.schema([(field.name, value_type(field.type)) for field in found]))
    if isinstance(wrapped, nw.LazyFrame) and not wrapped.implementation.is_polars():
        return table  # tables that live elsewhere, such as in a database, stay there
    result = nw.from_arrow(table, backend=wrapped.implementation)
    for name, wanted in wrapped.collect_schema().items():
        if name in result.columns and _fits(result.schema[name], wanted):
            before = result.get_column(name)
            try:
                after = before.cast(_occurring(wanted, before) if isinstance(wanted, nw.Enum) else wanted)
            except Exception:  # each kind of frame has errors of its own; the column stays as it was published
                continue
            if (after.cast(nw.String) == before.cast(nw.String)).all():
                result = result.with_columns(after)
    return result.lazy().to_native() if isinstance(wrapped, nw.LazyFrame) else result.to_native()


def _fits(found: Any, wanted: Any) -> bool:
    """Whether values of a type may be values of another."""
    if found == wanted:
        return False
    if found == nw.String:
        return bool(wanted == nw.Categorical or isinstance(wanted, nw.Enum) or wanted in _BEYOND_ARROW)
    return bool(found.is_numeric() and wanted.is_numeric())


def _occurring(kind: nw.Enum, column: Any) -> nw.Enum:
    """Return the categories that occur, in the order that they had."""
    found = set(column.unique().to_list())
    return nw.Enum([category for category in kind.categories if category in found])


def _with_types(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Return the table with the types that its columns had before, where labels stay what they are."""
    columns = [
        _with_type(table.column(name), wanted.field(name).type if name in wanted.names else pa.string())
        for name in table.column_names
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _with_type(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return a column in another type if that shows the same labels, text as plain text otherwise."""
    is_label = pa.types.is_dictionary(column.type) and is_text(value_type(column.type))
    if pa.types.is_nested(column.type) and pa.types.is_nested(wanted):
        return _with_lists(column, wanted)
    if column.type == wanted or pa.types.is_nested(column.type) or not (is_label or pa.types.is_primitive(column.type)):
        return column
    plain = column.cast(pa.string()) if is_label else column
    try:
        if pa.types.is_dictionary(wanted):
            return (column if is_label else column.dictionary_encode()).cast(wanted)
        if is_text(wanted) or not is_label:
            found = plain.cast(wanted)
            return found if is_text(wanted) == is_label and _same_labels(found, plain) else plain
        whole = column.unify_dictionaries().combine_chunks()
        whole = whole if isinstance(whole, pa.DictionaryArray) else whole.chunk(0)
        values = typed(whole.dictionary.to_pylist(), value_type(wanted))
        found = pa.chunked_array([values.take(whole.indices)])
        return found if _same_labels(pa.chunked_array([values]), pa.chunked_array([whole.dictionary])) else plain
    except (pa.ArrowException, ValueError, OverflowError, TypeError):
        return plain  # some label is no value of that type


def _with_lists(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return lists in the type that they had before, if they can be: members are values of it, and as many."""
    try:
        return column.cast(wanted)
    except pa.ArrowException:
        return column


def _same_labels(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    return bool(_labels(one).equals(_labels(other)))


def _labels(array: pa.ChunkedArray) -> pa.Array:
    """Return the label of each row, as coding would see it."""
    placed = Placed.of(array)
    texts = pa.concat_arrays([placed.tally.texts, pa.nulls(1, pa.string())])
    return texts.take(as_arrow(placed.place_of[placed.rows]))


def _to_pandas(frame: Any, table: pa.Table) -> Any:
    import pandas  # there already, since the frame is one of its frames

    places = {str(name): place for place, name in enumerate(frame.columns)}
    columns = {}
    for name in table.column_names:
        column, place = table.column(name), places.get(name)
        wanted = None if place is None else frame.dtypes.iloc[place]
        if place is not None and pa.types.is_dictionary(column.type):
            column = _with_type(column, value_type(_from_pandas(frame.iloc[:, [place]]).schema.field(0).type))
        columns[name] = _series(column, wanted)
    return pandas.DataFrame(columns)


def _series(column: pa.ChunkedArray, wanted: Any) -> Any:
    """Return a column as pandas has it, in the dtype that is wanted if that shows the same labels."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    plain = column.to_pandas(integer_object_nulls=True)  # floats would round large whole numbers beside a gap
    if pa.types.is_nested(column.type) and wanted is not None:
        return _nested(column, wanted, plain)
    if wanted is None or plain.dtype == wanted:
        return plain
    if hasattr(wanted, "categories") and not plain.dropna().isin(wanted.categories).all():
        return plain
    try:
        if hasattr(wanted, "__from_arrow__"):  # no detour: numpy would make floats of whole numbers with gaps
            found = column.to_pandas(types_mapper={column.type: wanted}.get)
        else:
            found = plain.astype(wanted)
        if hasattr(wanted, "categories"):
            found = found.cat.remove_unused_categories()
        same = _same_labels(pa.chunked_array([pa.array(found, from_pandas=True)]), column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError, DataError):
        return plain  # generalized: the labels are no longer values of that type
    return found if same else plain


def _nested(column: pa.ChunkedArray, wanted: Any, plain: Any) -> Any:
    """Return a column of lists in the Arrow type that pandas had it in, where it was one."""
    kind = getattr(wanted, "pyarrow_dtype", None)
    if kind is None or not pa.types.is_nested(kind):
        return plain.map(lambda cell: cell.tolist() if hasattr(cell, "tolist") else cell)
    try:
        return column.cast(kind).to_pandas(types_mapper={kind: wanted}.get)
    except pa.ArrowException:  # members are no longer values of that type
        return plain
