"""Rho-uncertainty: no set of known items leads to a sensitive item with confidence above rho."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.data.dataset import CodedSets
from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.errors import DataError, Problem
from sfumato.models.base import Policy, PrivacyModel, Verdict, plain_number
from sfumato.models.judging.weights import row_weights
from sfumato.parameters import Takes, about

CAP = 1000  # unsafe rules after which the audit need not go on


@dataclass(frozen=True, kw_only=True)
class RhoUncertainty(PrivacyModel):
    """Whoever knows some items of a record finds each further sensitive item in it with confidence at most `rho`.

    The confidence of `known -> e` is the share of records holding e among those holding all of `known`; any set of
    items of any size, sensitive or not, may be known. Knowing nothing counts only with `empty_antecedent`: then no
    sensitive item may be in more than a share rho of all records. Rules with several consequents follow from those
    with one.

    Source: Cao, Karras, Raissi and Tan (2010).
    Limit: it bounds what the published table tells, not what somebody who knows how it was made may work out.

    >>> import pyarrow as pa
    >>> from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
    >>> spec = ColumnSpec(name="basket", role=Role.ITEMS, kind=Kind.SET, sensitive_items=("wine",))
    >>> def judged(*baskets):
    ...     release = Release.from_table(pa.table({"basket": baskets}), Schema({"basket": spec}))
    ...     return RhoUncertainty(column="basket", rho="1/2").audit(release)
    >>> print(judged("bread|wine", "bread", "milk|wine", "milk"))
    rho-uncertainty of 'basket' holds: largest confidence 0.5, required at most 0.5 (2 rules)
    >>> print(judged("bread|wine", "bread", "milk|wine", "cheese"))
    rho-uncertainty of 'basket' FAILS: largest confidence 1, required at most 0.5 (1 of 2 rules)
    """

    name: ClassVar[str] = "rho-uncertainty"
    judged_role: ClassVar[Role] = Role.ITEMS

    column: str = field(metadata=about(Takes.COLUMN, "Column of items", "Whose sets are judged."))
    rho: float | str | Fraction = field(  # becomes an exact fraction
        metadata=about(
            Takes.FRACTION,
            "Highest confidence",
            "How sure known items may make anybody of a further, sensitive one.",
            above=0,
            below=1,
            example=0.3,
            why="at 0 no sensitive item could stay with others, at 1 every table passes",
        )
    )
    empty_antecedent: bool = field(
        default=False,
        metadata=about(
            Takes.FLAG, "Knowing nothing counts", "Whether the share of an item among all records is bounded, too."
        ),
    )

    @property
    def exact_rho(self) -> Fraction:
        """The parameter rho as it was written."""
        return Fraction(self.rho)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        known = "none, some or all other items" if self.empty_antecedent else "any of the items"
        return (
            f"Whoever knows {known} of a record in {self.column!r} can tell each further sensitive item in it with "
            f"confidence at most {plain_number(self.exact_rho)}."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return (
            "It bounds what the published table tells. An intruder who knows how the release was made and why an item "
            "had to go, who knows which items a person does not have, or who compares two releases of the same records "
            "is not covered."
        )

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """The column of items."""
        return (self.column,)

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield that nothing says which items are sensitive."""
        spec = schema.spec(self.column)
        if spec is not None and spec.role is Role.ITEMS and spec.sensitive_items is None:
            yield Problem(
                f"columns.{self.column}.sensitive_items",
                f"requirement {self.name} needs to know which items of column {self.column!r} are sensitive. "
                f'Add sensitive_items = [...] to [columns.{self.column}], or sensitive_items = "file.txt".',
            )

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by all rules that lead to a sensitive item; `name_items` names those of the worst rule."""
        from sfumato.models.judging.closed_sets import distinct_records, search_rules  # compiled: only when needed

        column = item_column(release, self.column)
        assert column.sensitive is not None
        found = search_rules(
            distinct_records(column, row_weights(release)),
            column.sensitive,
            self.exact_rho,
            empty_antecedent=self.empty_antecedent,
            cap=CAP,
        )
        facts: dict[str, Any] = {"records": release.total, "stopped_early": not found.complete}
        if found.support:
            facts["worst_rule"] = {
                "confidence": f"{found.hits}/{found.support}",
                "antecedent_size": int(found.antecedent.size),
            }
            if name_items:
                facts["worst_rule"]["antecedent"] = [column.labels[item] for item in found.antecedent]
                facts["worst_rule"]["item"] = column.labels[found.item]
        return Verdict(
            model=self,
            satisfied=not found.unsafe,
            reached=found.hits / found.support if found.support else None,
            required=float(self.exact_rho),
            groups=found.rules,
            failing=found.unsafe,
            facts=facts,
            measure="largest confidence",
            bound="at most",
            group="rule",
        )


def item_column(release: Release, name: str) -> CodedSets:
    """Return a column of items of which some are known to be sensitive, or raise."""
    column = release.sets(name)
    if column.sensitive is None:
        raise DataError(
            f"Column {name!r} is to be judged by its sensitive items, but nothing says which these are.\n"
            f"Name them in the plan: [columns.{name}] sensitive_items = [...], or a file with one a line."
        )
    return column
