"""Parameters that describe themselves: what each takes, its range, and words for people; checked in one place.

A member of a family is a frozen dataclass. Each field that a plan may set says what it takes, and the member checks all
of them at once:

>>> @parametrized
... class Dice:
...     name = "dice"
...     sides: int = parameter(Takes.WHOLE, "Sides", "How many sides each die has.", least=2, example=6)
...     def __post_init__(self):
...         check_parameters(self)
>>> [(each.name, each.title, each.least, each.required) for each in parameters_of(Dice)]
[('sides', 'Sides', 2, True)]
>>> Dice(sides=1)
Traceback (most recent call last):
sfumato.errors.PolicyError: sides of dice must be a whole number of at least 2, but was given as 1.
Write it without quotes and decimals, such as 6.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar, dataclass_transform

from sfumato.errors import PolicyError, did_you_mean

KEY = "sfumato.parameter"  # under which a field's metadata keep the description
Member = TypeVar("Member")
Exact: TypeAlias = float | str | Fraction  # what is written as a FRACTION; checked, it is the exact one


class Takes(StrEnum):
    """What is written for a parameter."""

    WHOLE = "whole number"
    NUMBER = "number"
    FRACTION = "number or fraction"  # 0.2 or "1/3", kept as the fraction that was written
    FLAG = "true or false"
    CHOICE = "one of some words"
    COLUMN = "column"
    COLUMNS = "column or list of columns"
    TEXT = "text"
    TEXTS = "text or list of texts"
    OTHER = "a form of its own"  # which `shape` describes, and whoever reads it checks


NUMBERS = (Takes.WHOLE, Takes.NUMBER, Takes.FRACTION)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a member, as data: for checks, `explain`, the reference, forms and the schema of the plan."""

    takes: Takes
    title: str
    help: str
    name: str = ""
    default: Any = None
    required: bool = False
    least: float | None = None
    most: float | None = None
    above: float | None = None  # like `least`, but not itself
    below: float | None = None  # like `most`, but not itself
    choices: tuple[str, ...] = ()
    per_column: bool = False  # whether it is a table that gives each column such a value
    example: Any = None
    why: str = ""  # what is wrong with values out of range
    shape: Mapping[str, Any] | None = None  # of what is written, as JSON Schema, where `takes` says too little

    @property
    def range(self) -> str:
        """The range in words, empty when anything goes.

        >>> parameter = Parameter(takes=Takes.NUMBER, title="", help="", above=0, most=1)
        >>> parameter.range, replace(parameter, above=None, least=0).range
        ('more than 0 and at most 1', 'from 0 to 1')
        """
        if self.least is not None and self.most is not None:
            return f"from {self.least:,} to {self.most:,}"
        words = {"more than": self.above, "at least": self.least, "less than": self.below, "at most": self.most}
        return " and ".join(f"{word} {bound:,}" for word, bound in words.items() if bound is not None)

    @property
    def written(self) -> str:
        """What is written for it, in words."""
        words = " | ".join(self.choices) or str(self.takes)
        if self.takes is Takes.OTHER:
            words = f"such as {as_toml(self.example)}"
        if self.range:
            words += f", {self.range}"
        return f"for each column: {words}" if self.per_column else words

    @property
    def names_columns(self) -> bool:
        """Whether its value names columns."""
        return self.per_column or self.takes in (Takes.COLUMN, Takes.COLUMNS)

    def checked(self, value: Any, owner: str) -> Any:
        """Return a value as it is kept, or raise; `owner` is the member that has the parameter."""
        if value is None and self.default is None and not self.required:
            return None
        if not self.per_column:
            return self._checked(value, f"{self.name} of {owner}")
        if not isinstance(value, Mapping) or not value:
            raise PolicyError(
                f"{self.name} of {owner} must name columns and give each a number, but was given as {value!r}.\n"
                "Write a table such as { job = 3, age = 2 }."
            )
        return {
            column_name(column, f"{self.name} of {owner}"): self._checked(
                each, f"{self.name} of column {column!r} in {owner}"
            )
            for column, each in value.items()
        }

    def _checked(self, value: Any, what: str) -> Any:
        if self.takes is Takes.FLAG:
            return flag(value, what)
        if self.takes is Takes.CHOICE:
            return one_of(value, what, self.choices)
        if self.takes is Takes.COLUMN:
            return column_name(value, what)
        if self.takes is Takes.COLUMNS:
            return column_names(value, what)
        if self.takes in (Takes.TEXT, Takes.TEXTS):
            return text(value, what) if self.takes is Takes.TEXT else texts(value, what)
        if self.takes is Takes.OTHER:
            return value
        if self.takes is Takes.FRACTION:
            number: Any = exact_fraction(value, what)
        else:
            number = _index(value) if self.takes is Takes.WHOLE else _finite(value)
        if number is not None and self._holds(number):
            return number
        kind = "a whole number" if self.takes is Takes.WHOLE else "" if self.range else "a number"
        joint = " of " if kind and self.range.startswith("at ") else " " if kind and self.range else ""
        how = "it without quotes and decimals, such as" if self.takes is Takes.WHOLE else "a number such as"
        why = f": {self.why}" if self.why else ""
        raise PolicyError(
            f"{what} must be {kind}{joint}{self.range}, but was given as {value!r}{why}.\n"
            f"Write {how} {self.default if self.example is None else self.example}."
        )

    def _holds(self, number: Any) -> bool:
        return (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


def about(takes: Takes, title: str, help: str, **more: Any) -> dict[str, Parameter]:  # noqa: A002 - the field's word
    """Return the metadata of fields that are the same parameter in several members; `more` as in `Parameter`."""
    return {KEY: Parameter(takes=takes, title=title, help=help, **more)}


def parameter(takes: Takes, title: str, help: str, *, default: Any = MISSING, **more: Any) -> Any:  # noqa: A002
    """Return a dataclass field that is a parameter, which must be given where there is no default."""
    return field(default=default, metadata=about(takes, title, help, **more))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(parameter, field))
def parametrized(member: type[Member]) -> type[Member]:
    """Return a class as a frozen dataclass; type checkers know that parameters without a default must be given."""
    return dataclass(frozen=True, kw_only=True)(member)


class AsWritten:
    """A parameter that is a FRACTION as just that: its field is also of the types that it may be given in."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, member: Any, owner: type[Any]) -> Fraction:
        return Fraction(getattr(member, self.name))


def parameters_of(member: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a member of a family, in the order in which it declares them."""
    return tuple(
        replace(
            item.metadata[KEY],
            name=item.name,
            default=None if item.default is MISSING else item.default,
            required=item.default is MISSING and item.default_factory is MISSING,
        )
        for item in fields(member)
        if KEY in item.metadata
    )


def check_parameters(member: Any) -> None:
    """Check every parameter of a frozen dataclass, and keep it in the form that it is used in."""
    for parameter in parameters_of(type(member)):
        value = parameter.checked(getattr(member, parameter.name), member.name)
        object.__setattr__(member, parameter.name, value)


# Single values, for what is no field of a member.

_FAR_EXPONENT = re.compile(r"[eE][+-]?\d{3,}")  # 1e-9999999 would be a fraction of ten million digits


def exact_fraction(value: Exact, what: str) -> Fraction:
    """Return a parameter as the exact fraction that was written: 0.2 is 1/5, "1/3" is 1/3.

    >>> exact_fraction(0.2, "t"), exact_fraction("1/3", "t")
    (Fraction(1, 5), Fraction(1, 3))
    """
    written = str(value)
    try:
        if len(written) > 200 or _FAR_EXPONENT.search(written):
            raise ValueError
        return value if isinstance(value, Fraction) else Fraction(written)
    except (ValueError, ZeroDivisionError):
        raise PolicyError(
            f"{what} was given as {written[:40]!r}, which is no number that can be used.\n"
            'Write a number such as 0.2, or a fraction such as "1/3".'
        ) from None


def whole_number(value: object, what: str, least: int, example: int, at: str = "") -> int:
    """Return a parameter that must be a whole number of at least `least`, or raise.

    >>> whole_number(5, "k", 1, 5)
    5
    """
    number = _index(value)
    if number is None or number < least:
        raise PolicyError(
            f"{what} must be a whole number of at least {least}, but was given as {value!r}.\n"
            f"Write it without quotes and decimals, such as {example}.",
            at,
        )
    return number


def flag(value: object, what: str) -> bool:
    """Return a parameter that must be true or false, or raise."""
    if isinstance(value, bool):
        return value
    raise PolicyError(f"{what} must be true or false, but was given as {value!r}.\nWrite it without quotes.")


def text(value: object, what: str) -> str:
    """Return a parameter that must be text, or raise."""
    if isinstance(value, str) and value:
        return value
    raise PolicyError(f"{what} must be text, but was given as {value!r}.\nWrite it in quotes.")


def texts(value: object, what: str) -> tuple[str, ...]:
    """Return a parameter that must be a text or a list of texts, which may be empty ones, or raise.

    >>> texts("?", "missing"), texts(["", "?"], "missing")
    (('?',), ('', '?'))
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise PolicyError(
        f'{what} must be a text or a list of texts, but was given as {value!r}.\nWrite a list such as ["", "?"].'
    )


def one_of(value: object, what: str, known: Iterable[str]) -> str:
    """Return a parameter that must be one of some words, or raise with the nearest one."""
    known = tuple(known)
    if isinstance(value, str) and value in known:
        return value
    raise PolicyError(
        f"{what} was given as {value!r}, which is not known.{did_you_mean(str(value), known)}\n"
        f"Choose one of: {', '.join(known)}."
    )


def column_names(value: object, what: str) -> str | tuple[str, ...]:
    """Return a parameter that must name one column, or several in a list, or raise.

    >>> column_names(["a", "b"], "column"), column_names(["a"], "column")
    (('a', 'b'), 'a')
    """
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) and name for name in value):
        if len(set(value)) < len(value):
            raise PolicyError(f"{what} names the same column twice: {list(value)!r}.\nName each once.")
        return tuple(value) if len(value) > 1 else str(value[0])
    if isinstance(value, str) and value:
        return value
    raise PolicyError(
        f"{what} must be the name of a column, or a list of names, but was given as {value!r}.\nWrite names in quotes."
    )


def column_name(value: object, what: str) -> str:
    """Return a parameter that must name one column, or raise."""
    if isinstance(value, str) and value:
        return value
    raise PolicyError(f"{what} must be the name of one column, but was given as {value!r}.\nWrite its name in quotes.")


def as_toml(value: Any) -> str:
    """Return a value as a plan has it.

    >>> as_toml({"widths": [5, 10], "flat": True})
    '{ widths = [5, 10], flat = true }'
    """
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {as_toml(each)}' for key, each in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _index(value: object) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _finite(value: object) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if number else None  # type: ignore[return-value]
