"""Columns under construction: chunks come in, text leaves as one dictionary with codes as narrow as they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import as_arrow, as_numpy
from sfumato.data.distinct import look_up, unify
from sfumato.data.hierarchy import some
from sfumato.data.kinds import is_list, is_text, value_type
from sfumato.errors import DataError

_CLOSE = 1 << 15  # whole numbers in a row of which each gets an entry, whether it occurs or not
_AS_FOUND = 7  # chunks behind one with many different values that are taken to be like it


class Texts:
    """A column of text, or of other values that repeat, in chunks, each with a dictionary of its own."""

    def __init__(self) -> None:
        # Narrow indices and a dictionary; without indices where each row holds the next value of the second.
        self.parts: list[tuple[pa.Array | None, pa.Array]] = []
        self.as_found = 0  # chunks to come that need no dictionary: values hardly occur twice in one

    def add(self, chunk: pa.Array) -> None:
        """Take the next rows: text, a dictionary of text, or nothing but nulls."""
        if pa.types.is_null(chunk.type):
            chunk = chunk.cast(pa.string())
        if self.as_found and is_text(chunk.type) and not chunk.null_count:
            self.as_found -= 1
            self.parts.append((None, _own(chunk)))
            return
        if not pa.types.is_dictionary(chunk.type):
            chunk = _by_value(chunk) or chunk.dictionary_encode()
            self.as_found = _AS_FOUND if 2 * len(chunk.dictionary) > len(chunk) else 0
        # Arrow's memory rather than numpy's: the system gets it back when the chunks are done with.
        self.parts.append((chunk.indices.cast(_index_type(len(chunk.dictionary))), chunk.dictionary))

    def finish_apart(self) -> pa.ChunkedArray:
        """Return the whole column in its chunks, each with its own dictionary."""
        coded = [
            pa.DictionaryArray.from_arrays(indices, texts) if indices is not None else texts.dictionary_encode()
            for indices, texts in self.parts
        ]
        widest = max((part.indices.type for part in coded), key=lambda kind: kind.bit_width)
        return pa.chunked_array([part.cast(pa.dictionary(widest, part.dictionary.type)) for part in coded])

    def finish(self) -> pa.DictionaryArray:
        """Return the whole column with one dictionary; the chunks are used up."""
        # Otherwise what blocks of a file and columns before this one took on their way would still be there.
        pa.default_memory_pool().release_unused()
        dictionary, code_of = unify([part[1] for part in self.parts])
        size = sum(len(values if indices is None else indices) for indices, values in self.parts)
        codes = np.empty(size, dtype=_index_type(len(dictionary)).to_pandas_dtype())
        absent = np.empty(0, dtype=np.bool_)
        at = 0
        self.parts.reverse()
        for new_code in code_of:
            indices, _ = self.parts.pop()
            if indices is None:
                codes[at : at + new_code.size] = new_code
                at += new_code.size
                continue
            if indices.null_count:
                absent = np.pad(absent, (0, size - absent.size))
                absent[at : at + len(indices)] = as_numpy(pc.is_null(indices))
                indices = pc.fill_null(indices, 0)
            if new_code.size:
                look_up(new_code.astype(codes.dtype), as_numpy(indices), codes[at : at + len(indices)])
            else:
                codes[at : at + len(indices)] = 0
            at += len(indices)
        return pa.DictionaryArray.from_arrays(as_arrow(codes, absent if absent.size else None), dictionary)


def _by_value(chunk: pa.Array) -> pa.DictionaryArray | None:
    """Return whole numbers that lie close together as their distance from the least, which takes no look-up.

    Some entries of the dictionary may occur in no row. None: there are others, or gaps.
    """
    if not pa.types.is_integer(chunk.type) or pa.types.is_uint64(chunk.type) or chunk.null_count or not len(chunk):
        return None
    values = as_numpy(chunk)
    least, most = int(values.min()), int(values.max())
    if most - least >= min(_CLOSE, len(chunk)):
        return None
    wide = np.subtract(values, least, dtype=np.promote_types(values.dtype, np.int16))
    near = wide.astype(_index_type(most - least + 1).to_pandas_dtype())
    return pa.DictionaryArray.from_arrays(as_arrow(near), pa.array(range(least, most + 1), chunk.type))


def _own(chunk: pa.Array) -> pa.Array:
    """Return an array in memory of its own: a driver's batch goes as a whole, when nobody uses any of it."""
    return pa.concat_arrays([chunk])


def _index_type(size: int) -> pa.DataType:
    """Return the narrowest integer that numbers so many values."""
    return pa.int8() if size <= 2**7 else pa.int16() if size <= 2**15 else pa.int32()


class TextLists:
    """A column of lists of text that arrives in chunks."""

    def __init__(self) -> None:
        self.texts = Texts()
        self.sizes: list[NDArray[np.integer[Any]]] = []
        self.absent: list[NDArray[np.bool_]] = []

    def add(self, chunk: pa.Array) -> None:
        """Take the next rows: lists of text, or nothing but nulls."""
        if pa.types.is_null(chunk.type):
            chunk = chunk.cast(pa.large_list(pa.string()))
        self.texts.add(chunk.flatten())
        self.sizes.append(as_numpy(pc.fill_null(pc.list_value_length(chunk), 0)))
        self.absent.append(as_numpy(pc.is_null(chunk)))

    def finish(self) -> pa.LargeListArray:
        """Return the whole column, its texts with one dictionary; the chunks are used up."""
        absent = np.concatenate(self.absent)
        start = np.zeros(absent.size + 1, dtype=np.int64)
        np.cumsum(np.concatenate(self.sizes), out=start[1:])
        return pa.LargeListArray.from_arrays(
            as_arrow(start), self.texts.finish(), mask=as_arrow(absent) if absent.any() else None
        )


class Columns:
    """The columns of a typed table that arrives in batches, with the types that they shall have in the end."""

    def __init__(
        self, kinds: Mapping[str, pa.DataType], path: Path, *, as_codes: bool = False, lent: bool = False
    ) -> None:
        self.kinds = kinds
        self.path = path
        self.lent = lent  # whether batches are a driver's
        self.as_codes = as_codes  # whether columns whose values repeat become dictionaries, whatever their type
        self.rows = 0
        self.texts: dict[str, Texts | TextLists] = {}
        self.others: dict[str, list[pa.Array]] = {}
        for name, kind in kinds.items():
            if is_text(kind):
                self.texts[name] = Texts()
            elif is_list(kind) and is_text(value_type(kind.value_type)):
                self.texts[name] = TextLists()
            else:
                self.others[name] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next rows, or raise an error of Arrow's when they do not hold together."""
        self.rows += batch.num_rows
        for name, kind in self.kinds.items():
            chunk = batch.column(batch.schema.get_field_index(name))
            chunk.validate(full=True)  # Arrow takes places inside other arrays as it finds them
            if name in self.texts and is_text(value_type(getattr(kind, "value_type", kind))):
                self.texts[name].add(chunk)
                continue
            chunk = chunk if chunk.type == kind else chunk.cast(kind)
            if name in self.others and not self.others[name] and self.as_codes and _repeats(chunk):
                del self.others[name]
                self.texts[name] = Texts()
            if name in self.texts:
                self.texts[name].add(chunk)
            else:
                self.others[name].append(_own(chunk) if self.lent else chunk)

    def finish(self) -> pa.Table:
        """Return the table; the batches are used up."""
        if not self.rows:
            raise DataError(f"{self.path} has columns but no rows.\nNothing can be published from it.")
        arrays = [self._column(name, kind) for name, kind in self.kinds.items()]
        return pa.Table.from_arrays(arrays, names=list(self.kinds))

    def _column(self, name: str, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
        return self.texts.pop(name).finish() if name in self.texts else pa.chunked_array(self.others.pop(name), kind)


def _repeats(chunk: pa.Array) -> bool:
    """Whether values of a type that can be compared occur several times each, so that codes take less room."""
    kind = chunk.type
    single = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind)
    return single and 4 * int(pc.count_distinct(chunk, mode="all").as_py()) <= len(chunk)


def common_types(schemas: Sequence[pa.Schema], names: Sequence[str], path: Path) -> dict[str, pa.DataType]:
    """Return for each column the type that takes what all parts hold; any text is plain text."""
    kinds = {}
    for name in names:
        found = {_plain_type(schema.field(name).type) for schema in schemas}
        try:
            fields = [pa.schema([(name, kind)]) for kind in found]
            kinds[name] = pa.unify_schemas(fields, promote_options="permissive").field(name).type
        except pa.ArrowException:
            raise DataError(
                f"{path} has parts that disagree about the type of column {name!r}: {some(map(str, found))}.\n"
                "Write all parts with the same types."
            ) from None
    return kinds


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if is_list(kind):
        inner = value_type(kind.value_type)
        return pa.large_list(inner) if is_text(inner) else kind
    return pa.string() if is_text(value_type(kind)) else kind
