"""What the commands say: to whom, in which form, and what happens when nobody can hear it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from sfumato.progress import Progress

INTERRUPTED = 130  # the exit code of a command that was stopped, as shells have it
TABLE_WIDTH = 80  # columns of a terminal below which tables are set as lists

_WRITTEN: list[str] = []  # what this command has left behind for good


def wrote(path: Path) -> None:
    """Note that something is there to stay: whatever happens later does not undo it."""
    _WRITTEN.append(str(path))


def written() -> str:
    """Return a sentence about what is there to stay."""
    return f"{', '.join(_WRITTEN)} was written." if _WRITTEN else "Nothing was written."


def leave(exit_code: int) -> NoReturn:
    """End the process at once: threads of libraries that are still about at an ordinary end may abort it instead."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(exit_code)


@contextmanager
def telling(exit_code: int = 0) -> Iterator[None]:
    """Say what became of a command that is done, and end with its exit code even if nobody can hear.

    A closed pipe, a full disk below standard output or a closed terminal does not undo what was done.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError:
        leave(exit_code)
    except SystemExit:  # rich's answer to a closed pipe
        leave(exit_code)


def fail(message: str, exit_code: int, as_json: bool) -> NoReturn:
    """Say what went wrong, as JSON too where that was asked for, and end."""
    with telling(exit_code):
        if as_json:
            print_json({"error": message, "exit_code": exit_code}, indent=None)
        stderr().print(f"sfumato: {message}", markup=False, highlight=False, soft_wrap=True, style="red")
    leave(exit_code)


def stderr() -> Console:
    """Where progress, notes and errors go."""
    return Console(stderr=True)


def stdout() -> Console:
    """Where answers go."""
    return Console()


def say(text: str, style: str | None = None) -> None:
    """Print a line of the answer, to the letter."""
    stdout().print(text, style=style, markup=False, highlight=False)


def warn(warnings: Sequence[str], word: str = "Warning") -> None:
    """Print what deserves a second look beside the answer."""
    for warning in warnings:
        stderr().print(f"{word}: {warning}", style="yellow", markup=False, highlight=False)


def print_json(content: Mapping[str, Any], indent: int | None = 1) -> None:
    """Print one JSON object; where the stream is not UTF-8 with escapes, which read back the same."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(content, indent=indent, ensure_ascii=not unicode))  # noqa: T201


@contextmanager
def watching() -> Iterator[Progress]:
    """Show bars for what takes over a second, and say when loops are compiled for the first time."""
    from sfumato.bars import Bars
    from sfumato.compiling import when_compiling

    console = stderr()

    def tell() -> None:
        console.print("Compiling the inner loops: once, some seconds; later runs load them from disk.", style="dim")

    with Bars(console) as bars, when_compiling(tell):
        yield bars


def show_columns(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show columns of the data side by side where there is room, else one below the other: nothing is cut off."""
    if console.width < TABLE_WIDTH:
        for name, role, kind, words in rows:
            about = f"{role}, {kind}" if kind else role
            console.print(f"{name}: {about}", markup=False, highlight=False)
            console.print(Padding(Text(words), (0, 0, 0, 4)))
        return
    table = Table(box=None, pad_edge=False)
    for word in head:
        table.add_column(word, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
