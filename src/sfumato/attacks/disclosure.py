"""What one sensitive value gives away about another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import THRESHOLD, Asked, Attack, Finding, checked_threshold
from sfumato.data.release import Release
from sfumato.models.base import PrivacyModel
from sfumato.models.judging.posteriors import Domain, Secrets, beliefs
from sfumato.parameters import one_of

KNOWS = ("one value more", "one value less")
CELLS = 1 << 22  # of a table of two columns in some classes, worked on at once
MOST_CELLS = 1 << 31  # of all classes together; beyond, two columns are left out, and the finding says so

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

    columns: tuple[str, ...]
    knows: str = KNOWS[0]
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        checked_threshold(self.threshold)
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

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield both attacks where there are several masked columns."""
        columns = release.masked_columns
        for knows in KNOWS if len(columns) > 1 else ():
            yield cls(columns=columns, knows=knows, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        secrets = Secrets.of(table, self.columns, cast(PrivacyModel, self))
        people = secrets.class_of.size
        alone = self._by_group(secrets, knowing_others=False)
        skipped = 0
        if self.knows == KNOWS[0]:
            sure, exposed = self._by_group(secrets, knowing_others=True)
        else:
            sure, exposed, skipped = self._by_exclusion(secrets)
        return Finding(
            people=people,
            exposed=int(exposed.sum()),
            worst=float(sure.max(initial=0.0)),
            mean=float(sure.mean()) if people else None,
            facts={
                "newly": int((exposed & ~alone[1]).sum()),
                "exposed_by_class": int(alone[1].sum()),
                "columns": list(self.columns),
                **({"pairs_left_out": skipped} if skipped else {}),
            },
        )

    def guess(self, table: Release) -> Finding | None:
        """Believe in the most common value of each column."""
        rates = [table.public.base_rates[name] for name in self.columns]
        largest = [max([*rate.weight.values(), rate.missing]) / rate.total for rate in rates if rate.total]
        sure = max(largest, default=0.0)
        return Finding(people=table.n_rows, exposed=0, worst=sure, mean=sure)

    def _by_group(self, secrets: Secrets, *, knowing_others: bool) -> tuple[Floats, NDArray[np.bool_]]:
        """Return for each row the highest belief about some column, and whether it exposes the person."""
        sure = np.zeros(secrets.class_of.size)
        exposed = np.zeros(secrets.class_of.size, dtype=np.bool_)
        for i, domain in enumerate(secrets.domains):
            group_of, n_groups = secrets.groups(i, knowing_others=knowing_others)
            highest, above = np.zeros(n_groups), np.zeros(n_groups, dtype=np.bool_)
            limit = np.maximum(self.threshold, _base(domain)) + 1e-12
            for _, found in beliefs(
                secrets, i, "prior", [Fraction(1)] * domain.n_leaves, knowing_others=knowing_others
            ):
                np.maximum.at(highest, found.group, found.chance)
                above[found.group[found.chance > limit[found.leaf]]] = True
            sure = np.maximum(sure, highest[group_of])
            exposed |= above[group_of]
        return sure, exposed

    def _by_exclusion(self, secrets: Secrets) -> tuple[Floats, NDArray[np.bool_], int]:
        """Return the same for who can exclude one value of one column, and how many pairs of columns are left out."""
        sure, exposed = self._by_group(secrets, knowing_others=False)
        n_classes = int(secrets.class_of.max(initial=-1)) + 1
        skipped = 0
        for j, excluded in enumerate(secrets.domains):
            for i, domain in enumerate(secrets.domains):
                if i == j:
                    continue
                cells = len(excluded.names) * len(domain.names)
                if cells * n_classes > MOST_CELLS:
                    skipped += 1
                    continue
                step = max(CELLS // cells, 1)
                for first in range(0, n_classes, step):
                    rows = np.flatnonzero((secrets.class_of >= first) & (secrets.class_of < first + step))
                    highest, above = self._without_each(secrets, j, i, rows, first, min(step, n_classes - first))
                    place = secrets.class_of[rows] - first
                    best, flag = _best_but_own(highest, above, place, secrets.labels[j][rows])
                    sure[rows] = np.maximum(sure[rows], best)
                    exposed[rows] |= flag
        return sure, exposed, skipped

    def _without_each(
        self, secrets: Secrets, j: int, i: int, rows: NDArray[Any], first: int, n_classes: int
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the highest belief about column i and whether it exposes, by excluded leaf: (classes, leaves of j)."""
        excluded, domain = secrets.domains[j], secrets.domains[i]
        shape = (n_classes, len(excluded.names), len(domain.names))
        place = secrets.class_of[rows].astype(np.int64) - first
        key = (place * shape[1] + secrets.labels[j][rows]) * shape[2] + secrets.labels[i][rows]
        count = np.bincount(key, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
        by_leaf = count @ _shares(domain)  # (classes, labels of j, leaves of i)
        joint = np.swapaxes(by_leaf, 1, 2) @ _shares(excluded)  # (classes, leaves of i, leaves of j)
        total = by_leaf.sum(axis=1)[:, :, None]
        left = count.sum(axis=2) @ (1 - _shares(excluded))  # (classes, leaves of j): rows that are left, in expectation
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(left[:, None, :] > 1e-9, (total - joint) / left[:, None, :], 0.0)
        limit = np.maximum(self.threshold, _base(domain)) + 1e-9
        return chance.max(axis=1), np.asarray((chance > limit[None, :, None]).any(axis=1))


def _base(domain: Domain) -> Floats:
    weight = np.array(domain.weight, dtype=np.float64)
    return np.asarray(weight / max(float(weight.sum()), 1.0))


def _shares(domain: Domain) -> Floats:
    """Return the chance of each leaf below each label, (labels, leaves)."""
    part, whole = domain.shares("prior")
    leaf = np.arange(domain.n_leaves)
    below = (domain.first[:, None] <= leaf) & (leaf <= domain.last[:, None])
    return np.where(below, part / np.maximum(whole, 1)[:, None], 0.0)


def _best_but_own(
    highest: Floats, above: NDArray[np.bool_], place: NDArray[Any], label: NDArray[Any]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the best over all leaves that can be excluded for a row: any but the one that it shows itself."""
    n_leaves = highest.shape[1]
    order = np.argsort(-highest, axis=1, kind="stable")
    top = order[place, 0]
    second = order[place, min(1, n_leaves - 1)]
    best = np.where(top == label, highest[place, second] if n_leaves > 1 else 0.0, highest[place, top])
    own = np.where(label < n_leaves, above[place, np.minimum(label, n_leaves - 1)], False)
    return best, above.sum(axis=1)[place] > own
