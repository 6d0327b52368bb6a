from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.attacks.base import Asked, Attack, Finding
from sfumato.data.dataset import distinct_codes
from sfumato.data.release import Release
from sfumato.metrics.minimal_uniques import minimal_uniques
from sfumato.models.judging.classes import codes_of_labels
from sfumato.models.judging.weights import row_weights

FEW = 3


@dataclass(frozen=True, kw_only=True)
class FewColumns(Attack):
    """Know a few quasi-identifiers of a person, those that tell most of them, and find their record.

    Less than `linking` supposes, and closer to what a neighbour knows. `columns` says in how many of the smallest sets
    that single people out each column is: which one to make coarser first.

    >>> table = {"age": [20, 20, 30, 30], "sex": ["f", "m", "f", "m"], "town": ["a", "a", "a", "b"]}
    >>> print(FewColumns(most=1).on(Release.of(table, **dict.fromkeys(table, "quasi-identifier"))))
    1 of 4 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "few-columns"
    answered_by: ClassVar[tuple[str, ...]] = ("k-anonymity", "alpha-diversity", "multi-diversity")
    on_demand: ClassVar[bool] = True  # `linking` bounds it

    most: int = FEW  # quasi-identifiers that are known of a person

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Finding a person by {self.most} quasi-identifiers"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        return (
            f"Knows that a person is in the table, knows {self.most} of their quasi-identifiers, by chance those that "
            "tell most, and picks one of those who fit."
        )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack where there are more quasi-identifiers than few."""
        columns = len(release.quasi_identifiers)
        if columns > 1:
            yield cls(most=min(FEW, columns - 1), threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        columns = table.quasi_identifiers
        shown = [codes_of_labels(column, table.n_rows) for column in columns]
        distinct = distinct_codes(shown, table.n_rows, row_weights(table))
        found = minimal_uniques(distinct, self.most)
        unique, names = int((found.crowd == 1).sum()), (column.name for column in columns)
        by_column = dict(zip(names, found.by_column.sum(axis=1).tolist(), strict=True))
        facts = {"unique": unique, "size": found.size, "columns": by_column}
        return Finding.of_crowds(found.crowd, distinct.weight, self.threshold, **facts)
