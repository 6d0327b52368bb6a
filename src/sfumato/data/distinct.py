"""The distinct values of a column as text, how often each occurs, and which of them each row holds.

Tables come with text columns as dictionaries where the reader could make them so: work on values is then done once for
each distinct value, not once for each row. Work on rows is done step by step, so that it needs next to no room beside
the codes themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.dataset import STEP, Codes, as_arrow, as_numpy, counted, starts_of
from sfumato.data.kinds import has_far_days, is_list, is_text, seconds_of, value_type
from sfumato.errors import DataError


@dataclass(frozen=True, eq=False)
class Tally:
    """The distinct values of a column, of t texts; tallies of parts add up to that of the whole.

    >>> halves = [Placed.of(pa.chunked_array([half])).tally for half in (["b", "a", "b"], ["c", None, "b"])]
    >>> whole = halves[0] + halves[1]
    >>> whole.texts.to_pylist(), whole.counts.tolist(), whole.absent
    (['b', 'a', 'c'], [3, 1, 1], 1)
    """

    texts: pa.Array  # (t,), none twice, none null
    counts: NDArray[np.int64]  # (t,), none is zero
    absent: int  # how often there was no value: null and not-a-number
    type: pa.DataType  # of the values, as found
    sets: bool = False  # whether the values are members of sets

    def __add__(self, other: Tally) -> Tally:
        known = [part for part in (self, other) if not pa.types.is_null(part.type)] or [self]
        kinds = {f"sets of {part.type}" if part.sets else str(part.type) for part in known}
        if len(kinds) > 1:
            raise DataError(
                f"Parts disagree about the type of a column: {' and '.join(sorted(kinds))}.\n"
                "Write all parts with the same types."
            )
        texts, (ours, theirs) = unify([self.texts, other.texts])
        counts = np.zeros(len(texts), dtype=np.int64)
        counts[ours] = self.counts
        counts[theirs] += other.counts
        return Tally(texts, counts, self.absent + other.absent, known[0].type, known[0].sets)

    def is_marker(self, missing: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of the texts stand for a missing value, (t,).

        Nulls are published as the first marker. Without any marker that is the empty text, which then means the same.
        """
        markers = list(missing) if missing or not self.absent else [""]
        return as_numpy(pc.is_in(self.texts, value_set=pa.array(markers, pa.string())))

    def places_in(self, other: Tally) -> NDArray[np.int32]:
        """Return where each of the texts is among those of another tally, (t,); -1 where it is not."""
        if self is other:
            return np.arange(len(self.texts), dtype=np.int32)
        return as_numpy(pc.fill_null(pc.index_in(self.texts, value_set=other.texts), -1))


@dataclass(frozen=True, eq=False)
class Placed:
    """A column whose rows say which distinct value they hold: row r has tally.texts[place_of[rows[r]]]."""

    # (n,): the entry that each row shows, one of e, maybe in narrow integers; used up by whoever codes the column
    rows: Codes
    place_of: NDArray[np.int32]  # (e,): the place of each entry in the tally, t where it is no value
    tally: Tally

    @classmethod
    def of(
        cls,
        array: pa.ChunkedArray,
        weights: NDArray[np.int64] | None = None,
        *,
        sets: bool = False,
        narrow: bool = False,
    ) -> Placed:
        """Return a column of single values, or the members of `sets`; each counts as often as `weights`, (n,), says.

        With `narrow`, rows that came in narrow integers stay so.
        """
        rows, entries = entries_of(array, narrow=narrow)
        counts = counted(rows, len(entries) + 1, weights)
        real = (counts[:-1] > 0) & as_numpy(pc.is_valid(entries))
        found = entries.filter(as_arrow(real)).dictionary_encode()
        texts = found.dictionary
        place_of = np.full(len(entries) + 1, len(texts), dtype=np.int32)
        place_of[:-1][real] = as_numpy(found.indices)
        of_place = np.zeros(len(texts) + 1, dtype=np.int64)
        np.add.at(of_place, place_of, counts)
        return cls(rows, place_of, Tally(texts, of_place[:-1], int(of_place[-1]), value_type(array.type), sets))

    def coded(self, code_of: NDArray[np.int32]) -> Codes:
        """Return the rows in codes, given that of each text and, last, of no value, (t + 1,)."""
        new_code = code_of[self.place_of]
        if new_code.max(initial=0) > np.iinfo(self.rows.dtype).max:
            return new_code[self.rows]
        look_up(new_code.astype(self.rows.dtype, copy=False), self.rows, self.rows)
        return self.rows


@contextmanager
def naming(column: str) -> Iterator[None]:
    """Let what is wrong with values say whose they are."""
    try:
        yield
    except DataError as error:
        raise DataError(f"Column {column!r}: {error}") from None


def text_codes(
    array: pa.ChunkedArray, missing: Sequence[str], *, narrow: bool = False
) -> tuple[Codes, list[str], bool]:
    """Return codes, the text of each distinct value, and whether some are missing: they get the code after the last.

    Null, not-a-number and the markers in `missing` are missing. Every label occurs. With `narrow`, codes may come in
    narrower integers.
    """
    codes, labels, gaps = arrow_codes(array, missing, narrow=narrow)
    return codes, labels.to_pylist(), gaps


def arrow_codes(
    array: pa.ChunkedArray, missing: Sequence[str], *, narrow: bool = False
) -> tuple[Codes, pa.Array, bool]:
    """Return the same with the texts as Arrow has them, for where there is one for each row."""
    placed = Placed.of(array, narrow=narrow)
    tally = placed.tally
    kept = ~tally.is_marker(missing)
    labels = tally.texts.filter(as_arrow(kept))
    code_of = np.full(kept.size + 1, len(labels), dtype=np.int32)
    code_of[:-1][kept] = np.arange(len(labels), dtype=np.int32)
    return placed.coded(code_of), labels, bool(tally.absent or not kept.all())


def unify(dictionaries: Sequence[pa.Array]) -> tuple[pa.Array, list[NDArray[np.int32]]]:
    """Return one dictionary for many, and for each of them where its entries are in it."""
    plain = [dictionary.cast(value_type(dictionary.type)) for dictionary in dictionaries]
    if not plain:
        return pa.array([], pa.string()), []
    if len({memory_of(dictionary) for dictionary in plain}) == 1:
        return plain[0], [np.arange(len(plain[0]), dtype=np.int32)] * len(plain)
    if any(dictionary.null_count for dictionary in plain):
        whole = pa.chunked_array(plain).dictionary_encode().combine_chunks()
        code_of = as_numpy(pc.fill_null(whole.indices, len(whole.dictionary)))
        ends = np.cumsum([len(dictionary) for dictionary in plain])
        return pa.concat_arrays([whole.dictionary, pa.nulls(1, whole.dictionary.type)]), np.split(code_of, ends[:-1])
    chunks = [
        pa.DictionaryArray.from_arrays(as_arrow(np.arange(len(dictionary), dtype=np.int32)), dictionary)
        for dictionary in plain
    ]
    shared = pa.chunked_array(chunks).unify_dictionaries()
    return shared.chunk(0).dictionary, [as_numpy(chunk.indices) for chunk in shared.chunks]


def memory_of(array: pa.Array) -> tuple[int, ...]:
    """Return where an array lies in memory."""
    return (array.offset, len(array), *(buffer.address if buffer else 0 for buffer in array.buffers()))


def entries_of(array: pa.ChunkedArray, *, narrow: bool = False) -> tuple[Codes, pa.Array]:
    """Return for each row its entry among the texts, one behind the last for null, and the texts.

    A text may stand there twice, or be null, or occur in no row. With `narrow`, entries may come in narrower integers.
    """
    indices, texts = _as_dictionary(array)
    if len(indices) == 1 and not indices[0][0].null_count:  # whose entries are those of the texts
        entries = as_numpy(indices[0][0])
        return entries.astype(entries.dtype if narrow and entries.dtype.kind == "i" else np.int32), texts
    rows = np.empty(len(array), dtype=np.int32)
    at = 0
    for chunk, entry_of in indices:
        with_null = np.append(entry_of, np.int32(len(texts)))
        filled = pc.fill_null(chunk.cast(pa.int32()), len(entry_of)) if chunk.null_count else chunk
        look_up(with_null, as_numpy(filled), rows[at : at + len(chunk)])
        at += len(chunk)
    return rows, texts


def _as_dictionary(array: pa.ChunkedArray) -> tuple[list[tuple[pa.Array, NDArray[np.int32]]], pa.Array]:
    """Return index chunks, each with the place of its indices in the texts, and the texts of all distinct values."""
    kind = array.type
    try:
        if isinstance(kind, pa.BaseExtensionType):
            if pa.types.is_integer(kind.storage_type):  # numbers that stand for something else, such as a month
                raise pa.ArrowInvalid
            array = pa.chunked_array([chunk.storage for chunk in array.chunks], kind.storage_type)
        if pa.types.is_null(array.type):
            array = array.cast(pa.string())
        if not pa.types.is_dictionary(array.type):
            try:
                array = array.dictionary_encode()
            except pa.ArrowNotImplementedError:
                array = array.cast(pa.string()).dictionary_encode()
        dictionary, code_of = unify([chunk.dictionary for chunk in array.chunks])
        _refuse_far_days(dictionary)
        durations = pa.types.is_duration(dictionary.type)
        texts = seconds_of(dictionary) if durations else dictionary.cast(pa.string())
        if pa.types.is_floating(dictionary.type):
            texts = pc.if_else(pc.is_nan(dictionary), pa.scalar(None, pa.string()), texts)
    except pa.ArrowException:
        raise DataError(
            f"Values of type {kind} cannot be coded.\nConvert them to text, numbers, dates or lists of these."
        ) from None
    return list(zip([chunk.indices for chunk in array.chunks], code_of, strict=True)), texts


def _refuse_far_days(values: pa.Array | pa.ChunkedArray) -> None:
    if has_far_days(values):
        raise DataError(
            "it holds days before the year 1 or after 9999, such as the infinity of a database.\n"
            "Make them missing, or convert the column to text."
        )


def occurring(codes: Codes, size: int) -> NDArray[np.bool_]:
    """Return which of the codes 0 to size - 1 occur."""
    occurs = np.zeros(size, dtype=np.bool_)
    for start in range(0, codes.size, STEP):
        occurs[codes[start : start + STEP]] = True
    return occurs


def look_up(new_code: NDArray[np.int32], places: NDArray[Any], found: Codes) -> None:
    """Put new_code[places] into `found`, which may be `places` itself; numpy alone would widen all places first."""
    for start in range(0, places.size, STEP):
        found[start : start + STEP] = new_code.take(places[start : start + STEP])


def carry(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that is only carried along, text as dictionary.

    The dictionary is in the order of its text, not of the rows, and holds no text that does not occur.
    """
    if not is_text(value_type(array.type)):
        _refuse_far_days(array)
        plain = _without_dictionaries(array.type)
        return array if plain == array.type else pa.chunked_array([_decoded(chunk) for chunk in array.chunks], plain)
    placed = Placed.of(array)
    texts = placed.tally.texts
    order = as_numpy(pc.sort_indices(texts))
    rank = np.full(len(texts) + 1, -1, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    codes = placed.coded(rank)
    absent = codes < 0
    codes[absent] = 0
    dictionary = texts.take(as_arrow(order))
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(as_arrow(codes, absent if absent.any() else None), dictionary)]
    )


def _without_dictionaries(kind: pa.DataType) -> pa.DataType:
    """Return a type in which values stand where they are, so that none travels that no row shows."""
    if pa.types.is_dictionary(kind):
        return value_type(kind)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_dictionaries(field.type)) for field in kind])
    if is_list(kind) and (inner := _without_dictionaries(kind.value_type)) != kind.value_type:
        return pa.large_list(inner)
    return kind


def _decoded(array: pa.Array) -> pa.Array:
    """Return an array of that type."""
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [_decoded(field) for field in array.flatten()]
        plain = list(_without_dictionaries(kind))
        return pa.StructArray.from_arrays(fields, fields=plain, mask=array.is_null() if array.null_count else None)
    if is_list(kind) and _without_dictionaries(kind.value_type) != kind.value_type:
        start = starts_of(as_numpy(pc.fill_null(pc.list_value_length(array), 0)))
        absent = array.is_null() if array.null_count else None
        return pa.LargeListArray.from_arrays(as_arrow(start), _decoded(array.flatten()), mask=absent)
    return array.cast(value_type(kind)) if pa.types.is_dictionary(kind) else array
