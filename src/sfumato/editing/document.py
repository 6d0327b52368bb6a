"""A plan as a document: open it, change one thing by its place, keep everything else, and save it unless it changed."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from tomlkit.exceptions import TOMLKitError

from sfumato.data.schema import Schema
from sfumato.disk import atomic_file
from sfumato.editing.blocks import Block, Place, below, blocks_of, new_block, renumbered
from sfumato.errors import Conflict, EditError, PlanError, Problem
from sfumato.plan import Plan
from sfumato.plan.keys import TABLES
from sfumato.plan.writing import plain

_SEVERAL = ("require",)  # the place of tables that a plan writes one below the other


def named(place: Place) -> str:
    """Return a place in the spelling of problems, which count from 1.

    >>> named(("require", 1, "k"))
    'require[2].k'
    """
    text = ""
    for key in place:
        text += f"[{key + 1}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def problems(text: str, folder: Path) -> tuple[Problem, ...]:
    """Return what is wrong with the text of a plan, each with its place; nothing if it is a plan."""
    try:
        Plan.from_text(text, folder / "plan.toml").searchable()
    except PlanError as error:
        return error.problems
    return ()


class PlanDocument:
    """The text of a plan with what it says; edits change one thing and keep the comments of all others."""

    def __init__(self, text: str) -> None:
        self._crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
        self._blocks = blocks_of(text.replace("\r\n", "\n") if self._crlf else text)
        self._data = tomllib.loads(self.text)
        self.changes: list[str] = []  # what was edited, in words

    @classmethod
    def from_text(cls, text: str) -> PlanDocument:
        """Return a text as a document; it has to be TOML, not yet a plan without problems."""
        try:
            tomllib.loads(text)
        except (ValueError, RecursionError):
            found = problems(text, Path())
            raise PlanError(found) from None
        return cls(text)

    @classmethod
    def open(cls, path: Path) -> PlanDocument:
        """Return the document in a file."""
        try:
            return cls.from_text(path.read_bytes().decode("utf-8"))
        except (OSError, UnicodeDecodeError):
            Plan.load(path)  # which says what is wrong with it
            raise

    @property
    def text(self) -> str:
        """The text as it would be saved."""
        text = "".join(block.text for block in self._blocks)
        return text.replace("\n", "\r\n") if self._crlf else text

    def get(self, place: Place) -> Any:
        """Return what stands at a place as plain data; None if nothing does."""
        return _found(self._data, place)

    def plan(self, folder: Path) -> Plan:
        """Return the plan that the document describes, or raise with all its problems."""
        return Plan.from_text(self.text, folder / "plan.toml").searchable()

    # Edits.

    def set(self, place: Place, value: Any) -> None:
        """Put a value at a place: None takes it away, a table replaces what was there key by key."""
        if value is None:
            self.remove(place)
            return
        value = plain(value, named(place))
        before = self.get(place)
        if _same(before, value):
            return
        if not place or not all(_fits(_found(self._data, place[:n]), place[n]) for n in range(len(place))):
            raise _no_place(place)
        by_key = isinstance(value, Mapping) and isinstance(before, Mapping) and _home(self._blocks, place) is None
        blocks = self._table(place, before, value) if by_key else self._value(self._blocks, place, value)
        self._edit(blocks, place, _with(self._data, place, value))
        self.changes.append(_told(place, value))

    def remove(self, place: Place) -> None:
        """Take away what stands at a place, with all below it; nothing happens if nothing does."""
        if not place or self.get(place) is None:
            return
        expected = [_without(self._data, place)]
        for length in range(len(place) - 1, 0, -1):  # tables that are not written down go with what was in them
            if not _found(expected[-1], place[:length]):
                expected.append(_without(expected[-1], place[:length]))
        self._edit(self._without(self._blocks, place), place, *expected)
        self.changes.append(_told(place, None))

    def append(self, place: Place, table: Any) -> Place:
        """Add a table to those at a place, such as one more requirement, and return where it stands."""
        there = self.get(place)
        if there is not None and not isinstance(there, list):
            raise _no_place(place)
        where = (*place, len(there or ()))
        self.set(where, table)
        return where

    def move(self, place: Place, by: int) -> Place:
        """Move a requirement or a column so many places down (up, below zero) and return where it stands then."""
        siblings = self.get(place[:-1])
        if len(place) < 2 or self.get(place) is None or not isinstance(siblings, list | Mapping):
            raise _no_place(place)
        keys: list[Any] = list(range(len(siblings))) if isinstance(siblings, list) else list(siblings)
        at = keys.index(place[-1])
        to = min(max(at + by, 0), len(keys) - 1)
        if at == to:
            return place
        expected = _moved(siblings, at, to)
        own = set(below(self._blocks, place))
        moving = [block for position, block in enumerate(self._blocks) if position in own]
        rest = [block for position, block in enumerate(self._blocks) if position not in own]
        neighbour = [block for block in rest if block.place[: len(place)] == (*place[:-1], keys[to])]
        if not moving or not neighbour:  # written in one line
            blocks = self._value(self._blocks, place[:-1], expected)
        else:
            where = rest.index(neighbour[0]) if to < at else rest.index(neighbour[-1]) + 1
            order = [*rest[:where], *moving, *rest[where:]]
            was_last = self._blocks[-1]
            blocks = [*(each.set_apart() if each is was_last else each for each in order[:-1]), order[-1]]
        self._edit(blocks, place, _with(self._data, place[:-1], expected))
        where_now = (*place[:-1], to) if isinstance(siblings, list) else place
        self.changes.append(f"{_subject(place)} moved {'up' if to < at else 'down'}")
        return where_now

    def save(self, path: Path, expected: str | None) -> str:
        """Write the text in one step and return its digest; raise `Conflict` if the file is not what was opened.

        `expected` is the digest of then, None for a file that did not exist.
        """
        content = self.text.encode("utf-8")
        _refuse_changed(path, expected, self.text)
        with atomic_file(path) as temporary:
            temporary.write_bytes(content)
            _refuse_changed(path, expected, self.text)  # just before it takes the name
        return _digest(content)

    # How they are carried out.

    def _edit(self, blocks: list[Block], place: Place, *expected: dict[str, Any]) -> None:
        """Take over edited blocks if they say what was meant: a spelling that is not mastered shall not do harm."""
        try:
            blocks = renumbered(blocks)
            found = tomllib.loads("".join(block.text for block in blocks))
        except tomllib.TOMLDecodeError:
            found = None
        if found is None or not any(_same(found, each) for each in expected):
            raise _not_mastered(place)
        self._blocks, self._data = blocks, found

    def _value(self, blocks: list[Block], place: Place, value: Any) -> list[Block]:
        """Return the blocks with a value at a place, in the block that has it already, or that it belongs to."""
        if (home := _home(blocks, place)) is not None:
            position, inside = home
            return _changed(blocks, position, inside, value, place)
        cleared = _cleared(blocks, place)
        if _is_table(value) and (len(place) <= 2 or isinstance(place[-1], int)):
            return _placed(cleared, new_block(place, value))
        if isinstance(value, list) and value and place == _SEVERAL and all(map(_is_table, value)):
            for number, table in enumerate(value):
                cleared = _placed(cleared, new_block((*place, number), table))
            return cleared
        if at := [n for n, block in enumerate(cleared) if block.place == place[:-1]]:
            return _changed(cleared, at[0], place[-1:], value, place)
        if isinstance(place[-1], int):
            raise _no_place(place)
        return _placed(cleared, new_block(place[:-1], {place[-1]: value}))

    def _table(self, place: Place, before: Mapping[str, Any], value: Mapping[str, Any]) -> list[Block]:
        """Return the blocks with a table changed key by key, so that comments of keys that stay are kept."""
        if not value:
            return self._value(self._without(self._blocks, place), place, value)
        blocks = self._blocks
        for key in before:
            if key not in value:
                blocks = renumbered(self._without(blocks, (*place, key)))
        for key, each in value.items():
            if not _same(before.get(key), each):
                blocks = renumbered(self._value(blocks, (*place, key), each))
        return blocks

    def _without(self, blocks: list[Block], place: Place) -> list[Block]:
        if (home := _home(blocks, place)) is not None:
            position, inside = home
            blocks = _changed(blocks, position, inside, None, place)
        return _cleared(blocks, place)


def _cleared(blocks: list[Block], place: Place) -> list[Block]:
    """Return the blocks that do not stand at a place or below it."""
    gone = set(below(blocks, place))
    return [block for position, block in enumerate(blocks) if position not in gone]


def _home(blocks: list[Block], place: Place) -> tuple[int, Place] | None:
    """Return the block that holds a place among its own values, and the way to it within the block."""
    for position in reversed(range(len(blocks))):
        own = blocks[position].place
        if own == place[: len(own)] and len(own) < len(place) and place[len(own)] in blocks[position].values:
            return position, place[len(own) :]
    return None


def _changed(blocks: list[Block], position: int, inside: Place, value: Any, place: Place) -> list[Block]:
    """Return the blocks with one of them changed within; a value whose way does not exist yet is written whole."""
    block = blocks[position]
    try:
        if value is None:
            changed = block.without(inside)
        else:
            while len(inside) > 1 and not isinstance(_found(block.values, inside[:-1]), dict):
                above = _found(block.values, inside[:-1])
                value = _with({"": above if above is not None else {}}, ("", inside[-1]), value)[""]
                inside = inside[:-1]
            changed = block.with_value(inside, value)
    except (TOMLKitError, KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise _not_mastered(place) from None
    return [*blocks[:position], changed, *blocks[position + 1 :]]


def _placed(blocks: list[Block], block: Block) -> list[Block]:
    """Return the blocks with a new one: behind those that share most of its place, else in the order of a plan."""
    for length in range(len(block.place) - 1, 0, -1):
        beside = list(below(blocks, block.place[:length]))
        if beside:
            break
    else:
        order = list(TABLES)
        rank = {name: n for n, name in enumerate(order)}
        earlier = rank.get(str(block.place[0]), len(order))
        beside = [n for n, each in enumerate(blocks) if not each.place or rank.get(str(each.place[0]), -1) < earlier]
    at = beside[-1] + 1
    before = [*blocks[: at - 1], blocks[at - 1].set_apart()]
    return [*before, block.set_apart() if at < len(blocks) else block, *blocks[at:]]


def counted(document: PlanDocument | None) -> Schema:
    """Return who is counted, as far as promises go by it: people where the plan says whose each row is."""
    if document is None:
        return Schema()
    gathered = document.get(("gather",)) is not None
    numbered = not gathered and document.get(("release", "persons")) == "numbered"
    return Schema(person=document.get(("source", "person")) if numbered else None, gathered=gathered)


def _found(data: Any, place: Place) -> Any:
    for key in place:
        listed = isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data)
        if not listed and not (isinstance(data, Mapping) and key in data):
            return None
        data = data[key]
    return data


def _fits(data: Any, key: str | int) -> bool:
    """Whether something can stand under a key: a table has names, a list takes one more at its end."""
    if data is None:
        return isinstance(key, str) or key == 0
    if isinstance(data, list):
        return isinstance(key, int) and 0 <= key <= len(data)
    return isinstance(data, Mapping) and isinstance(key, str)


def _with(data: Any, place: Place, value: Any) -> Any:
    """Return plain data with another value at a place."""
    if not place:
        return value
    key, inside = place[0], _found(data, place[:1])
    if isinstance(key, int):
        items = list(data or ())
        return [*items[:key], _with(inside, place[1:], value), *items[key + 1 :]]
    return {**(data or {}), key: _with(inside, place[1:], value)}


def _without(data: Any, place: Place) -> Any:
    """Return plain data without what stands at a place."""
    key = place[0]
    inside = [_without(_found(data, (key,)), place[1:])] if len(place) > 1 else []
    if isinstance(data, list):
        assert isinstance(key, int)
        return [*data[:key], *inside, *data[key + 1 :]]
    if inside:
        return {**data, key: inside[0]}
    return {name: each for name, each in data.items() if name != key}


def _moved(siblings: list[Any] | Mapping[str, Any], at: int, to: int) -> Any:
    if isinstance(siblings, list):
        rest = [*siblings[:at], *siblings[at + 1 :]]
        return [*rest[:to], siblings[at], *rest[to:]]
    return dict(_moved(list(siblings.items()), at, to))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same, kinds of numbers and order of keys of lists included."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return set(one) == set(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and bool(one == other)


def _is_table(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _no_place(place: Place) -> EditError:
    return EditError(
        f"{named(place) or 'The whole'} of the plan was to be changed, but there is nothing to change there."
        "\nThe plan may have changed meanwhile: look at it again."
    )


def _not_mastered(place: Place) -> EditError:
    return EditError(
        f"{named(place)} of the plan was to be changed, but it is written in a way that only a person can change.\n"
        "Change it in the text of the plan."
    )


def _refuse_changed(path: Path, expected: str | None, ours: str) -> None:
    theirs = path.read_bytes() if path.is_file() else None
    if (None if theirs is None else _digest(theirs)) != expected:
        raise Conflict(path.name, ours, None if theirs is None else theirs.decode("utf-8", "replace"))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _told(place: Place, value: Any) -> str:
    """Return an edit in words.

    >>> _told(("columns", "job", "role"), "sensitive"), _told(("require", 1), None)
    ('role of job: sensitive', 'requirement 2 taken away')
    """
    if value is None:
        return f"{_subject(place)} taken away"
    if isinstance(value, Mapping):
        model = value.get("model")
        return f"{_subject(place)}: {model}" if model is not None else f"{_subject(place)} changed"
    shown = str(value)
    return f"{_subject(place)}: {shown}" if len(shown) <= 60 else f"{_subject(place)} changed"


def _subject(place: Place) -> str:
    match place:
        case ("columns", str(name)):
            return f"column {name}"
        case ("columns", str(name), *keys):
            return f"{'.'.join(map(str, keys))} of {name}"
        case ("require", int(position)):
            return f"requirement {position + 1}"
        case ("require", int(position), *keys):
            return f"{'.'.join(map(str, keys))} of requirement {position + 1}"
    return named(place)
