"""How many people are alone with what the plan leaves as it is: columns of role `other`, and what it calls harmless."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, Attack, Finding
from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedSets, starts_of
from sfumato.data.equal_rows import number_equal_rows
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.weights import Integers, row_weights, tally

HARMLESS = (Role.QUASI_SENSITIVE, Role.ITEMS)  # taken to identify nobody: terms, and items that are not sensitive


@dataclass(frozen=True, kw_only=True)
class SinglingOut(Attack):
    """Know a person's quasi-identifiers and what some other columns publish about them, and find their record.

    The plan protects quasi-identifiers alone. Columns of role `other` are published as they are, and terms and items
    are not taken to identify anybody: this counts who is alone with them. Sensitive items are left out, as nobody is
    supposed to know them. The intruder knows whole cells, which is more than most people know of another.

    >>> table = {"age": ["20-29"] * 4, "ward": ["1", "1", "2", "3"]}
    >>> print(SinglingOut(columns=("ward",)).on(Release.of(table, age="quasi-identifier", ward="other")))
    2 of 4 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "singling-out"

    columns: tuple[str, ...]
    harmless: bool = False  # whether they are terms and items, rather than of role `other`

    @property
    def title(self) -> str:
        """What is attacked."""
        kind = "what the plan calls harmless" if self.harmless else "columns of role 'other'"
        return f"Finding a person by {kind}: {', '.join(map(repr, self.columns))}"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        return (
            "Knows that a person is in the table, all their quasi-identifiers and all that is published of them in "
            f"{', '.join(map(repr, self.columns))}, and picks one of those who fit."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for columns of role `other`, and one for terms and items."""
        if release.carried is not None and release.carried.column_names:
            yield cls(columns=tuple(release.carried.column_names), threshold=asked.threshold)
        harmless = [
            column.name
            for column in release.columns.values()
            if column.role in HARMLESS and not isinstance(column, BitSets) and not _all_secret(column)
        ]
        if harmless:
            yield cls(columns=tuple(harmless), harmless=True, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        size = self._sizes(table, self.columns)
        return Finding.of_crowds(
            size,
            size,
            self.threshold,
            unique=int((size == 1).sum()),
            groups=int(size.size),
            without=self._exposed(self._sizes(table, ())),
            columns={name: self._exposed(self._sizes(table, (name,))) for name in self.columns},
        )

    def _exposed(self, size: Integers) -> int:
        return int(size[size * self.threshold < 1].sum())

    def _sizes(self, table: Release, names: Sequence[str]) -> Integers:
        """Return how many people share each combination of quasi-identifiers and some columns."""
        class_of = classes_of(table).class_of
        columns = {name: _without_secrets(column) for name in names if (column := table.columns.get(name)) is not None}
        there = table.carried.column_names if table.carried is not None else ()  # the original may lack some
        others = [name for name in names if name in there]
        carried = table.carried.select(others) if table.carried is not None and others else None
        number_of = number_equal_rows(columns, carried, table.n_rows)
        keys: NDArray[Any] = class_of.astype(np.int64) * (int(number_of.max(initial=0)) + 1) + number_of
        found, group_of = np.unique(keys, return_inverse=True)
        return tally(group_of, found.size, row_weights(table))


def _all_secret(column: ReleasedColumn | CodedSets) -> bool:
    """Whether nothing in a column is harmless: each of its items is sensitive."""
    if not isinstance(column, CodedSets) or column.sensitive is None:
        return False
    return bool(column.items.size and column.sensitive[column.items].all())


def _without_secrets(column: ReleasedColumn | CodedSets) -> ReleasedColumn | CodedSets:
    """Return a column of items without the sensitive ones, any other as it is."""
    if not isinstance(column, CodedSets) or column.sensitive is None:
        return column
    harmless = ~column.sensitive[column.items]
    upto = starts_of(harmless)
    return replace(column, items=column.items[harmless], start=upto[column.start])
