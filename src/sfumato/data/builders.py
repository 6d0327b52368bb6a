"""Where hierarchies come from: files, trees in the plan, and builders that derive them from the values.

| in the plan | source |
| --- | --- |
| `hierarchy = "zip.csv"` | `HierarchyFile`: one line a value, `value;level 1;...;*`; or a tree in a `.toml` file |
| `hierarchy = { prefix = 5 }` | `Prefix`: codes lose their last characters, `12345`, `1234*`, `123**`, ... |
| `hierarchy = { widths = [5, 10], origin = 0 }` | `Widths`: numbers fall into ranges |
| `hierarchy = { edges = [[0, 10, 25, 99], [0, 25, 99]] }` | `Edges`: numbers fall into given ranges |
| `hierarchy = { dates = ["month", "year"] }` | `Dates`: dates fall into months, years, ... |
| `hierarchy = { flat = true }` | `Flat`: the value or nothing |
| `[columns.job.hierarchy]` and tables below it | `NestedHierarchy`: the tree itself |
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from sfumato.data.dates import Dates
from sfumato.data.hierarchy import ROOT, Hierarchy, nested_paths, some
from sfumato.disk import openable
from sfumato.errors import DataError, HierarchyError, PolicyError, did_you_mean

Number: TypeAlias = int | float | Decimal | Fraction | str

_SEPARATORS = (";", "\t", ",")
_MOST_DECIMALS = 400  # further ones are below every float
_MOST_LEVELS = 1_000  # of one hierarchy


@runtime_checkable
class HierarchySource(Protocol):
    """Something that yields a hierarchy for the values of a column."""

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy; `name` opens error messages, `secret` keeps values out of them."""


@dataclass(frozen=True)
class Given:
    """A hierarchy that exists already."""

    hierarchy: Hierarchy

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy as it is."""
        return self.hierarchy


def _derived(paths: Iterable[tuple[str, ...]], labels: Sequence[str], name: str, *, secret: bool) -> Hierarchy:
    """Return the hierarchy that a builder derived from labels; there may be none when every value is missing."""
    return Hierarchy.from_paths(paths, name, secret=secret) if labels else Hierarchy.bare()


@dataclass(frozen=True)
class Flat:
    """The value or `*`, nothing between.

    >>> Flat().build(["b", "a"], "The hierarchy").paths()
    [('a', '*'), ('b', '*')]
    """

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy over these values, in the order of their text."""
        return _derived(((label, ROOT) for label in sorted(labels)), labels, name, secret=secret)


@dataclass(frozen=True)
class NestedHierarchy:
    """A tree written into the plan: a table is a label with what lies below it, a list holds values."""

    tree: Mapping[str, Any]

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy of the tree, whether or not its values occur."""
        return Hierarchy.from_nested(self.tree, name, secret=secret)


@dataclass(frozen=True)
class HierarchyFile:
    """A file: `value;level 1;...;*`, one line a value and no header; or a nested tree when the name ends in `.toml`.

    Without any `;` the separator may be a tab or a comma. A short line skips the levels below `*`.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy that the file declares."""
        name = f"{name} (file {self.path.name or self.path})"
        text = _read_text(self.path, name)
        if ".toml" in (self.path.suffix.lower(), Path(self.path.stem).suffix.lower()):  # the second: packed
            return Hierarchy.from_nested(_parse_toml(text, name), name, secret=secret)
        return Hierarchy.from_paths(_parse_lines(text, name), name, secret=secret)


DECLARED = (HierarchyFile, NestedHierarchy, Given)  # by the holder; the others are built over the values of the data


def _read_text(path: Path, name: str) -> str:
    if path.exists() and not path.is_file():
        raise HierarchyError(f"{name} is no ordinary file at {path}.\nGive a file of text.")
    from sfumato.data.files.text import whole_text  # which is built on schemas, and they on hierarchies

    try:
        with path.open("rb"):  # for the system's own reason
            return whole_text(path)
    except FileNotFoundError:
        raise HierarchyError(f"{name} was not found at {path}.\nCorrect its path, relative to the plan.") from None
    except OSError as error:
        raise HierarchyError(f"{name} cannot be read at {path}: {error.strerror}.\nGive a readable file.") from None
    except DataError as error:
        raise HierarchyError(f"{name} cannot be read: {error}") from None


def _parse_toml(text: str, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at (line \d+, column \d+|end of document)", str(error))
        raise HierarchyError(
            f"{name} is not valid TOML{f' ({place[1]})' if place else ''}.\n"
            'Write "label" = ["value", ...], or a table for further levels.'
        ) from None


def _parse_lines(text: str, name: str) -> list[tuple[str, ...]]:
    """Return the cells of each line that is not blank; an empty cell behind the value skips its level."""
    if "\0" in text:
        raise HierarchyError(f"{name} has zero bytes, so it is no plain text file.\nSave it as UTF-8 text.")
    separator = next((candidate for candidate in _SEPARATORS if candidate in text), ";")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [tuple(row) for row in reader if row]
    except csv.Error:
        raise HierarchyError(
            f"{name} has a quote that does not fit, near line {reader.line_num}.\n"
            'Put a cell with separators into "...", and write a quote inside it twice.'
        ) from None
    return [(row[0], *(cell for cell in row[1:] if cell)) for row in rows]


@dataclass(frozen=True)
class Prefix:
    """Codes that lose their last characters, level by level; `Prefix(3)` is short for lengths 3, 2, 1.

    What is cut off shows as `*`; a code that is not longer than a length stays as it is at that level.

    >>> Prefix(2).build(["123", "124", "190", "2"], "The hierarchy").ancestors("123")
    ('123', '12*', '1**', '*')
    """

    lengths: int | Sequence[int]

    def __post_init__(self) -> None:
        example = "Give how many characters to keep: a whole number such as 5, or falling lengths such as [5, 3, 2]."
        if isinstance(self.lengths, int) and self.lengths > _MOST_LEVELS:
            found = f"{self.lengths:,}, which makes as many levels; {_MOST_LEVELS:,} is the most"
            raise PolicyError(f"prefix was given as {found}.\n{example}")
        given = range(self.lengths, 0, -1) if isinstance(self.lengths, int) else self.lengths
        lengths = tuple(given) if isinstance(given, Sequence) else ()
        whole = all(isinstance(length, int) and not isinstance(length, bool) for length in lengths)
        if (
            isinstance(self.lengths, bool)
            or not (whole and lengths and lengths[-1] >= 1)
            or any(long <= short for long, short in pairwise(lengths))
        ):
            raise PolicyError(f"prefix was given as {self.lengths!r}.\n{example}")
        object.__setattr__(self, "lengths", lengths)

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy over these codes, in the order of their text."""
        assert not isinstance(self.lengths, int)
        lengths = self.lengths
        paths = ((code, *(code[:length].ljust(len(code), "*") for length in lengths), ROOT) for code in sorted(labels))
        return _derived(paths, labels, name, secret=secret)


@dataclass(frozen=True)
class Widths:
    """Numbers in ranges of rising width, the edges at `origin` plus multiples of the width.

    Whole numbers in ranges of whole width show both ends, `[20, 24]`; otherwise the upper end is outside, `[20, 25)`.

    >>> Widths([5, 10]).build(["3", "20", "24", "27"], "The hierarchy").ancestors("24")
    ('24', '[20, 24]', '[20, 29]', '*')
    """

    widths: Sequence[Number]
    origin: Number = 0

    def __post_init__(self) -> None:
        given = (self.widths,) if isinstance(self.widths, Number) else self.widths
        if not isinstance(given, Sequence) or not given:
            raise PolicyError(
                f"widths was given as {self.widths!r}.\nGive at least one width, the smallest first, such as [5, 10]."
            )
        widths = tuple(_decimal(width, "widths") for width in given)
        if any(width <= 0 for width in widths):
            raise PolicyError(f"widths was given as {list(given)!r}.\nEvery width must be above zero.")
        for small, large in pairwise(widths):
            if large <= small or (large / small).denominator != 1:
                raise PolicyError(
                    f"widths was given as {list(given)!r}: {decimal_text(large)} is no multiple of "
                    f"{decimal_text(small)}, so the ranges do not lie inside one another.\n"
                    "Make each width a multiple of the one before, such as [5, 10, 20]."
                )
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "origin", _decimal(self.origin, "origin"))

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy over these numbers, in rising order."""
        widths = [Fraction(width) for width in self.widths]
        origin = Fraction(self.origin)
        numbers, scale = _in_order(labels, (origin, *widths), name, secret=secret)
        # Everything is a whole number of 1/scale from here on: edges are exact.
        steps = [int(width * scale) for width in widths]
        start = int(origin * scale)
        closed = scale == 1
        if closed:
            steps = [step for step in steps if step > 1]  # a whole number alone is no range

        def text(low: int, step: int) -> str:
            if closed:
                return f"[{low}, {low + step - 1}]"
            return f"[{decimal_text(Fraction(low, scale))}, {decimal_text(Fraction(low + step, scale))})"

        @cache
        def groups(place: int) -> tuple[str, ...]:
            """Return the ranges around the smallest one, the place-th from the origin."""
            above = place * steps[0]
            return (*(text(above // step * step + start, step) for step in steps), ROOT)

        paths = ((label, *(groups((at - start) // steps[0]) if steps else (ROOT,))) for at, label in numbers)
        return _derived(paths, labels, name, secret=secret)


@dataclass(frozen=True)
class Edges:
    """Numbers in ranges between given edges, the finest level first; the last range of a level has its upper end.

    >>> Edges([[0, 10, 25, 99], [0, 25, 99]]).build(["3", "10", "12", "99"], "The hierarchy").ancestors("10")
    ('10', '[10, 24]', '[0, 24]', '*')
    """

    levels: Sequence[Sequence[Number]]

    def __post_init__(self) -> None:
        example = "Give rising edges, such as [[0, 10, 25, 99], [0, 25, 99]], each level with some of the one before."
        given = self.levels
        if isinstance(given, Sequence) and given and not isinstance(given[0], list | tuple):
            given = [given]  # type: ignore[list-item]
        if not isinstance(given, Sequence) or not given or not all(isinstance(level, list | tuple) for level in given):
            raise PolicyError(f"edges was given as {self.levels!r}.\n{example}")
        levels = tuple(tuple(_decimal(edge, "edges") for edge in level) for level in given)
        rising = all(len(level) > 1 and all(low < high for low, high in pairwise(level)) for level in levels)
        ends = {(level[0], level[-1]) for level in levels if level}
        nested = all(set(coarse) < set(fine) for fine, coarse in pairwise(levels))
        if not rising or len(ends) != 1 or not nested:
            raise PolicyError(f"edges was given with levels that do not lie in one another, or do not rise.\n{example}")
        object.__setattr__(self, "levels", levels)

    def build(self, labels: Sequence[str], name: str, *, secret: bool = False) -> Hierarchy:
        """Return the hierarchy over these numbers, in rising order."""
        levels = [[Fraction(edge) for edge in level] for level in self.levels]
        numbers, scale = _in_order(labels, levels[0], name, secret=secret)
        whole = [[int(edge * scale) for edge in level] for level in levels]
        if outside := sum(not whole[0][0] <= number <= whole[0][-1] for number, _ in numbers):
            raise HierarchyError(
                f"{name} has edges, but {outside:,} of the {len(labels):,} values in the data lie outside.\n"
                "Move the first or the last edge of each level."
            )

        def text(level: list[int], number: int) -> str:
            place = min(bisect_right(level, number), len(level) - 1)
            low, high, last = level[place - 1], level[place], place == len(level) - 1
            if scale == 1:
                return str(low) if not last and high == low + 1 else f"[{low}, {high if last else high - 1}]"
            ends = f"{decimal_text(Fraction(low, scale))}, {decimal_text(Fraction(high, scale))}"
            return f"[{ends}]" if last else f"[{ends})"

        paths = ((label, *(text(level, number) for level in whole), ROOT) for number, label in numbers)
        return _derived(paths, labels, name, secret=secret)


def _in_order(
    labels: Sequence[str], exact: Iterable[Fraction], name: str, *, secret: bool
) -> tuple[list[tuple[int, str]], int]:
    """Return labels by size, each behind its number as a whole one of 1/scale, and the scale, which `exact` fit."""
    scale = math.lcm(*(number.denominator for number in exact))
    try:
        numbers = [int(label) * scale for label in labels]
    except ValueError:
        numbers, scale = _decimals(labels, scale, name, secret=secret)
    return sorted(zip(numbers, labels, strict=True)), scale


def _decimals(labels: Sequence[str], scale: int, name: str, *, secret: bool) -> tuple[list[int], int]:
    decimals: list[Decimal] = []
    odd = []
    most = 0
    for label in labels:
        try:
            number = Decimal(label)
            exponent = number.as_tuple().exponent
            if not isinstance(exponent, int) or not -_MOST_DECIMALS <= exponent <= _MOST_DECIMALS:
                raise InvalidOperation
        except InvalidOperation:
            odd.append(label)
            continue
        decimals.append(number)
        most = max(most, -exponent)
    if odd:
        raise HierarchyError(
            f"{name} puts numbers into ranges, but {len(odd):,} of the {len(labels):,} values in the data are no "
            f"numbers{'' if secret else f': {some(odd)}'}.\n"
            "List their spelling under missing = [...] if they stand for missing values, or give another hierarchy."
        )
    scale = math.lcm(scale, 10**most)
    ratios = (number.as_integer_ratio() for number in decimals)
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


def _decimal(value: Any, what: str) -> Fraction:
    """Return the number as written: 0.1 is 1/10."""
    try:
        if isinstance(value, bool) or not isinstance(value, Number):
            raise ValueError
        number = value if isinstance(value, Fraction) else Fraction(Decimal(str(value)))
        decimal_text(number)
    except (ValueError, InvalidOperation, OverflowError):
        raise PolicyError(f"{what} was given as {value!r}.\nGive finite decimal numbers, such as 5 or 0.25.") from None
    return number


def decimal_text(number: Fraction) -> str:
    """Return a number as plain decimal text.

    >>> decimal_text(Fraction(5)), decimal_text(Fraction(-1, 4))
    ('5', '-0.25')
    """
    below = number.denominator
    places = next((places for places in range(below.bit_length()) if 10**places % below == 0), None)
    if places is None:
        raise ValueError("no finite decimal")
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def hierarchy_source(value: Any, base: Path) -> HierarchySource:
    """Return the source that a plan's `hierarchy` means; paths are relative to `base`.

    A table whose only keys are those of a builder is a builder, any other table is a tree.

    >>> hierarchy_source({"prefix": 2}, Path("."))
    Prefix(lengths=(2, 1))
    >>> hierarchy_source({"health": ["nurse", "doctor"], "food": ["cook"]}, Path(".")).build([], "It").leaves
    ('nurse', 'doctor', 'cook')
    """
    if isinstance(value, str | Path):
        return HierarchyFile(openable(base / value, "The hierarchy"))
    if isinstance(value, Hierarchy):
        return Given(value)
    if isinstance(value, Mapping) and value:
        if set(value) <= BUILDER_KEYS:
            return _builder(value)
        odd = [str(key) for key, below in value.items() if not isinstance(below, Mapping | list | tuple)]
        if len(value) == 1:  # a single group with nearly the name of a builder is rather that builder
            lists = [str(key) for key, below in value.items() if not isinstance(below, Mapping)]
            odd += [key for key in lists if difflib.get_close_matches(key, BUILDER_KEYS)]
        if odd:
            raise PolicyError(
                f"A hierarchy was given with {some(set(odd))}, which is neither a builder nor a group of values."
                f"{did_you_mean(odd[0], BUILDER_KEYS)}\n"
                "Builders: { prefix = 5 }, { widths = [5, 10] }, { edges = [0, 10, 50] }, "
                '{ dates = ["month", "year"] }, { flat = true }. '
                'Groups: "label" = ["value", ...].'
            )
        if not sum(1 for _ in nested_paths(value, (), "A hierarchy")):
            raise PolicyError('A hierarchy was given without any value.\nWrite "label" = ["value", ...].')
        return NestedHierarchy(value)
    if not isinstance(value, Mapping) and isinstance(value, HierarchySource):
        return value
    raise PolicyError(
        f"A hierarchy was given as {type(value).__name__}{' without content' if isinstance(value, Mapping) else ''}.\n"
        "Give the name of a file, a builder such as { prefix = 5 }, or a tree of labels."
    )


BUILDER_KEYS = frozenset({"prefix", "widths", "origin", "edges", "dates", "flat"})


def _builder(options: Mapping[str, Any]) -> HierarchySource:
    match dict(options):
        case {"prefix": lengths, **others} if not others:
            return Prefix(lengths)
        case {"widths": widths, "origin": origin, **others} if not others:
            return Widths(widths, origin)
        case {"widths": widths, **others} if not others:
            return Widths(widths)
        case {"edges": levels, **others} if not others:
            return Edges(levels)
        case {"dates": levels, **others} if not others:
            return Dates(levels)
        case {"flat": True, **others} if not others:
            return Flat()
    if "flat" in options and len(options) == 1:
        raise PolicyError(f"flat was given as {options['flat']!r}.\nWrite {{ flat = true }}, or no hierarchy.")
    if set(options) == {"origin"}:
        raise PolicyError("A hierarchy was given an origin without widths.\nAdd widths, such as widths = [5, 10].")
    raise PolicyError(
        f"A hierarchy was given keys that do not go together: {some(options)}.\n"
        "Take one of prefix, widths (with origin), edges, dates and flat."
    )
