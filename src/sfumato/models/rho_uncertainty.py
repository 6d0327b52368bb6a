"""Rho-uncertainty: no set of known items leads to a sensitive item with confidence above rho."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets
from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.errors import DataError, Problem
from sfumato.models.base import Policy, PrivacyModel, Verdict, plain_number
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.weights import row_weights
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized

WITHIN = ("table", "classes")
CAP = 1000  # unsafe rules after which the audit need not go on


@parametrized
class RhoUncertainty(PrivacyModel):
    """Whoever knows some items of a record finds each further sensitive item in it with confidence at most `rho`.

    The confidence of `known -> e` is the share of records holding e among those holding all of `known`; any set of
    items of any size, sensitive or not, may be known. Knowing nothing counts only with `empty_antecedent`: then no
    sensitive item may be in more than a share rho of all records. Rules with several consequents follow from those
    with one.

    With `within = "classes"` the same holds for whoever also knows the quasi-identifiers: in each class of records that
    share them, and then in the whole table, since a share in a union lies between those in its parts. The class alone
    is something that is known, so there no sensitive item may be in more than a share rho of a class.

    Source: Cao, Karras, Raissi and Tan (2010).
    Limit: it bounds what the published table tells, not what somebody who knows how it was made may work out.

    >>> def judged(*baskets):
    ...     release = Release.of({"basket": baskets}, basket={"role": "items", "sensitive_items": ("wine",)})
    ...     return RhoUncertainty(column="basket", rho="1/2").audit(release)
    >>> print(judged("bread|wine", "bread", "milk|wine", "milk"))
    rho-uncertainty of 'basket' holds: largest confidence 0.5, required at most 0.5 (2 rules)
    >>> print(judged("bread|wine", "bread", "milk|wine", "cheese"))
    rho-uncertainty of 'basket' FAILS: largest confidence 1, required at most 0.5 (1 of 2 rules)
    """

    name: ClassVar[str] = "rho-uncertainty"
    judged_role: ClassVar[Role] = Role.ITEMS

    column: str = parameter(Takes.COLUMN, "Column of items", "Whose sets are judged.")
    rho: Exact = parameter(
        Takes.FRACTION,
        "Highest confidence",
        "How sure known items may make anybody of a further, sensitive one.",
        above=0,
        below=1,
        example=0.3,
        why="at 0 no sensitive item could stay with others, at 1 every table passes",
    )
    empty_antecedent: bool = parameter(
        Takes.FLAG,
        "Knowing nothing counts",
        "Whether the share of an item among all records is bounded, too.",
        default=False,
    )

    within: str = parameter(
        Takes.CHOICE,
        "Within",
        "Whether rho holds for who knows items only, or also for who knows the quasi-identifiers besides.",
        default="table",
        choices=WITHIN,
    )

    exact_rho = AsWritten("rho")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return self._promised("a record", "in it")

    def _promised(self, whom: str, where: str) -> str:
        known = "none, some or all other items" if self.empty_antecedent else "any of the items"
        if self.within == "classes":
            known = "the quasi-identifiers and none, some or all other items"
        return (
            f"Whoever knows {known} of {whom} in {self.column!r} can tell each further sensitive item {where} with "
            f"confidence at most {plain_number(self.exact_rho)}."
        )

    def promise_beside(self, schema: Schema) -> str:
        """Say which of the two promises is given where a plan has quasi-identifiers besides."""
        promise = self._promised("a person", "of theirs") if schema.gathered else self.promise
        if not any(spec.role is Role.QUASI_IDENTIFIER for spec in schema.columns.values()):
            return promise
        if self.within == "classes":
            return f"{promise} That holds in every class of quasi-identifiers, and in the table as a whole."
        return (
            f"{promise} That is for who knows items only: whoever also knows a person's quasi-identifiers may "
            "find the same sensitive item in a whole class."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return (
            "It bounds what the published table tells. An intruder who knows how the release was made and why an item "
            "had to go, who knows which items a person does not have, or who compares two releases of the same table "
            "is not covered" + (", nor is one who also knows quasi-identifiers." if self.within == "table" else ".")
        )

    @property
    def advice(self) -> str:
        """What stops that, too."""
        return 'Ask for it within = "classes" where quasi-identifiers may be known.' if self.within == "table" else ""

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield that nothing says which items are sensitive."""
        quasi_identifiers = [each for each in schema.columns.values() if each.role is Role.QUASI_IDENTIFIER]
        if self.within == "classes" and not quasi_identifiers:
            yield Problem(
                ".within",
                f'requirement {self.name} is asked for within = "classes", but no column is a quasi-identifier: there '
                'are no classes. Give a column that role, or ask for within = "table".',
            )
        yield from sensitive_items_missing(self, self.column, schema)

    def nothing_to_judge(self, release: Release) -> str:
        """Return why a release gives the audit nothing to judge: also where it shows no sensitive item."""
        return super().nothing_to_judge(release) or no_sensitive_item(release, self.column)

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by all rules that lead to a sensitive item; `name_items` names those of the worst rule."""
        from sfumato.models.judging.closed_sets import distinct_records, search_rules  # compiled: only when needed

        column = item_column(release, self.column)
        classes = classes_of(release).class_of if self.within == "classes" else None
        if classes is not None:
            column = with_class(column, classes)
        assert column.sensitive is not None
        found = search_rules(
            distinct_records(column, row_weights(release)),
            column.sensitive,
            self.exact_rho,
            empty_antecedent=self.empty_antecedent,
            cap=CAP,
        )
        facts: dict[str, Any] = {"records": release.total, "stopped_early": not found.complete}
        if classes is not None:
            facts["classes"] = int(classes.max(initial=-1)) + 1
        if found.support:
            known = [item for item in found.antecedent.tolist() if classes is None or item >= facts["classes"]]
            facts["worst_rule"] = {"confidence": f"{found.hits}/{found.support}", "antecedent_size": len(known)}
            if classes is not None:
                facts["worst_rule"]["in_a_class"] = len(known) < found.antecedent.size
            if name_items:
                facts["worst_rule"]["antecedent"] = [column.labels[item] for item in known]
                facts["worst_rule"]["item"] = column.labels[found.item]
        return Verdict(
            model=self,
            satisfied=not found.unsafe,
            reached=found.hits / found.support if found.support else 0.0 if column.sensitive.any() else None,
            required=float(self.exact_rho),
            groups=found.rules,
            failing=found.unsafe,
            facts=facts,
            measure="largest confidence",
            bound="at most",
            group="rule",
        )


def no_sensitive_item(release: Release, column: str) -> str:
    """Return that a column shows no sensitive item, where that is so."""
    sensitive = item_column(release, column).sensitive
    assert sensitive is not None
    return "" if sensitive.any() else f"no cell of {column!r} shows an item that the plan calls sensitive"


def sensitive_items_missing(model: PrivacyModel, column: str, schema: Schema) -> Iterator[Problem]:
    """Yield that nothing says which items of a column are sensitive."""
    spec = schema.spec(column)
    if spec is not None and spec.role is Role.ITEMS and spec.sensitive_items is None:
        yield Problem(
            f"columns.{column}.sensitive_items",
            f"requirement {model.name} needs to know which items of column {column!r} are sensitive. "
            f'Add sensitive_items = [...] to [columns.{column}], or sensitive_items = "file.txt".',
        )


def with_class(column: CodedSets, class_of: NDArray[np.int32]) -> CodedSets:
    """Return records that hold their class as one more item, before all others: rules with it are rules within it.

    No label of an item is lost or taken, and no class is sensitive.
    """
    assert column.sensitive is not None
    n_classes = int(class_of.max(initial=-1)) + 1
    return replace(
        column,
        items=np.insert(column.items + n_classes, column.start[:-1], class_of),
        start=column.start + np.arange(column.start.size),
        labels=(*(f"class {number}" for number in range(n_classes)), *column.labels),
        sensitive=np.concatenate([np.zeros(n_classes, dtype=np.bool_), column.sensitive]),
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
