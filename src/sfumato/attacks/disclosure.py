"""What one sensitive value gives away about another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, Attack, Finding
from sfumato.attacks.exclusion import NEAR, Labels, beliefs_without_one
from sfumato.data.release import Release
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.posteriors import Secrets, chances
from sfumato.models.judging.weights import rows_in
from sfumato.parameters import one_of

KNOWS = ("one value more", "one value less")

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Disclosure(Attack):
    """Find a person's class, then use what is known of some sensitive columns to learn about another.

    With "one value more" (positive disclosure) the intruder knows the person's values of all other sensitive columns as
    they are published. With "one value less" (negative disclosure) the intruder can exclude one value of one other
    column, whichever helps most. Labels count for the values below them in proportion to base rates. A person is
    exposed when some value is believed in more than the threshold and more than its base rate; `newly` counts those who
    are not exposed by their class alone.
    """

    name: ClassVar[str] = "disclosure"
    answered_by: ClassVar[tuple[str, ...]] = ("multi-diversity",)

    columns: tuple[str, ...]
    knows: str = KNOWS[0]

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.knows, "disclosure: knows", KNOWS)

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Learning a secret from others, with {self.knows}"

    @property
    def intruder(self) -> str:
        """What the intruder knows."""
        found = "Finds a person's class by quasi-identifiers, knows how common sensitive values are, "
        if self.knows == KNOWS[0]:
            return f"{found}knows the person's other sensitive values as published, and looks at one column."
        return f"{found}can exclude one value of one sensitive column for the person, and looks at the others."

    @property
    def about(self) -> tuple[str, ...]:
        """The columns of which something is learned."""
        return self.columns

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield both attacks where there are several masked columns."""
        columns = release.masked_columns
        for knows in KNOWS if len(columns) > 1 else ():
            yield cls(columns=columns, knows=knows, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        secrets = Secrets.of(table, self.columns, cast(PrivacyModel, self))
        alone = self._by_group(secrets, knowing_others=False)
        looked_at = secrets.n_rows
        if self.knows == KNOWS[0]:
            sure, exposed = self._by_group(secrets, knowing_others=True)
        else:
            sure, exposed, looked_at = self._by_exclusion(secrets)
        return Finding.of(
            sure,
            exposed,
            secrets.weights,
            newly=rows_in(exposed & ~alone[1], secrets.weights),
            exposed_by_class=rows_in(alone[1], secrets.weights),
            columns=list(self.columns),
            looked_at=looked_at,
        )

    def guess(self, table: Release) -> Finding | None:
        """Believe in the most common value of each column."""
        rates = [table.public.base_rates[name] for name in self.columns]
        largest = [max([*rate.weight.values(), rate.missing]) / rate.total for rate in rates if rate.total]
        sure = max(largest, default=0.0)
        return Finding(people=table.total, exposed=0, worst=sure, mean=sure)

    def _by_group(self, secrets: Secrets, *, knowing_others: bool) -> tuple[Floats, NDArray[np.bool_]]:
        """Return for each row the highest belief about some column, and whether it exposes the person."""
        sure = np.zeros(secrets.class_of.size)
        exposed = np.zeros(secrets.class_of.size, dtype=np.bool_)
        for i, domain in enumerate(secrets.domains):
            group_of, n_groups = secrets.groups(i, knowing_others=knowing_others)
            highest, above = np.zeros(n_groups), np.zeros(n_groups, dtype=np.bool_)
            limit = np.maximum(self.threshold, domain.common) + 1e-12
            for _, found in chances(
                secrets, i, "prior", [Fraction(1)] * domain.n_leaves, knowing_others=knowing_others
            ):
                np.maximum.at(highest, found.group, found.chance)
                above[found.group[found.chance > limit[found.leaf]]] = True
            sure = np.maximum(sure, highest[group_of])
            exposed |= above[group_of]
        return sure, exposed

    def _by_exclusion(self, secrets: Secrets) -> tuple[Floats, NDArray[np.bool_], int]:
        """Return the same for who can exclude one value of one column, and how many rows all that was tried for."""
        sure, exposed = self._by_group(secrets, knowing_others=False)
        n_classes = int(secrets.class_of.max(initial=-1)) + 1
        labels = [Labels.of(secrets, i, n_classes) for i in range(len(secrets.domains))]
        tried = np.zeros(secrets.class_of.size, dtype=np.int64)
        for excluded, told in permutations(labels, 2):
            limit = np.maximum(self.threshold, told.domain.common) + NEAR
            for rows, best, above in beliefs_without_one(secrets, excluded, told, limit):
                sure[rows] = np.maximum(sure[rows], best)
                exposed[rows] |= above
                tried[rows] += 1
        return sure, exposed, rows_in(tried == tried.max(initial=0), secrets.weights)
