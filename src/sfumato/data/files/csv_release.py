"""Releases as CSV files: as programs read them everywhere, or in the dialect of the source.

A cell is quoted where it has to be: separators, quotes, line breaks, blanks at either end, and the empty text where it
is a value. What is missing shows as the marker, by default nothing at all. Ranges and dates are spelled in one way
whatever the dialect, and so is a number in a column that has ranges, so that a release is read in one way.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.dataset import CodedSets, as_arrow
from sfumato.data.files.source import COMMA, ISO, POINT, Found, Source
from sfumato.data.files.text import UTF_8
from sfumato.data.kinds import MARKERS, MARKERS_AMONG_NUMBERS, is_list, is_text, value_type
from sfumato.data.release import Release, ReleasedColumn, members_of, n_members
from sfumato.data.schema import Kind
from sfumato.errors import DataError

_SPECIAL = frozenset('"\r\n')
_ROWS = 1 << 16  # written at once
_MEMBERS = 1 << 22  # of sets, written at once
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)

_CellMaker: TypeAlias = Callable[[int, int], pa.Array]  # rows first to last, as large_string


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written, where that is not told by its format."""

    separator: str = ","
    encoding: str = UTF_8
    decimal: str = POINT

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Dialect:
        """Return the dialect that release.json tells; the usual one where it tells none."""
        return cls(**{key: str(value) for key, value in dict(description.get("dialect", {})).items()})

    @classmethod
    def found(cls, reading: tuple[Found, ...]) -> Dialect:
        """Return the dialect of a source, by how it is written."""
        told = {found.key: str(found.value) for found in reading}
        return cls(**{key: told[key] for key in ("separator", "encoding", "decimal") if key in told})

    def as_dict(self) -> dict[str, str]:
        """Return it as release.json has it."""
        return asdict(self)

    def read(self, source: Source) -> Source:
        """Return how to read a file that was written so; others tell themselves."""
        if source.path.suffix != ".csv":
            return source.as_spelled
        source = replace(source.as_spelled, separator=self.separator, encoding=self.encoding)
        return source if self.decimal == POINT else replace(source, verbatim=False, decimal=self.decimal, dates=ISO)


def write_csv(release: Release, path: Path, missing: str) -> Iterator[int]:
    """Write a CSV file in the dialect that the release tells, and yield the rows of each part."""
    dialect = Dialect.of(release.description)
    alone = len(release.order) == 1
    makers = [
        _cell_maker(release, name, missing, dialect, alone=alone, end="\n" if name == release.order[-1] else "")
        for name in release.order
    ]
    step = rows_at_once(release, _ROWS)
    encoder = codecs.getincrementalencoder(dialect.encoding)()
    header = dialect.separator.join(quoted(name, dialect.separator) for name in release.order) + "\n"
    with path.open("wb", buffering=0) as file:
        _write_all(file, _encoded(header.encode(), dialect, encoder))
        for first in range(0, release.total, step):
            last = min(first + step, release.total)
            cells = [make(first, last) for make in makers]
            lines = pc.binary_join_element_wise(*cells, _text(dialect.separator)) if len(cells) > 1 else cells[0]
            # Each line ends with its own line break, so the text of all lines is what the file shall hold.
            _write_all(file, _encoded(_text_of(lines), dialect, encoder))
            yield last - first


def _encoded(content: bytes | memoryview, dialect: Dialect, encoder: codecs.IncrementalEncoder) -> bytes | memoryview:
    """Return UTF-8 in the encoding of a dialect."""
    if dialect.encoding == UTF_8:
        return content
    try:
        return encoder.encode(str(content, "utf-8"))
    except UnicodeEncodeError:
        raise DataError(
            f"The release was to be written as {dialect.encoding}, as the source is, but it has labels with other "
            'characters.\nSpell hierarchies in that encoding, or write [release] dialect = "plain".'
        ) from None


def _write_all(file: Any, content: Any) -> None:
    """Write every byte: the system may take fewer than it was given."""
    view = memoryview(content)
    while view.nbytes:
        view = view[file.write(view) :]


def _text_of(array: pa.Array) -> memoryview:
    """Return the bytes of all texts of an array, one behind the other."""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    content = array.buffers()[2]
    return memoryview(content if content is not None else b"")[int(offsets[0]) : int(offsets[-1])]


def quoted(text: str, separator: str = ",") -> str:
    """Return a cell as CSV shows it, in quotes where it has to be.

    >>> quoted("a b"), quoted("[20, 29]"), quoted("")
    ('a b', '"[20, 29]"', '""')
    """
    plain = text and separator not in text and _SPECIAL.isdisjoint(text)
    if plain and not text[0].isspace() and not text[-1].isspace():
        return text
    return '"' + text.replace('"', '""') + '"'


def _cell_maker(release: Release, name: str, missing: str, dialect: Dialect, *, alone: bool, end: str) -> _CellMaker:
    """Return what makes the cells of a column as CSV shows them, each with `end` behind it."""
    separator = dialect.separator
    nothing = (quoted(missing, separator) if missing or alone else "") + end
    column = release.columns.get(name)
    if isinstance(column, ReleasedColumn):
        cells = [quoted(label, separator) + end for label in _spelled(column, dialect)]
        if column.missing >= 0:
            cells[column.missing] = nothing
        texts, single = pa.array(cells, pa.large_string()), column
        return lambda first, last: texts.take(as_arrow(release.codes_of(single, first, last)))
    if isinstance(column, CodedSets):
        return _set_maker(column, dialect, '""' if alone else "", end)
    assert release.carried is not None
    return _carried_maker(release.carried.column(name), name, nothing, end, separator)


def _spelled(column: ReleasedColumn, dialect: Dialect) -> list[str]:
    """Return the labels of a column; numbers with the mark of the dialect, where it has no ranges.

    What is withheld or missing does not count: whoever reads numbers leaves it aside as well.
    """
    labels = list(column.labels)
    if dialect.decimal == POINT or column.kind is not Kind.NUMBER:
        return labels
    aside = {*MARKERS, *MARKERS_AMONG_NUMBERS, *([labels[column.missing]] if column.missing >= 0 else [])}
    if not all(_NUMBER.fullmatch(label) for label in labels if label not in aside):
        return labels
    return [label if label in aside else label.replace(POINT, COMMA) for label in labels]


def _set_maker(column: CodedSets, dialect: Dialect, empty: str, end: str) -> _CellMaker:
    separator = column.separator
    if mixed := sum(separator in label for label in column.labels):
        raise DataError(
            f"Column {column.name!r} has {mixed:,} member(s) that contain {separator!r}, which separates members in a "
            'CSV cell.\nGive the column another separator, or write [release] format = "parquet".'
        )
    labels = pa.array(column.labels, pa.large_string())
    plain = all(quoted(label, dialect.separator) == label for label in column.labels)
    plain = plain and _SPECIAL.isdisjoint(separator) and dialect.separator not in separator

    def make(first: int, last: int) -> pa.Array:
        start, items = members_of(column, first, last)
        members = labels.take(as_arrow(items))
        cells = pc.binary_join(pa.LargeListArray.from_arrays(as_arrow(start), members), _text(separator))
        if not plain:
            cells = _quoted_cells(cells, dialect.separator)
        if empty:
            cells = pc.if_else(as_arrow(np.diff(start) > 0), cells, _text(empty))
        return _with_end(cells, end)

    return make


def _carried_maker(array: pa.ChunkedArray, name: str, nothing: str, end: str, separator: str) -> _CellMaker:
    if pa.types.is_dictionary(array.type) and array.num_chunks == 1:
        chunk = array.chunk(0)
        cells = [quoted(text, separator) + end for text in chunk.dictionary.to_pylist()]
        texts = pa.array([*cells, nothing], pa.large_string())
        return lambda first, last: texts.take(pc.fill_null(chunk.indices[first:last], len(cells)))

    def make(first: int, last: int) -> pa.Array:
        part = array.slice(first, last - first).combine_chunks()
        try:
            if is_list(part.type):
                texts = pc.binary_join(part.cast(pa.large_list(pa.large_string())), _text("|"))
            else:
                texts = part.cast(pa.large_string())
        except pa.ArrowException:
            raise DataError(
                f"Column {name!r} holds values of type {array.type}, which CSV cannot show.\n"
                'Drop the column, or write [release] format = "parquet".'
            ) from None
        if is_list(part.type) or is_text(value_type(part.type)) or pa.types.is_binary(part.type):
            texts = _quoted_cells(texts, separator)
        return pc.fill_null(_with_end(texts, end), _text(nothing))

    return make


def _quoted_cells(cells: pa.Array, separator: str) -> pa.Array:
    nothing, quote = _text(""), _text('"')
    wrapped = pc.binary_join_element_wise(nothing, pc.replace_substring(cells, '"', '""'), nothing, quote)
    inside = separator if separator.isspace() else re.escape(separator)
    return pc.if_else(pc.match_substring_regex(cells, rf'["\r\n{inside}]|^\s|\s$'), wrapped, cells)


def _with_end(cells: pa.Array, end: str) -> pa.Array:
    return pc.binary_join_element_wise(cells, _text(""), _text(end)) if end else cells


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def rows_at_once(release: Release, most: int) -> int:
    """Return how many rows to write at once, fewer where sets are large."""
    members = sum(n_members(column) for column in release.columns.values() if isinstance(column, CodedSets))
    return max(1, min(most, int(_MEMBERS * release.n_rows / members))) if members else most
