from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.attacks.base import Asked, Attack, Finding
from sfumato.data.dataset import Dataset
from sfumato.data.release import Release
from sfumato.metrics.risk import Risk
from sfumato.models.judging.classes import classes_of


@dataclass(frozen=True, kw_only=True)
class Linking(Attack):
    """Find a person's record by their quasi-identifiers.

    The prosecutor knows that the person is in the table and picks among the records that show the same: 1 / class size.
    The marketer wants as many hits as possible, and gets the mean of that over people. After El Emam and Dankar (2008).
    The journalist knows only that the person is in a larger `population`, a table with the same quasi-identifiers, and
    picks among its people who fit; without a population the journalist is taken to know as much as the prosecutor.

    >>> print(Linking().on(Release.of({"age": [20, 20, 25, 30]}, age="quasi-identifier")))
    2 of 4 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "linking"
    answered_by: ClassVar[tuple[str, ...]] = ("k-anonymity", "alpha-diversity", "multi-diversity")
    title: ClassVar[str] = "Finding a person by quasi-identifiers"
    intruder: ClassVar[str] = (
        "Knows that a person is in the table, knows all their quasi-identifiers, and picks one of those who fit."
    )

    population: Dataset | None = None

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack where there are quasi-identifiers."""
        if release.quasi_identifiers:
            yield cls(threshold=asked.threshold, population=asked.population)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        size = classes_of(table).size
        people, unique = int(size.sum()), int((size == 1).sum())
        return Finding.of_crowds(
            size,
            size,
            self.threshold,
            unique=unique,
            unique_share=unique / people if people else 0.0,
            classes=int(size.size),
            columns=[column.name for column in table.quasi_identifiers],
            prosecutor=1 / int(size.min()) if size.size else 0.0,
            marketer=size.size / people if people else 0.0,
            journalist=self._journalist(table),
        )

    def _journalist(self, table: Release) -> float | None:
        """Return the highest chance of a hit for somebody who searches the population, None without one."""
        if self.population is None:
            return None
        found = Risk(population=self.population).measure(self.population, table)
        return float(found.facts["journalist"]["max"])
