"""What the commands say: to whom, in which form, and what happens when nobody can hear it."""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from sfumato.progress import Lines, Progress

INTERRUPTED = 130  # the exit code of a command that was stopped, as shells have it
SHOWN = 30  # rows of a table that fit a screen
TABLE_WIDTH = 80  # columns of a terminal below which tables are set as lists

COMPILING = (
    "Compiling the inner loops of this search to machine code, which makes it fast: some seconds, once on this machine "
    "and after an update. Later runs load them from disk; `sfumato warm` compiles all ahead."
)

# Characters that steer a terminal or the direction of text, rather than to be read.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")

_FOLLOWED: list[Lines] = []  # files that say how the work goes on, and at last how it ended
_WRITTEN: dict[str, str] = {}  # what this command has left behind for good, and what can be said of it


def wrote(path: Path, about: str = "") -> None:
    """Note that something is there to stay: whatever happens later does not undo it."""
    _WRITTEN[str(path)] = f" {about}" if about else ""


def has_written() -> bool:
    """Whether something is there to stay."""
    return bool(_WRITTEN)


def written() -> str:
    """Return a sentence about what is there to stay."""
    if not _WRITTEN:
        return "Nothing was written."
    return f"{', '.join(_WRITTEN)} was written.{''.join(_WRITTEN.values())}"


def follow(path: Path | None) -> Path | None:
    """Write down in a file how the work goes on from now, however it ends."""
    from sfumato.progress import Lines

    if path is not None:
        _FOLLOWED.append(Lines(path))
    return path


def leave(exit_code: int) -> NoReturn:
    """End the process at once: threads of libraries that are still about at an ordinary end may abort it instead."""
    for lines in _FOLLOWED:
        lines.end(exit_code)
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


def legible(text: str) -> str:
    r"""Return text with what would steer a terminal written out: names of columns and files may hold anything.

    >>> print(legible("\x1b[31mcity"))
    \u001b[31mcity
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _Legible(Console):
    """A console on which only its own styles steer the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(legible(segment.text), segment.style)


def stderr() -> Console:
    """Where progress, notes and errors go."""
    return _Legible(stderr=True)


def stdout() -> Console:
    """Where answers go."""
    return _Legible()


def say(text: str, style: str | None = None) -> None:
    """Print a line of the answer, to the letter."""
    stdout().print(text, style=style, markup=False, highlight=False)


def reply(as_json: bool, content: Mapping[str, Any], words: str, exit_code: int = 0) -> None:
    """Say what became of a command that is done, in one of two forms."""
    with telling(exit_code):
        if as_json:
            print_json(content)
        else:
            say(words)


def warn(sentences: Sequence[str], word: str = "Warning") -> None:
    """Print what deserves a second look beside the answer."""
    for sentence in sentences:
        stderr().print(f"{word}: {sentence}", style="yellow", markup=False, highlight=False)


def print_json(content: Mapping[str, Any], indent: int | None = 1) -> None:
    """Print one JSON object; where the stream is not UTF-8 with escapes, which read back the same."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    print(legible(json.dumps(content, indent=indent, ensure_ascii=not unicode)))  # noqa: T201 - still the same JSON


def ask_for(name: str) -> str:
    """Return the address of a database that somebody types, unseen; nothing where there is no terminal."""
    if not sys.stdin.isatty():
        return ""
    return getpass.getpass(f"Address of the database {name} (postgresql://user:password@host/database; not shown): ")


@contextmanager
def watching() -> Iterator[Progress]:
    """Show bars, or write it down; say when loops are compiled, and ask for addresses nobody knows."""
    from sfumato.bars import Bars
    from sfumato.compiling import Loop, while_compiling
    from sfumato.data.files.databases.connections import asking
    from sfumato.errors import SfumatoWarning
    from sfumato.progress import Stage

    console = stderr()
    said = False
    stages: list[Stage] = []  # of loops under way: one calls the next

    def begun(loop: Loop) -> None:
        nonlocal said
        if not said:
            console.print(COMPILING, style="dim")
        said = True
        stages.append(listener.stage(f"compile {loop.name.rpartition('.')[2]}"))

    def done() -> None:
        stages.pop().done()

    with Bars(console) as bars, while_compiling(begun, done), asking(ask_for), warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)  # commands print these sentences themselves
        listener: Progress = _FOLLOWED[0] if _FOLLOWED else bars
        yield listener


def show_table(head: Iterable[str], rows: Iterable[Sequence[str]], size: int, others: str, below: str = "") -> None:
    """Show as many rows of a table as fit a screen, what is to be said below, and where the others of `size` are."""
    table = Table(*head, box=None, pad_edge=False)
    for row in islice(rows, SHOWN):
        table.add_row(*row)
    stdout().print(table, markup=False, highlight=False)
    if below:
        say(below)
    if size > SHOWN:
        say(f"and {size - SHOWN:,} more; {others}")


def indented(words: str) -> Padding:
    """Return text to be printed below what it is about, to the letter."""
    return Padding(Text(words), (0, 0, 0, 4))


def show_columns(console: Console, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show columns of the data side by side where there is room, else one below the other: nothing is cut off."""
    if console.width < TABLE_WIDTH:
        for name, role, kind, words in rows:
            about = f"{role}, {kind}" if kind else role
            console.print(f"{name}: {about}", markup=False, highlight=False)
            console.print(indented(words))
        return
    table = Table(box=None, pad_edge=False)
    for word in head:
        table.add_column(word, overflow="fold")
    for row in rows:
        table.add_row(*(Text(legible(cell)) for cell in row))  # before widths are measured
    console.print(table)
