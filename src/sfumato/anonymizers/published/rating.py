"""Rating: the domain of a column is cut into groups, and each cell shows all values of its group. Nothing is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Phase, RowByRow, RowWork, Workplace
from sfumato.anonymizers.randomization.domains import DEPENDENCE, HiddenColumn, dependence_facts
from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.dataset import Dataset
from sfumato.data.keystream import Keys, Stretch
from sfumato.data.recoding import Recoding
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.sensitive_qid_diversity import SensitiveQidDiversity
from sfumato.parameters import parametrized


@parametrized
class Rating(RowByRow):
    """Show the group of each value, after Liu, Luo and Huang (2011): groups of l neighbours of the domain or more.

    The published form is two tables: an attribute table, in which each cell names a group, and a table that lists the
    values of each group. Here a cell lists the values of its group itself, which says the same in one table that
    anybody can read and judge, and release.json lists the groups.

    For comparison: each cell leaves l values open, but a second look at a person, or how common values are, is not
    answered, and what happens within a group cannot be computed back from any number of records.
    """

    name: ClassVar[str] = "rating"
    phase: ClassVar[Phase] = Phase.CELLS
    shows_cells: ClassVar[str | None] = "published as all values of the group that each belongs to"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (SensitiveQidDiversity,)

    dependence: str = field(default="refuse", metadata=DEPENDENCE)

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where a column has no domain to cut, or one that is too small for what is asked."""
        for name in policy.judged_columns:
            HiddenColumn.of(dataset, name).least(policy)

    def decide(
        self, counts: Dataset, policy: Policy, some: Dataset, published: Recoding, workplace: Workplace
    ) -> Grouping:
        """Return the groups of all named columns, or raise when they would not hide them."""
        columns = [HiddenColumn.of(counts, name) for name in policy.judged_columns]
        groups = {column.name: group_of_values(column.d, column.least(policy)) for column in columns}
        refused_by = self.name if self.dependence == "refuse" else None
        facts = {
            "columns": [_facts(column, groups[column.name], policy) for column in columns],
            **dependence_facts(some, published, policy.judged_columns, workplace.rng, refused_by),
        }
        public = {
            column.name: {
                "domain": list(column.domain),
                "groups": [
                    [column.domain[value] for value in np.flatnonzero(groups[column.name] == group)]
                    for group in range(int(groups[column.name].max()) + 1)
                ],
                **column.asked_diversity(policy),
            }
            for column in columns
        }
        return Grouping(tuple((column, groups[column.name]) for column in columns), facts, public)


def group_of_values(d: int, least: int) -> NDArray[np.int64]:
    """Return the group of each of d values, (d,): neighbours, at least so many in each; the last takes what is left.

    >>> group_of_values(7, 3).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    return np.minimum(np.arange(d) // least, max(d // least, 1) - 1)


@dataclass(frozen=True, eq=False)
class Grouping(RowWork):
    """Which group each value of some columns belongs to: any rows can be shown by it."""

    columns: tuple[tuple[HiddenColumn, NDArray[np.int64]], ...]
    facts: Mapping[str, Any]
    public: Mapping[str, Mapping[str, Any]]

    def draw(
        self, dataset: Dataset, keys: Keys, workplace: Workplace, stretch: Stretch | None = None
    ) -> dict[str, BitSets]:
        """Return the group that each row shows, column by column; what may be published as it is gets none."""
        shown = {}
        stage = workplace.stage(Rating.name, total=len(self.columns))
        for column, group_of in self.columns:
            if group_of.max() + 1 < column.d:
                start = np.searchsorted(group_of, np.arange(group_of.max() + 2))
                sets = bit_sets_of(np.arange(column.d), start.astype(np.int64), column.d)
                shown[column.name] = column.sets(sets[group_of[column.place_of]][dataset.column(column.name).codes])
            stage.advance()
        stage.done()
        return shown


def _facts(column: HiddenColumn, group_of: NDArray[np.int64], policy: Policy) -> dict[str, Any]:
    """Return what the holder's report says of a column."""
    size = np.bincount(group_of)
    return {
        "column": column.name,
        "values": column.d,
        "groups": size.size,
        "smallest": int(size.min()),
        "largest": int(size.max()),
        "domain": "declared" if column.declared else "data",
        "published": "as it is" if size.size == column.d else "whole domain" if size.size == 1 else "groups",
        **column.asked_diversity(policy),
    }
