"""What databases refuse, in words of our own: what drivers say shows passwords, addresses and cells."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias, TypeVar

import pyarrow as pa

from sfumato.data.files.databases.base import Refused
from sfumato.errors import DataError

# States of our own, for what happens before there is a database to give one.
NO_ANSWER, BAD_ADDRESS, UNKNOWN_HOST, NOT_A_DATABASE, IN_USE = "XTIME", "XADDR", "XHOST", "XFILE", "XBUSY"
NOT_COPIED, NOT_UTF8 = "XCOPY", "XUTF8"
BROKEN_OFF = "22000"  # in the middle of a stream
SECONDS = 10.0  # that connecting may take

_StateOf: TypeAlias = Callable[[Exception], str]

_Made = TypeVar("_Made")
_ASK = "Ask who runs the database"
_WORDS: dict[str, tuple[str, str]] = {  # what was found and what to do, by state or by its class
    NO_ANSWER: (f"it gave no answer within {SECONDS:.0f} seconds", "See that the server runs and can be reached"),
    BAD_ADDRESS: (
        "its address cannot be understood",
        "Give it again with `sfumato connections add`; characters such as @ : / % in a password are written as %40 "
        "%3A %2F %25",
    ),
    UNKNOWN_HOST: ("there is no host of the name in its address", "Correct the address with `sfumato connections add`"),
    NOT_A_DATABASE: ("it is no database, damaged or encrypted", "Name a file of SQLite or DuckDB that is whole"),
    IN_USE: ("somebody else has it open and does not end", "Try again when they are done"),
    NOT_COPIED: (
        "it holds something that cannot be copied, and a new file is written so that nothing old stays readable in it",
        "Name a file of its own for the release",
    ),
    NOT_UTF8: (
        "the name of a column or a table in it is not UTF-8 text",
        "Rename that column or table in the database, or export the table to a CSV file in UTF-8",
    ),
    "08": ("there is no connection to it", "See that the server runs and can be reached"),
    "0A": (
        "it does not do that inside of a query that only reads, or knows no such names",
        "Write a query that only selects; a table is named as schema.table",
    ),
    BROKEN_OFF: (
        "it broke its answer off: a cell does not fit the type that the query makes of it, or a function fails",
        "Correct the query, or select such columns as text",
    ),
    "22021": (
        "a cell or a name in it is not UTF-8 text",
        "Correct the text in the database, or export the table to a CSV file in UTF-8",
    ),
    "22": (
        "a cell does not fit the type that the query makes of it",
        "Correct the query, or select such columns as text",
    ),
    "23": ("a rule of the table forbids it", "Let the release have a table of its own"),
    "25006": ("it would write, and only reading is allowed here", "Write a query that only selects"),
    "28": ("it refuses the login", "Check user and password: `sfumato connections add` takes them again"),
    "2BP01": ("other things in the database are built on that table", "Drop these first, or name another table"),
    "3D": ("there is no such database on the server", "Correct the address with `sfumato connections add`"),
    "3F": ("there is no such schema", "Correct the name of the table, or make the schema first"),
    "40": ("somebody else works at it", "Try again when they are done"),
    "42501": ("there is no right to do that", f"{_ASK} for the right, or name another table"),
    "42601": ("it is no query that it understands", "Correct it: one `select`, without others behind it"),
    "42703": ("there is no such column", "Correct the names of columns in the query"),
    "42809": (
        "what has that name is no table but something else, such as a view",
        "Name another table, or drop it first",
    ),
    "42P01": ("there is no such table", "Correct its name, with its schema before it: schema.table"),
    "42P07": (
        "there is something of that name already",
        'Name another table, or write [release] if_exists = "replace"',
    ),
    "42S02": ("there is no such table", "Correct its name, with its schema before it: schema.table"),
    "42": ("it does not understand that", "Correct the names of the table and of columns, or the query"),
    "53": ("it has no room or memory left", _ASK),
    "55": ("somebody else works at it", "Try again when they are done"),
    "57": ("it was stopped, or took longer than the server allows", _ASK),
    "58": ("its disk fails", _ASK),
}


def refusal(asked: str, path: Path, refused: Refused) -> DataError:
    """Return the error for what a database refused; `asked` is what was to be done with it."""
    state = refused.sqlstate
    unknown = f"it refuses that (SQLSTATE {state})" if state.isalnum() else "it refuses that"
    found, todo = _WORDS.get(state) or _WORDS.get(state[:2]) or (unknown, _ASK)
    return DataError(f"{asked} {path}, but {found}.\n{todo}.")


@contextmanager
def telling(driver: str, state_of: _StateOf, in_stream: _StateOf = lambda _: BROKEN_OFF) -> Iterator[None]:
    """Turn what a driver, by the name of its library, says into a state."""
    try:
        yield
    except Refused:
        raise
    except (OSError, pa.ArrowException) as error:
        raise Refused(in_stream(error)) from None
    except Exception as error:
        if not type(error).__module__.lstrip("_").startswith(driver):
            raise
        raise Refused(state_of(error)) from None


def each_of(
    batches: Iterator[pa.RecordBatch], telling: Callable[[], AbstractContextManager[None]]
) -> Iterator[pa.RecordBatch]:
    """Yield batches as they come, with what a driver says meanwhile turned into a state."""
    while True:
        with telling():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def within(seconds: float, connect: Callable[[], _Made]) -> _Made:
    """Return what is made, or give up after a while: some drivers wait for ever for an answer."""
    made: list[_Made] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            made.append(connect())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not made:
        raise Refused(NO_ANSWER)
    return made[0]
