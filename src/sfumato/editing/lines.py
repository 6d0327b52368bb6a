"""Where in the text of a plan a place stands, so that a problem is shown beside its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.editing.blocks import Block, Place, blocks_of
from sfumato.editing.document import named
from sfumato.errors import Problem

_KEY = re.compile(r"""[ \t]*(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')[ \t]*[.=]""")
_TOLD = re.compile(r"\(at line (\d+), column \d+\)")


@dataclass(frozen=True)
class OnLine:
    """A problem with its line, counted from 1; None where it is about no line, such as something that is missing."""

    line: int | None
    text: str


def on_lines(text: str, problems: Iterable[Problem]) -> list[OnLine]:
    """Return problems with the lines of a text that they are about: those of the whole first, then down the text."""
    text = text.replace("\r\n", "\n")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # nothing has a place before it is TOML
        told = _TOLD.search(str(error))
        line = int(told[1]) if told else text.rstrip().count("\n") + 1
        return [OnLine(line, problem.text) for problem in problems]
    except (ValueError, RecursionError):
        return [OnLine(None, problem.text) for problem in problems]
    lines = _lines_of(text)
    found = [OnLine(_line_of(problem.place, lines), problem.text) for problem in problems]
    return sorted(found, key=lambda each: each.line or 0)


def _line_of(place: str, lines: Mapping[str, int]) -> int | None:
    """Return the line of a place, or of the nearest table that it would stand in."""
    while place not in lines:
        end = max(place.rfind("."), place.rfind("["))
        if end < 0:
            return None
        place = place[:end]
    return lines[place]


def _lines_of(text: str) -> dict[str, int]:
    """Return the line of every table and key, each by its place in the spelling of problems."""
    lines: dict[str, int] = {}
    above = 0
    for block in blocks_of(text):
        header = above + block.lead.count("\n") + 1
        for length in range(1, len(block.place) + 1):  # tables that have no header begin with what is in them
            lines.setdefault(named(block.place[:length]), header)
        first = header + bool(block.header)
        for offset, place in _keys_of(block):
            lines.setdefault(named(place), first + offset)
        above += block.text.count("\n")
    return lines


def _keys_of(block: Block) -> Iterator[tuple[int, Place]]:
    """Yield the places of a block's own values, with how many lines of its body stand above each."""
    start, pieces = 0, block.body.split("\n")
    for number in range(1, len(pieces) + 1):
        if number < len(pieces) and not _KEY.match(pieces[number]):
            continue
        try:
            said = tomllib.loads("\n".join(pieces[start:number]))
        except tomllib.TOMLDecodeError:  # within a value that goes on
            continue
        if said:
            blank = next(at for at in range(start, number) if _KEY.match(pieces[at]))
            yield from ((blank, place) for place in _places(said, block.place))
        start = number


def _places(value: Any, place: Place) -> Iterator[Place]:
    inside = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*place, key)
        yield from _places(each, (*place, key))
