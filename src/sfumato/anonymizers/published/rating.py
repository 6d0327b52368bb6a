"""Rating: the domain of a column is cut into groups, and each cell shows all values of its group. Nothing is drawn."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.randomization.domains import CellByCell, HiddenColumn
from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.dataset import Codes
from sfumato.data.keystream import Keys, Stretch
from sfumato.models.base import Policy, PrivacyModel
from sfumato.models.sensitive_qid_diversity import SensitiveQidDiversity
from sfumato.parameters import parametrized

Groups: TypeAlias = NDArray[np.int64]  # (d,): the group of each value of a domain


@parametrized
class Rating(CellByCell[Groups]):
    """Show the group of each value, after Liu, Luo and Huang (2011): groups of l neighbours of the domain or more.

    The published form is two tables: an attribute table, in which each cell names a group, and a table that lists the
    values of each group. Here a cell lists the values of its group itself, which says the same in one table that
    anybody can read and judge, and release.json lists the groups.

    For comparison: each cell leaves l values open, but a second look at a person, or how common values are, is not
    answered, and what happens within a group cannot be computed back from any number of records.
    """

    name: ClassVar[str] = "rating"
    shows_cells: ClassVar[str | None] = "published as all values of the group that each belongs to"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (SensitiveQidDiversity,)
    by_all_rows: ClassVar[bool] = False

    def choose(self, column: HiddenColumn, policy: Policy) -> Groups:
        """Return the groups of a column."""
        return group_of_values(column.d, column.least(policy))

    def public_of(self, column: HiddenColumn, how: Groups, policy: Policy) -> dict[str, Any]:
        """Return what release.json says of a column."""
        members = [np.flatnonzero(how == group) for group in range(int(how.max()) + 1)]
        return {
            "groups": [[column.domain[value] for value in values] for values in members],
            **column.asked_diversity(policy),
        }

    def facts_of(self, column: HiddenColumn, how: Groups, policy: Policy) -> dict[str, Any]:
        """Return what the holder's report says of a column."""
        size = np.bincount(how)
        return {
            "groups": size.size,
            "smallest": int(size.min()),
            "largest": int(size.max()),
            "domain": "declared" if column.declared else "data",
            "published": "as it is" if size.size == column.d else "whole domain" if size.size == 1 else "groups",
            **column.asked_diversity(policy),
        }

    def cells(
        self, column: HiddenColumn, how: Groups, codes: Codes, keys: Keys, place: Workplace, stretch: Stretch | None
    ) -> BitSets | None:
        """Return the group of each row."""
        if how.max() + 1 == column.d:
            return None
        start = np.searchsorted(how, np.arange(how.max() + 2))
        sets = bit_sets_of(np.arange(column.d), start.astype(np.int64), column.d)
        return column.sets(sets[how[column.place_of]][codes])


def group_of_values(d: int, least: int) -> Groups:
    """Return the group of each of d values: neighbours, at least so many in each; the last takes what is left.

    >>> group_of_values(7, 3).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    return np.minimum(np.arange(d) // least, max(d // least, 1) - 1)
