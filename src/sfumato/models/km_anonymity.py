"""km-anonymity: whoever knows a few items of a record finds at least k records that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.errors import Problem
from sfumato.models.base import Policy, PrivacyModel, Verdict
from sfumato.models.rho_uncertainty import WITHIN, RhoUncertainty
from sfumato.parameters import Takes, about, parameter, parametrized

if TYPE_CHECKING:
    from sfumato.models.judging.small_sets import Found

FEWEST_RECORDS = about(
    Takes.WHOLE, "Fewest records", "How many records hold the known items at least.", least=2, example=5
)
WITHIN_CLASSES = about(
    Takes.CHOICE,
    "Within",
    "classes: quasi-identifiers, where there are some, may be known, too; it holds in every class, of k rows or more.",
    choices=tuple(reversed(WITHIN)),
)


class OfFewItems(PrivacyModel, Protocol):
    """What models of a few known items have in common."""

    judged_role: ClassVar[Role] = Role.ITEMS

    # Fields of members.
    column: str
    k: int
    within: str

    @property
    def within_classes(self) -> bool:
        """Whether quasi-identifiers may be known, too."""
        return self.within == "classes"

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return self._promised("a record", "records that fit")

    def promise_beside(self, schema: Schema) -> str:
        """What holds where each row is a person."""
        return self._promised("a person", "people who fit") if schema.gathered else self.promise

    def _promised(self, whom: str, found: str) -> str:
        """Return the promise, in these words."""

    def _who_knows(self, most: int, what: str, whom: str) -> str:
        known = f"one {what}" if most == 1 else f"up to {most:,} {what}s"
        also = " and the quasi-identifiers, where there are some," if self.within_classes else ""
        return f"Whoever knows {known} of {whom} in {self.column!r}{also} finds none or at least {self.k:,}"

    @property
    def _without_items(self) -> str:
        """What holds for an attacker who knows no item."""
        if not self.within_classes:
            return ""
        return " With quasi-identifiers, the same holds for an attacker who knows them and no item."

    def unsearchable(self, together: Policy) -> Iterator[Problem]:
        """Yield that another such model is asked for as well: the search for these meets one of them at a time."""
        own = (type(self), RhoUncertainty)  # for rho-uncertainty there is another search, so that is refused anyway
        others = [other.name for other in together if other.judged_role is Role.ITEMS and not isinstance(other, own)]
        if others:
            yield Problem(
                ".model",
                f"requirement {self.name} of {self.column!r} and requirement {others[0]} ask different things of "
                "items, and no search meets both. Ask for one of them.",
            )

    def _verdict(self, release: Release, found: Found, finding: str = "", **facts: Any) -> Verdict:
        """Return the verdict on all sets of items that were looked at."""
        ended = {"stopped_early": not found.complete, "items_of_first_failing": found.size}
        return Verdict(
            model=self,
            satisfied=not found.failing,
            reached=found.fewest,
            required=self.k,
            groups=found.judged,
            failing=found.failing,
            failing_rows=found.failing_rows,
            facts={"records": release.total, **facts, **ended},
            measure="fewest records",
            bound="at least",
            group="set",
            finding=finding,
        )


@parametrized
class KmAnonymity(OfFewItems):
    """Up to `m` items that occur together in a record do so in at least `k` records.

    Any items may be known, sensitive or not. A published label of an item hierarchy counts as an item: whoever knows an
    item finds at least the records that show the same label for it. With quasi-identifiers, which the intruder is taken
    to know as well, it holds in every class, and classes have k rows or more: (k, k^m)-anonymity. So the attacker may
    know the quasi-identifiers and no item. Without quasi-identifiers, an attacker knows one item at least.

    Source: Terrovitis, Mamoulis and Kalnis (2008); with quasi-identifiers: Poulis et al. (2013).
    Limit: who knows more than m items, or which items somebody does not have, may find fewer records. Where it fails,
    larger sets that hold a failing one are not counted: they may be in fewer records still.

    >>> def judged(*baskets):
    ...     release = Release.of({"basket": baskets}, basket="items")
    ...     return KmAnonymity(column="basket", k=2, m=2).audit(release)
    >>> print(judged("bread|milk", "bread|milk", "bread", ""))
    km-anonymity of 'basket' holds: fewest records 2, required at least 2 (3 sets)
    >>> print(judged("bread|milk", "bread", "milk"))
    km-anonymity of 'basket' FAILS: fewest records 1, required at least 2 (1 of 3 sets, 1 row)
    """

    name: ClassVar[str] = "km-anonymity"

    column: str = parameter(Takes.COLUMN, "Column of items", "Whose sets are judged.")
    k: int = field(metadata=FEWEST_RECORDS)
    m: int = parameter(
        Takes.WHOLE, "Known items", "How many items of a record may be known at most.", least=1, example=2
    )
    within: str = field(default="classes", metadata=WITHIN_CLASSES)

    def _promised(self, whom: str, found: str) -> str:
        return f"{self._who_knows(self.m, 'item', whom)} {found}.{self._without_items}"

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return (
            f"Who knows more than {self.m:,} items, or which items a person does not have, may find fewer; and those "
            "who fit may share a further item, which is then learnt."
        )

    @property
    def judges_apart(self) -> bool:
        """Whether classes can be judged in parts: the sets of each are counted in it alone, where they are so asked."""
        return self.within_classes

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by every set of up to m items that occurs in it, and by its classes."""
        from sfumato.models.judging.small_sets import search_sets  # compiled: only when needed

        column = release.sets(self.column)
        every, none = np.ones(len(column.labels), dtype=np.bool_), np.zeros(len(column.labels), dtype=np.bool_)
        found = search_sets(
            release, column, k=self.k, m=self.m, known=every, secret=none, within_classes=self.within_classes
        )
        return self._verdict(release, found)
