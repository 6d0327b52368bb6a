"""Files for tests: written in a line, and refused without a cell in the message."""

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

from sfumato.data.files import Source, read_table
from sfumato.errors import DataError

SECRET = "Xylophonist"  # stands in cells; must never stand in a message


def zstd(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)


def write(folder: Path, name: str, content: str | bytes) -> Source:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Source(path)


def cells(table: pa.Table) -> dict[str, list[object]]:
    return {name: table.column(name).to_pylist() for name in table.column_names}


def refusal(source: Source, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_table(source, **options)
    message = str(caught.value)
    assert SECRET not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "\n" in message, "a message says what was found and what to do"
    return message


class Watcher:
    """Counts what work says of its progress."""

    def __init__(self) -> None:
        self.total: float | None = None
        self.steps = 0.0
        self.finished = False

    def stage(self, name: str, total: float | None = None) -> "Watcher":
        self.total = total
        return self

    def advance(self, steps: float = 1) -> None:
        self.steps += steps

    def done(self) -> None:
        self.finished = True


def arrow_stream(table: pa.Table, path: Path) -> None:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def arrow_file(table: pa.Table, path: Path) -> None:
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
