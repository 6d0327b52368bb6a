"""(h, k, p)-coherence: a few known items lead to enough records, and to no sensitive item that most of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.data.schema import Schema
from sfumato.errors import Problem
from sfumato.models.base import Policy, Verdict, plain_number
from sfumato.models.km_anonymity import FEWEST_RECORDS, WITHIN_CLASSES, OfFewItems
from sfumato.models.rho_uncertainty import item_column, no_sensitive_item, sensitive_items_missing
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized


@parametrized
class HkpCoherence(OfFewItems):
    """Up to `p` public items that occur together do so in `k` records or more, of which at most a share `h` has the
    same sensitive item.

    Public items are those that are not sensitive; only they are taken to be known. A published label of an item
    hierarchy counts as an item. With quasi-identifiers, which the intruder is taken to know as well, it holds in every
    class, also for an attacker who knows no item: classes have k records or more, of which at most a share h has the
    same sensitive item. Without quasi-identifiers, an attacker knows one item at least, as the source defines it.

    Source: Xu, Wang, Fu and Yu (2008), who give h in percent.
    Limit: who knows a sensitive item, or more than p public ones, may learn more.

    >>> def judged(*baskets):
    ...     release = Release.of({"basket": baskets}, basket={"role": "items", "sensitive_items": ("wine",)})
    ...     return HkpCoherence(column="basket", h="0.5", k=2, p=2).audit(release)
    >>> print(judged("bread|wine", "bread", "bread"))
    hkp-coherence of 'basket' holds: fewest records 3, at least 2; largest share of a sensitive item 1/3, at most 0.5
    >>> print(judged("bread|wine", "bread|wine", "bread"))
    hkp-coherence of 'basket' FAILS: fewest records 3, at least 2; largest share of a sensitive item 2/3, at most 0.5
    """

    name: ClassVar[str] = "hkp-coherence"
    advice: ClassVar[str] = "Ask for rho-uncertainty where sensitive items may be known."

    column: str = parameter(Takes.COLUMN, "Column of items", "Whose sets are judged.")
    h: Exact = parameter(
        Takes.FRACTION,
        "Highest share",
        "Which share of the records that hold the known items may have the same sensitive one.",
        above=0,
        below=1,
        example=0.5,
        why="at 0 no sensitive item could stay with others, at 1 every table passes",
    )
    k: int = field(metadata=FEWEST_RECORDS)
    p: int = parameter(
        Takes.WHOLE, "Known items", "How many public items of a record may be known at most.", least=1, example=2
    )
    within: str = field(default="classes", metadata=WITHIN_CLASSES)

    exact_h = AsWritten("h")

    def _promised(self, whom: str, found: str) -> str:
        return (
            f"{self._who_knows(self.p, 'public item', whom)} {found}, "
            f"and at most a share {plain_number(self.exact_h)} of these has the same sensitive item."
            f"{self._without_items}"
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return (
            f"Who knows a sensitive item of a person, more than {self.p:,} public ones, or which items a person does "
            "not have, may learn more."
        )

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield that nothing says which items are sensitive."""
        yield from sensitive_items_missing(self, self.column, schema)

    def nothing_to_judge(self, release: Release) -> str:
        """Return why a release gives the audit nothing to judge: also where it shows no sensitive item."""
        return super().nothing_to_judge(release) or no_sensitive_item(release, self.column)

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by every set of up to p public items that occurs in it, and by its classes."""
        from sfumato.models.judging.small_sets import search_sets  # compiled: only when needed

        column = item_column(release, self.column)
        assert column.sensitive is not None
        found = search_sets(
            release,
            column,
            k=self.k,
            m=self.p,
            known=~column.sensitive,
            secret=column.sensitive,
            share=self.exact_h,
            within_classes=self.within_classes,
        )
        words = (
            f"fewest records {found.fewest:,}, at least {self.k:,}; largest share of a sensitive item {found.share}, "
            f"at most {plain_number(self.exact_h)}"
            if found.fewest is not None
            else ""
        )
        return self._verdict(release, found, words, largest_share=str(found.share))
