"""What the holder says about columns: roles, kinds and how cells are written."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sfumato.data.bins import Bins
from sfumato.data.builders import Given, HierarchyFile, HierarchySource, NestedHierarchy
from sfumato.data.hierarchy import some

SHOW_VALUES = "SFUMATO_SHOW_VALUES"  # set in the environment: messages name values that are no secrets
DEFAULT_MISSING = ("",)


class _Word(StrEnum):
    """A word of the plan that says what it means."""

    _value_: str
    means: str

    def __new__(cls, word: str, means: str = "") -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.means = means
        return member


class Role(_Word):
    """What a column may reveal."""

    IDENTIFIER = "identifier", "Names a person by itself: dropped, and read only to count people."
    QUASI_IDENTIFIER = "quasi-identifier", "Others may know it about a person: generalized until the requirements hold."
    SENSITIVE = (
        "sensitive",
        "Must not be learnt about a person: published, or masked by labels, and judged by the requirements on it.",
    )
    QUASI_SENSITIVE = (
        "quasi-sensitive",
        "Harmless until public knowledge turns it into a secret: terms are removed. Refused without a requirement.",
    )
    SENSITIVE_QUASI_IDENTIFIER = (
        "sensitive-quasi-identifier",
        "Clue and secret at once: published as small sets of values, drawn by chance. Refused without a requirement.",
    )
    ITEMS = (
        "items",
        "Sets in which each item is a clue and some are secrets: items are withheld. Refused without a requirement.",
    )
    OTHER = "other", "None of these: carried along as it is."


class Kind(_Word):
    """What the cells of a column are. Coded columns have dates as ordered values."""

    NUMBER = "number", "Numbers: ordered by value, generalized to ranges."
    CATEGORY = "category", "Words: equal or not, and whatever a hierarchy says."
    ORDERED = "ordered", "Words with an order, which `domain` or the hierarchy gives."
    DATE = "date", "ISO 8601 dates, with or without a time of the day."
    SET = "set", "Several values in a cell, with a separator between them, or a list."


def folded_name(name: str) -> str:
    """Return a column's name without case, blanks, invisible characters and forms of letters, to compare it.

    >>> folded_name("First\u00a0Name ") == folded_name("ＦＩＲＳＴname")
    True
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(sign for sign in plain if unicodedata.category(sign) not in _INVISIBLE)


_INVISIBLE = frozenset(("Zs", "Zl", "Zp", "Cc", "Cf"))  # categories of blanks and of characters that show nothing

# Columns whose original values must never show in messages, logs or public files.
SECRET_ROLES = frozenset(
    {Role.IDENTIFIER, Role.SENSITIVE, Role.QUASI_SENSITIVE, Role.SENSITIVE_QUASI_IDENTIFIER, Role.ITEMS}
)


@dataclass(frozen=True, kw_only=True)
class SensitiveShare:
    """A share of all items taken for sensitive, drawn at random: for experiments, not for people's secrets.

    Whether an item is drawn depends on its name and the seed alone, so a release has the same ones as its original.
    """

    share: float  # more than 0; 1: every item
    seed: int = 0

    def __contains__(self, label: object) -> bool:
        drawn = hashlib.blake2b(str(label).encode(), digest_size=8, key=str(self.seed).encode()).digest()
        return int.from_bytes(drawn, "big") < self.share * 2**64


@dataclass(frozen=True, kw_only=True)
class ColumnSpec:
    """What the plan says of one column; `kind` None means: infer it and say so."""

    name: str
    role: Role
    kind: Kind | None = None
    hierarchy: HierarchySource | None = None
    separator: str = "|"  # between the members of a set cell
    domain: tuple[str, ...] | None = None  # declared values, in order; the labels of bins when there are some
    bins: Bins | None = None  # ranges that numbers are cut into
    sensitive_items: tuple[str, ...] | SensitiveShare | None = None
    present: tuple[str, ...] | None = None  # of a binary quasi-sensitive column: the values that say yes
    term: str | None = None  # what a binary column says; its name, if nothing else
    base_rates: Path | None = None  # table of how common values are; None: as in the data
    worth: tuple[tuple[str, Fraction], ...] | None = None  # of a quasi-sensitive column: what terms are worth; else 1
    weight: float = 1.0  # of a quasi-identifier: what its detail counts beside that of others

    @property
    def holds_sets(self) -> bool:
        """Whether it is declared as one of sets."""
        return self.kind is Kind.SET or self.role is Role.ITEMS

    @property
    def secret(self) -> bool:
        """Whether messages must not show the column's values: those of the others only where somebody wants them."""
        return self.role in SECRET_ROLES or not os.environ.get(SHOW_VALUES)

    def shown(self, values: Iterable[str]) -> str:
        """Return some values for the end of a message, or how to see them; nothing where nobody may."""
        if self.role in SECRET_ROLES:
            return ""
        return f" (set {SHOW_VALUES}=1 to see which)" if self.secret else f": {some(values)}"


@dataclass(frozen=True)
class Schema:
    """The columns of a table as the plan declares them; `rest` is the role of columns that it does not name.

    Patterns such as q* stand for all columns of such a name that are not declared themselves, the first that fits.
    """

    columns: Mapping[str, ColumnSpec] = field(default_factory=dict)
    patterns: tuple[ColumnSpec, ...] = ()
    rest: Role | None = None
    missing: tuple[str, ...] = DEFAULT_MISSING  # cells that are missing; the first one is what a release shows
    person: str | None = None  # column that numbers people, where all rows of a person stay and people are judged
    gathered: bool = False  # whether each row is a person, put together from rows of theirs
    normalize: bool = False  # whether all spellings of a value are read as one, where values are judged

    @classmethod
    def of(cls, **columns: str | Mapping[str, Any]) -> Schema:
        """Return a schema in few words: of each column its role, or all that is said of it.

        >>> Schema.of(age="quasi-identifier", basket={"role": "items", "sensitive_items": ("wine",)}).sets
        frozenset({'basket'})
        """
        said = {name: {"role": each} if isinstance(each, str) else each for name, each in columns.items()}
        return cls(
            {name: ColumnSpec(**{**more, "name": name, "role": Role(more["role"])}) for name, more in said.items()}
        )

    def __iter__(self) -> Iterator[ColumnSpec]:
        return iter(self.columns.values())

    def named(self, *roles: Role) -> tuple[str, ...]:
        """Return the names of the declared columns with one of these roles, in order."""
        return tuple(spec.name for spec in self if spec.role in roles)

    @property
    def sets(self) -> frozenset[str]:
        """The columns that are declared as sets."""
        return frozenset(spec.name for spec in self if spec.holds_sets)

    def is_text(self, name: str) -> bool:
        """Whether the cells of a column are taken to the letter, even if they look like numbers or dates.

        So are those that a list or a file of the plan spells, and those that are published as they are or not at all.
        """
        spec = self.spec(name)
        if spec is None or spec.role in (Role.IDENTIFIER, Role.OTHER, Role.QUASI_SENSITIVE, Role.ITEMS):
            return True
        listed = (spec.domain is not None and spec.bins is None) or spec.base_rates is not None
        if listed or isinstance(spec.hierarchy, HierarchyFile | NestedHierarchy | Given):
            return True
        return spec.kind not in (None, Kind.NUMBER, Kind.DATE)

    @property
    def without_hierarchy(self) -> tuple[str, ...]:
        """The quasi-identifiers that are declared without a hierarchy, in order."""
        return tuple(spec.name for spec in self if spec.role is Role.QUASI_IDENTIFIER and spec.hierarchy is None)

    def spec(self, name: str) -> ColumnSpec | None:
        """Return what holds for a column of the data, or None when the plan says nothing about it."""
        if name in self.columns:
            return self.columns[name]
        found = self._by_pattern(name)
        if found is None and self.rest is not None:
            found = ColumnSpec(name=name, role=self.rest)
        if found is not None and found.role is Role.OTHER and self.lookalike(name) is not None:
            return None
        return found

    def lookalike(self, name: str) -> str | None:
        """Return the declared column or pattern whose name a column has but for case, blanks or forms of letters.

        Such a column is not published as it is by a pattern for others: it may hold what the declared column holds.

        >>> Schema.of(name="identifier").lookalike(" NAME")
        'name'
        """
        if name in self.columns:
            return None
        folded = folded_name(name)
        alike = self._protected.get(folded)
        return alike or next(
            (each for each in self._protected.values() if fnmatchcase(folded, folded_name(each))), None
        )

    @cached_property
    def _protected(self) -> Mapping[str, str]:
        """The names of declared columns and patterns that are not published as they are, by how they are compared."""
        declared = (spec for spec in (*self.columns.values(), *self.patterns) if spec.role is not Role.OTHER)
        return {folded_name(spec.name): spec.name for spec in declared}

    def _by_pattern(self, name: str) -> ColumnSpec | None:
        return next((replace(each, name=name) for each in self.patterns if fnmatchcase(name, each.name)), None)

    def over(self, names: Iterable[str]) -> Schema:
        """Return the schema with the columns that its patterns stand for, given those of the data."""
        fitting = (name for name in names if name not in self.columns and self._by_pattern(name) is not None)
        added = {name: spec for name in fitting if (spec := self.spec(name)) is not None}
        return replace(self, columns={**self.columns, **added}, patterns=())

    def naming(self, names: Iterable[str]) -> Schema:
        """Return the schema with columns that the plan counts on, whatever gives them a role: they have to exist."""
        added = {name: spec for name in names if name not in self.columns and (spec := self.spec(name))}
        return replace(self, columns={**self.columns, **added})
