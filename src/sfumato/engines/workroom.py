"""The private folder in which a table lies in parts while work is done on them: rows in codes, and what was decided.

A file appears as a whole or not at all. Tables are Arrow files with one batch, or with one for each place that rows go
to, so that whoever waits there reads nothing else.
"""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as pa_ipc
from numpy.typing import NDArray

from sfumato.data.dataset import as_arrow
from sfumato.data.kinds import is_list, value_type


def keep(path: Path, content: Any) -> None:
    """Put something into a file that only its owner reads."""
    _whole(path, lambda file: file.write(pickle.dumps(content)))


@lru_cache(maxsize=8)
def kept(path: Path) -> Any:
    """Return what was put into a file; a process loads it once."""
    return pickle.loads(path.read_bytes())


def _whole(path: Path, write: Callable[[Any], Any]) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        write(file)
    temporary.replace(path)


def put(path: Path, tables: Sequence[pa.Table]) -> None:
    """Write tables with the same columns into one file, each as a batch of its own."""

    def write(file: Any) -> None:
        with pa_ipc.new_file(file, tables[0].schema, options=pa_ipc.IpcWriteOptions(compression="zstd")) as writer:
            for table in tables:
                whole = table.combine_chunks().to_batches()
                writer.write_batch(whole[0] if whole else pa.RecordBatch.from_pylist([], schema=table.schema))

    _whole(path, write)


def got(path: Path, number: int = 0) -> pa.Table:
    """Return one of the tables in a file."""
    with pa.OSFile(os.fsencode(path), "rb") as file:
        return pa.Table.from_batches([pa_ipc.open_file(file).get_batch(number)])


def sent(path: Path, table: pa.Table, place_of: NDArray[np.integer[Any]], places: int) -> None:
    """Write the rows of a table by where they go, in their order: (n,) numbers below `places`."""
    order = np.argsort(place_of, kind="stable")
    ends = np.searchsorted(place_of[order], np.arange(places + 1))
    sorted_table = table.take(as_arrow(order))
    put(path, [sorted_table.slice(first, last - first) for first, last in pairwise(ends)])


def arrived(folder: Path, names: Iterable[str], place: int) -> pa.Table:
    """Return the rows that went to a place, from all parts."""
    return pa.concat_tables([got(folder / name, place) for name in names]).combine_chunks()


def plain(array: pa.ChunkedArray) -> pa.Array:
    """Return an array without a dictionary, also in lists, in one piece."""
    whole = array.cast(value_type(array.type)) if pa.types.is_dictionary(array.type) else array
    if is_list(whole.type) and pa.types.is_dictionary(whole.type.value_type):
        whole = whole.cast(pa.large_list(value_type(whole.type.value_type)))
    found = whole.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)
