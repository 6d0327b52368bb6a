"""Transaction files: one record a line, its items with one separator between; no header."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.dataset import as_arrow, as_numpy, starts_of
from sfumato.data.files import text
from sfumato.data.files.columns import TextLists
from sfumato.data.files.csv import SEPARATORS
from sfumato.data.files.source import Reading, Source, kept_names
from sfumato.data.files.text import BOM, encoding_of, not_utf8, opened, whole_lines
from sfumato.errors import DataError

ITEMS = "items"  # the only column of a transaction file
_LOOKED_AT, _TOLD = 100, 3  # lines that show whether a file is a table, at most and at least


def read_transactions(asked: Reading) -> pa.Table:
    """Return one column of lists, a list for each line."""
    path = asked.path
    kept_names([ITEMS], asked.drop, path)
    items = TextLists()
    rows = 0
    with opened(path, asked.digest, str(encoding_of(asked.source).value)) as stream:
        head = stream.head(text.HEAD)
        if head.startswith(BOM):
            stream.skip(len(BOM))
            head = head[len(BOM) :]
        if not head:
            raise DataError(f"{path} is empty.\nA transaction file needs at least one record, one a line.")
        _question_a_table(asked.source, head)
        cut = _ItemCutter(asked.source, head)
        for block in whole_lines(stream):
            try:
                records = cut(block)
            except UnicodeDecodeError:
                raise not_utf8(path) from None
            items.add(records)
            rows += len(records)
            stream.tell_progress(asked.stage)
            if asked.is_enough(rows):
                break
    return pa.Table.from_arrays([items.finish()], names=[ITEMS])


def _question_a_table(source: Source, head: bytes) -> None:
    """Raise where nobody says what a file is, and its first lines look like rows of a table: as many cells in each."""
    lines = [line for line in head.splitlines()[:_LOOKED_AT] if line.strip()]
    counts = [{line.count(separator.encode()) for line in lines} for separator in SEPARATORS]
    even = any(len(each) == 1 and 0 not in each for each in counts)
    if source.format is None and source.separator is None and len(lines) >= _TOLD and even:
        raise DataError(
            f"{source.path} would be read as transactions by its name, but each of its first lines has as many cells "
            'as the others, as in a table.\nSay which it is: [source] format = "csv" or "transactions" (for `sfumato '
            "init`: --format)."
        )


class _ItemCutter:
    """Cuts blocks of lines into items, all of a block at once."""

    def __init__(self, source: Source, head: bytes) -> None:
        self.path = source.path
        self.guessed = source.separator is None
        given = source.separator
        if given is None:
            given = "\t" if b"\t" in head and b" " not in head else " "
        if not given or "\n" in given or "\r" in given:
            raise DataError(
                f"{self.path} was to be read with separator {given!r} between items.\n"
                "Give what stands between two items of a line, such as a blank."
            )
        self.separator = given.encode()
        self.trim = bool(given.strip())  # blanks around a visible separator belong to nobody

    def __call__(self, block: bytes) -> pa.ListArray:
        """Return the items of each line."""
        self._refuse_mixed_blanks(block)
        separator = self.separator
        if len(separator) > 1:  # zero bytes do not occur: one of them may stand for several
            block, separator = block.replace(separator, b"\0"), b"\0"
        characters = np.frombuffer(block, dtype=np.uint8)
        is_end = characters == ord("\n")
        is_cut = is_end | (characters == separator[0])
        cut = np.flatnonzero(is_cut)
        # Item i lies before cut i. Without the cuts themselves the items stand side by side, as Arrow holds text.
        offsets = np.zeros(cut.size + 1, dtype=np.int32)
        offsets[1:] = cut - np.arange(cut.size)
        items = pa.StringArray.from_buffers(
            cut.size, pa.py_buffer(offsets), pa.py_buffer(characters[~is_cut])
        ).dictionary_encode()
        texts = items.dictionary
        if self.trim:
            _validate(texts)
            texts = pc.utf8_trim_whitespace(texts)
        _validate(texts)
        codes = as_numpy(items.indices)
        filled = as_numpy(pc.not_equal(texts, ""))[codes]
        line_of = np.cumsum(is_end[cut]) - is_end[cut]
        start = starts_of(np.bincount(line_of[filled], minlength=int(is_end.sum()))).astype(np.int32)
        return pa.ListArray.from_arrays(as_arrow(start), pa.DictionaryArray.from_arrays(as_arrow(codes[filled]), texts))

    def _refuse_mixed_blanks(self, block: bytes) -> None:
        other = {b" ": b"\t", b"\t": b" "}.get(self.separator)
        if other is None or other not in block or (other == b" " and not self.guessed):
            return
        raise DataError(
            f"{self.path} has both blanks and tabs, so it is not clear what stands between two items.\n"
            "Use one of them throughout, or give the separator in the plan."
        )


def _validate(texts: pa.StringArray) -> None:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise UnicodeDecodeError("utf-8", b"", 0, 0, "not UTF-8") from None
