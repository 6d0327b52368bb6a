from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, Attack, Finding, believing
from sfumato.data.release import Release
from sfumato.data.sampling import Sampling
from sfumato.metrics.individual_risk import household_risk
from sfumato.models.judging.classes import classes_of


@dataclass(frozen=True, kw_only=True)
class HouseholdLinking(Attack):
    """Know the quasi-identifiers of a whole household, and find it among those that show the same of their people.

    Records that are k-anonymous one by one are not so together: the age and sex of four people who live together fit
    few households. The column that says who lives together must be published for that. Its `by_chance` is sdcMicro's
    hierarchical risk, that of somebody of the household being found alone.

    >>> table = {"age": ["30s", "30s", "60s", "60s", "60s"], "home": ["1", "2", "2", "3", "3"]}
    >>> release = Release.of(table, age="quasi-identifier", home="other")
    >>> print(HouseholdLinking(sampling=Sampling(household="home")).on(release))
    5 of 5 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "household-linking"
    intruder: ClassVar[str] = (
        "Knows that a household is in the table, knows all quasi-identifiers of all its people, and picks one."
    )

    sampling: Sampling

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Finding a household by all its people ({self.sampling.household!r})"

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack where the table says who lives together."""
        if release.quasi_identifiers and asked.sampling.households_of(release.carried) is not None:
            yield cls(sampling=asked.sampling, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        household_of = self.sampling.households_of(table.carried)
        if household_of is None or not table.n_rows:  # it does not say who lives together
            return Finding(people=table.total, exposed=0, worst=0.0, mean=0.0)
        classes = classes_of(table)
        alike = like_households(household_of, classes.class_of)
        chance = household_risk(1 / classes.size[classes.class_of], household_of)
        return Finding.of_crowds(
            alike,
            np.ones_like(alike),
            self.threshold,
            households=int(np.unique(household_of).size),
            unique=int(np.unique(household_of[alike == 1]).size),
            by_chance={"mean": float(chance.mean()), "max": float(chance.max())},
        )

    def guess(self, table: Release) -> Finding | None:
        """Pick any household."""
        household_of = self.sampling.households_of(table.carried)
        homes = int(np.unique(household_of).size) if household_of is not None else table.total
        return believing(self, 1 / homes if homes else 0.0, table.n_rows)


def like_households(household_of: NDArray[np.int64], class_of: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each row how many households have people of the same classes as its own, shape (n,).

    >>> like_households(np.array([0, 0, 1, 1, 2]), np.array([5, 7, 7, 5, 5], np.int32)).tolist()
    [2, 2, 2, 2, 1]
    """
    order = np.lexsort((class_of, household_of))
    homes, start = np.unique(household_of[order], return_index=True)
    ends = np.append(start[1:], order.size)
    shown = class_of[order]
    kind_of: dict[bytes, int] = {}
    kinds = np.array(
        [kind_of.setdefault(shown[a:b].tobytes(), len(kind_of)) for a, b in zip(start, ends, strict=True)], np.int64
    )
    many = np.bincount(kinds)[kinds]
    return np.asarray(many[np.searchsorted(homes, household_of)])
