"""Finding a person's record by a few of their items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks.base import Asked, AttackOfColumn, Finding
from sfumato.attacks.rule_inference import known_items
from sfumato.data.bit_sets import BitSets
from sfumato.data.dataset import CodedSets
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.weights import row_weights, rows_in
from sfumato.parameters import whole_number

KNOWN = 2  # items that the intruder knows where no requirement says how many
MOST_KNOWN = 3  # each further one multiplies the work


@dataclass(frozen=True, kw_only=True)
class ItemLinking(AttackOfColumn):
    """Find a person's record by up to `known` of their items, and by their quasi-identifiers where there are some.

    Each person is attacked with the luckiest choice of items, sensitive or not, and one of the records that hold them
    is picked: 1 / how many there are. How many items are known comes from the requirements of the release
    (km-anonymity's m, hkp-coherence's p, at most 3), else it is 2.

    >>> table = Release.of({"basket": ["bread|milk", "bread", "milk"]}, basket="items")
    >>> print(ItemLinking(column="basket").on(table))
    1 of 3 exposed, confidence up to 100 %
    >>> print(ItemLinking(column="basket", known=1).on(table))
    0 of 3 exposed, confidence up to 50 %
    """

    name: ClassVar[str] = "item-linking"
    answered_by: ClassVar[tuple[str, ...]] = ("km-anonymity", "hkp-coherence")

    known: int = KNOWN

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.known, "known items", 1, MOST_KNOWN)

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Finding a person by {known_items(self.known)} of {self.column!r}"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        return (
            "Knows that a person is in the table, their quasi-identifiers if there are some, and "
            f"{known_items(self.known)} of {self.column!r}, and picks one of those who have them."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack for each column of items."""
        for column in release.columns.values():
            if isinstance(column, CodedSets) and column.role is Role.ITEMS and not isinstance(column, BitSets):
                models = [each for each in release.description.get("models", ()) if each.get("column") == column.name]
                known = max((int(each.get("m", each.get("p", 0))) for each in models), default=0) or KNOWN
                yield cls(column=column.name, known=min(known, MOST_KNOWN), threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        from sfumato.kernels.items.linking import fewest_that_fit  # compiled: only when needed

        column, n_rows, weights = table.sets(self.column), table.n_rows, row_weights(table)
        weight = np.ones(n_rows, dtype=np.int64) if weights is None else weights
        fewest = np.full(n_rows, max(table.total, 1), dtype=np.int64)
        class_of = classes_of(table).class_of
        order = np.argsort(class_of, kind="stable")
        start, items = column.start.astype(np.int64), column.items.astype(np.int64)
        bounds = np.concatenate([[0], np.flatnonzero(np.diff(class_of[order])) + 1, [n_rows]]).astype(np.int64)
        fewest_that_fit(order, bounds, start, items, weight, len(column.labels), self.known, fewest)
        unique = rows_in(fewest == 1, weights)
        return Finding.of_crowds(fewest, weight, self.threshold, known_items=self.known, unique=unique)
