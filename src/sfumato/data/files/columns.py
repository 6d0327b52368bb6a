"""Columns under construction: chunks come in, text leaves as one dictionary with codes as narrow as they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import STEP, as_arrow, as_numpy, dtype_of
from sfumato.data.distinct import memory_of
from sfumato.data.files.room import POOL, Growing, give_back
from sfumato.data.files.source import without_rows
from sfumato.data.files.vocabulary import Vocabulary
from sfumato.data.hierarchy import some
from sfumato.data.kinds import is_list, is_text, value_type
from sfumato.errors import DataError

_CLOSE = 1 << 15  # whole numbers in a row of which each gets an entry, whether it occurs or not
_JOINED = 16  # batches that are kept as one
_AS_FOUND = 7  # chunks behind one with many different values that are taken to be like it


class Texts:
    """A column of text, or of other values that repeat: each chunk is coded when it comes, and let go."""

    def __init__(self) -> None:
        self.known: Vocabulary | None = None
        self.codes = Growing()  # as narrow as the values so far allow
        self.width: np.dtype[Any] = np.dtype(np.int8)
        self.has_gaps = False  # whether there are codes of -1, for null
        self.as_found = 0  # chunks to come that need no dictionary: values hardly occur twice in one
        # A dictionary and the codes of its values: that of the next chunk may be the same.
        self.last: tuple[pa.Array, NDArray[np.int32]] | None = None

    def add(self, chunk: pa.Array) -> None:
        """Take the next rows: text, a dictionary of text, or nothing but nulls."""
        if pa.types.is_null(chunk.type):
            chunk = chunk.cast(pa.string())
        if pa.types.is_dictionary(chunk.type) and chunk.dictionary.null_count:
            chunk = chunk.cast(value_type(chunk.type))
        if self.known is None:
            self.known = Vocabulary(value_type(chunk.type))
        if self.as_found and is_text(chunk.type) and not chunk.null_count:
            self.as_found -= 1
            self._append(self.known.numbers(chunk))
            return
        if not pa.types.is_dictionary(chunk.type):
            chunk = _by_value(chunk) or pc.dictionary_encode(chunk, memory_pool=POOL)
            self.as_found = _AS_FOUND if 2 * len(chunk.dictionary) > len(chunk) else 0
        indices, code_of = chunk.indices, self._codes_of(chunk.dictionary)
        if indices.null_count:
            self.has_gaps = True
            indices = pc.fill_null(indices.cast(pa.int32()), code_of.size)
            code_of = np.append(code_of, np.int32(-1))
        self._append(code_of.take(as_numpy(indices).astype(np.intp, copy=False)))

    def _codes_of(self, dictionary: pa.Array) -> NDArray[np.int32]:
        """Return the code of each value of a dictionary."""
        assert self.known is not None
        if self.last is None or memory_of(self.last[0]) != memory_of(dictionary):
            self.last = dictionary, self.known.numbers(dictionary)
        return self.last[1]

    def _append(self, codes: NDArray[np.int32]) -> None:
        assert self.known is not None
        width = dtype_of(_index_type(self.known.size))
        if width != self.width:
            narrow, self.codes = self.codes.array(self.width), Growing()
            for start in range(0, narrow.size, STEP):
                self.codes.add(narrow[start : start + STEP].astype(width))
            self.width = width
        self.codes.add(codes.astype(width))

    def finish(self) -> pa.DictionaryArray:
        """Return the whole column with one dictionary; what was collected is used up."""
        known, self.known, self.last = self.known or Vocabulary(pa.string()), None, None
        codes = self.codes.array(self.width)
        absent = _gaps(codes) if self.has_gaps else None
        indices = pa.Array.from_buffers(pa.from_numpy_dtype(self.width), codes.size, [absent, self.codes.buffer()])
        return pa.DictionaryArray.from_arrays(indices, known.values())


def _gaps(codes: NDArray[Any]) -> pa.Buffer:
    """Return which of the codes stand for a value, as Arrow has it, and make the others 0."""
    valid = np.zeros(-(-codes.size // 8), dtype=np.uint8)
    for start in range(0, codes.size, STEP):
        part = codes[start : start + STEP]
        bits = np.packbits(part >= 0, bitorder="little")
        valid[start // 8 : start // 8 + bits.size] = bits
        np.maximum(part, 0, out=part)
    return pa.py_buffer(valid)


class Apart:
    """A column of text that hardly repeats, in chunks, each with a dictionary of its own."""

    def __init__(self) -> None:
        self.chunks: list[pa.DictionaryArray] = []

    def add(self, chunk: pa.Array) -> None:
        """Take the next rows."""
        chunk = chunk.dictionary_encode()
        self.chunks.append(chunk.cast(pa.dictionary(_index_type(len(chunk.dictionary)), chunk.type.value_type)))

    def finish(self) -> pa.ChunkedArray:
        """Return the whole column."""
        widest = max((chunk.type for chunk in self.chunks), key=lambda kind: kind.index_type.bit_width)
        return pa.chunked_array([chunk.cast(widest) for chunk in self.chunks])


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
    near = wide.astype(dtype_of(_index_type(most - least + 1)))
    return pa.DictionaryArray.from_arrays(as_arrow(near), pa.array(range(least, most + 1), chunk.type))


def _own(chunk: pa.Array) -> pa.Array:
    """Return an array in memory of its own: a driver's batch goes as a whole, when nobody uses any of it."""
    return pa.concat_arrays([chunk], memory_pool=POOL)


def _index_type(size: int) -> pa.DataType:
    """Return the narrowest integer that numbers so many values."""
    return pa.int8() if size <= 2**7 else pa.int16() if size <= 2**15 else pa.int32()


class TextLists:
    """A column of lists of text that arrives in chunks."""

    def __init__(self) -> None:
        self.texts = Texts()
        self.ends = Growing()
        self.ends.add(np.zeros(1, dtype=np.int64))
        self.members = 0
        self.absent = Growing()

    def add(self, chunk: pa.Array) -> None:
        """Take the next rows: lists of text, or nothing but nulls."""
        if pa.types.is_null(chunk.type):
            chunk = chunk.cast(pa.large_list(pa.string()))
        self.texts.add(chunk.flatten())
        sizes = as_numpy(pc.fill_null(pc.list_value_length(chunk), 0))
        self.ends.add(np.cumsum(sizes, dtype=np.int64) + self.members)
        self.members += int(sizes.sum())
        self.absent.add(as_numpy(pc.is_null(chunk)))

    def finish(self) -> pa.LargeListArray:
        """Return the whole column, its texts with one dictionary; what was collected is used up."""
        absent, start = self.absent.array(np.bool_), self.ends.array(np.int64)
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
        self.rows = self.batches = 0
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
        self.batches += 1
        if self.lent and self.batches % _JOINED == 0:
            for chunks in self.others.values():
                chunks[-_JOINED:] = [pa.concat_arrays(chunks[-_JOINED:], memory_pool=POOL)]

    def finish(self) -> pa.Table:
        """Return the table; the batches are used up."""
        if not self.rows:
            raise without_rows(self.path)
        arrays = [self._column(name, kind) for name, kind in self.kinds.items()]
        give_back()
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
