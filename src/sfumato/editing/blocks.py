"""The text of a plan as blocks: what stands above the first header, then each header with what is below it.

tomlkit keeps what stands within one table to the letter, but counts a comment above a header to the table before it,
and puts new keys behind it. So tables are moved, added and taken away here, as pieces of text, and tomlkit changes keys
within one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from typing import Any, TypeAlias

import tomlkit
from tomlkit.items import Comment, Item

Place: TypeAlias = tuple[str | int, ...]  # ("columns", "age", "role"), ("require", 0, "k"): counted from 0

_HEADER = re.compile(r"[ \t]*\[")
# What a draft says of its own guesses, which is no longer true of what somebody has changed.
_GUESSES, _IF_WRONG = ("# guess:", "# found:"), "# if wrong:"


@dataclass(frozen=True)
class Block:
    """A header with the comments above it and the keys below; the first block of a text has no header."""

    place: Place  # of the table that it holds
    lead: str  # comments that stand right above the header
    header: str  # the line itself; "" for the first block
    body: str  # keys, comments and empty lines up to the next block

    @property
    def text(self) -> str:
        """The block as it stands in the file."""
        return f"{self.lead}{self.header}{self.body}"

    @property
    def values(self) -> dict[str, Any]:
        """What the block says of its own table."""
        return tomllib.loads(self.body)

    def with_value(self, keys: Place, value: Any) -> Block:
        """Return the block with one value of its own changed, or added behind the last one."""
        bare = self.body.rstrip()
        tail = self.body[len(bare) :].removeprefix("\n")
        document = tomlkit.parse(f"{bare}\n" if bare else "")
        inside: Any = document
        for key in keys[:-1]:
            inside = inside[key]
        if not isinstance(inside, Mapping) or keys[-1] in inside:
            _drop_guess(document, inside[keys[-1]])
        inside[keys[-1]] = tomlkit.value(spelled(value))
        return replace(self, body=tomlkit.dumps(document) + tail)

    def without(self, keys: Place) -> Block:
        """Return the block without one of its own values."""
        document = tomlkit.parse(self.body)
        inside: Any = document
        for key in keys[:-1]:
            inside = inside[key]
        _drop_guess(document, inside[keys[-1]])
        del inside[keys[-1]]
        return replace(self, body=tomlkit.dumps(document))

    def set_apart(self) -> Block:
        """Return the block with an empty line at its end: another one is to follow."""
        text = self.text
        if not text.strip() or text.endswith("\n\n"):
            return self
        return replace(self, body=f"{self.body}{'' if text.endswith(chr(10)) else chr(10)}\n")


def _drop_guess(document: tomlkit.TOMLDocument, old: Any) -> None:
    """Take away what a draft said of a value, here and in the line below it."""
    if not isinstance(old, Item) or not old.trivia.comment.startswith(_GUESSES):
        return
    old.trivia.comment_ws = old.trivia.comment = ""
    items = [item for _, item in document.body]
    behind = next((items[at + 1 : at + 2] for at, item in enumerate(items) if item is old), [])
    for item in behind:
        if isinstance(item, Comment) and item.trivia.comment.startswith(_IF_WRONG):
            item.trivia.indent = item.trivia.comment_ws = item.trivia.comment = item.trivia.trail = ""


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a TOML text; joined, they give it back to the letter."""
    pieces: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True):
        # A line that begins with a bracket is a header unless it goes on with a value that is not finished.
        if _HEADER.match(line) and _is_whole("".join(pieces[-1])):
            lead = _lead(pieces[-1])
            pieces[-1] = pieces[-1][: len(pieces[-1]) - len(lead)]
            pieces.append(lead)
        pieces[-1].append(line)
    counts: dict[Place, int] = {}
    return [Block((), "", "", "".join(pieces[0])), *(_block(lines, counts) for lines in pieces[1:])]


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _lead(lines: Sequence[str]) -> list[str]:
    """Return the comments at the end that are about what follows: no empty line in between, but one before them."""
    count = 0
    while count < len(lines) and lines[-1 - count].lstrip().startswith("#"):
        count += 1
    if not count or count == len(lines) or lines[-1 - count].strip():  # the first lines are about the file
        return []
    return list(lines[len(lines) - count :])


def _block(lines: Sequence[str], counts: dict[Place, int]) -> Block:
    at = next(number for number, line in enumerate(lines) if _HEADER.match(line))
    keys: Any = tomllib.loads(lines[at])
    place: Place = ()
    while keys:
        (key,) = keys
        place, keys = (*place, key), keys[key]
        if isinstance(keys, list):  # one more of several
            counts[place] = counts.get(place, -1) + 1
            place, keys = (*place, counts[place]), keys[0]
        elif keys and place in counts:  # about the last one of several
            place = (*place, counts[place])
    return Block(place, "".join(lines[:at]), lines[at], "".join(lines[at + 1 :]))


def new_block(place: Place, values: Mapping[str, Any]) -> Block:
    """Return the block of a new table; one that is counted is one more of several."""
    keys = tuple(key for key in place if isinstance(key, str))
    path = ".".join(tomlkit.key(key).as_string() for key in keys)
    header = f"[[{path}]]\n" if isinstance(place[-1], int) else f"[{path}]\n"
    lines = (f"{tomlkit.key(key).as_string()} = {spelled(value)}\n" for key, value in values.items())
    return Block(place, "", header, "".join(lines))


def spelled(value: Any) -> str:
    """Return a value as a plan spells it, on one line.

    >>> spelled({"widths": [5, 10]})
    '{ widths = [5, 10] }'
    """
    if isinstance(value, Mapping):
        inside = ", ".join(f"{tomlkit.key(str(key)).as_string()} = {spelled(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(spelled, value))}]"
    if isinstance(value, bool | int | float | str | date | time):
        return tomlkit.item(value).as_string()
    raise TypeError(type(value).__name__)


def renumbered(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with their places counted anew, once some were moved or taken away."""
    return blocks_of("".join(block.text for block in blocks))


def below(blocks: Sequence[Block], place: Place) -> Iterator[int]:
    """Yield the positions of the blocks that hold a table or a part of it."""
    for position, block in enumerate(blocks):
        if place and block.place[: len(place)] == place:
            yield position
