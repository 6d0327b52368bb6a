"""Files for tests: written in a line, and refused without a cell in the message."""

import subprocess
import sys
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


_READS_MUTANTS = """
import random, sys
from contextlib import suppress
from pathlib import Path
from sfumato.data.encoding import encode
from sfumato.data.files import Source, read_table
from sfumato.data.schema import Role, Schema
from sfumato.errors import DataError

whole, refused = Path(sys.argv[1]), 0
body = whole.read_bytes()
with suppress(ImportError):
    import resource  # whoever believes a damaged number of rows wants more
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
for seed in range(int(sys.argv[2])):
    random.seed(seed)
    bits = bytearray(body)
    if seed % 5 == 4:
        place = random.randrange(len(bits))
        bits[place : place + 4] = random.choice([bytes(4), b"\\xff" * 4, b"    "])
    else:
        for _ in range(random.randint(1, 12)):
            bits[random.randrange(len(bits))] ^= 1 << random.randrange(8)
    mutant = whole.with_name("mutant" + whole.suffix)
    mutant.write_bytes(bytes(bits))
    try:
        encode(read_table(Source(mutant, header=True)), Schema(rest=Role.OTHER if seed % 2 else Role.SENSITIVE))
    except DataError:
        refused += 1
print(refused)
"""


def mutants_refused(path: Path, count: int) -> int:
    """Return how many of so many damaged copies of a file are refused in words; others are read.

    In a process of its own: damaged bytes that are taken for sound ones are a segmentation fault.
    """
    command = [sys.executable, "-c", _READS_MUTANTS, str(path), str(count)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return int(done.stdout)
