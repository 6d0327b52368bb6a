"""What partial suppression is after: few occurrences withheld, and a distribution or rules that stay as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from sfumato.metrics.base import Asked, Measurement, Metric, amount
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.item_loss import ItemLoss, columns_of_items
from sfumato.metrics.rule_retention import RuleRetention
from sfumato.parameters import one_of

GOALS = ("distribution", "rules")


@dataclass(frozen=True, kw_only=True)
class SuppressionObjective(Metric):
    """The objective of Jia, Pan, Xu, Zhu and Lo (2014, Equation 1), one number to compare searches by; 0 is the best.

    `distribution`: the share of occurrences withheld times the divergence of items' shares (Kullback-Leibler, from the
    release to the original). `rules`: the same share over the Jaccard index of rules without sensitive consequents, at
    the highest confidence that is asked for, as if one rule were kept where none is.
    Limit: a product hides which of its factors is to blame; item-loss and rule-retention show both.

    >>> before = {"basket": ["bread|wine", "bread|milk", "milk|bread"]}
    >>> after = {"basket": ["bread", "bread|milk", "milk|bread"]}
    >>> baskets = Comparison.of_tables(before, after, basket={"role": "items", "sensitive_items": ("wine",)})
    >>> for goal in GOALS:
    ...     print(SuppressionObjective(column="basket", goal=goal).of(baskets))
    Objective of suppression in 'basket', distribution: 0.03039 (original: 0)
    Objective of suppression in 'basket', rules: 0.3333 (original: 0)
    """

    name: ClassVar[str] = "suppression-objective"
    by_rows: ClassVar[str] = "the paper that it is from counts records"

    column: str
    goal: str = "distribution"
    rules: Mapping[str, Any] = field(default_factory=dict, hash=False)  # parameters of association rules

    def __post_init__(self) -> None:
        one_of(self.goal, "goal of suppression-objective", GOALS)

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield both objectives for each column of items some of which are sensitive."""
        for column in columns_of_items(comparison):
            for goal in GOALS:
                yield cls(column=column, goal=goal, rules=asked.rules)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        lost = ItemLoss(column=self.column).of(comparison)
        facts: dict[str, Any] = {"column": self.column, "goal": self.goal, "withheld_share": lost.value}
        note = ""
        if self.goal == "distribution":
            facts["kl_divergence"] = lost.facts["kl_divergence"]
            value = lost.value * lost.facts["kl_divergence"]
            words = f"times a divergence of {amount(lost.facts['kl_divergence'])} nats"
        else:
            found = RuleRetention(column=self.column, **self.rules).of(comparison)
            facts["jaccard"] = kept = found.value
            if not kept:
                kept = 1 / found.facts["confidences"][-1]["consequent_not_sensitive"]["either"]
                note = "no rule is kept: as if one were"
            value = lost.value / kept
            words = f"over a Jaccard index of rules of {amount(kept)}{f' ({note})' if note else ''}"
        return Measurement(
            title=f"Objective of suppression in {self.column!r}, {self.goal}",
            value=value,
            before=0.0,
            better="lower",
            note=note,
            explanation=f"{amount(lost.value, 'share')} of the occurrences are lost, {words}: what the paper on "
            "partial suppression minimizes.",
            facts=facts,
        )
