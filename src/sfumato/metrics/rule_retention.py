from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.metrics.base import Asked, Measurement, Metric, amount, ratio
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.general_items import GeneralItems, general_items, item_sides
from sfumato.metrics.item_loss import columns_of_items
from sfumato.models.base import plain_number
from sfumato.parameters import exact_fraction, whole_number

if TYPE_CHECKING:
    from sfumato.metrics.itemsets import Itemsets

SUPPORT = Fraction(5, 10_000)
CONFIDENCES = (Fraction(3, 10), Fraction(7, 10))


@dataclass(frozen=True, kw_only=True)
class RuleRetention(Metric):
    """How many association rules are the same before and after: the Jaccard index of the two sets of rules.

    Rules X -> Y with frequent X and Y together and enough confidence, Y without sensitive items. The headline is the
    index at the higher confidence; the facts hold both, and the index of rules without any sensitive item. A rule
    between general labels counts as all rules between items below them.
    Limit: itemsets of more than `longest` items are not looked at, nor more than `most` of them, rarest items first.

    >>> before = {"basket": ["bread|wine", "bread|milk", "milk|bread"]}
    >>> after = {"basket": ["bread", "bread|milk", "milk|bread"]}
    >>> baskets = Comparison.of_tables(before, after, basket={"role": "items", "sensitive_items": ("wine",)})
    >>> measured = RuleRetention(column="basket").of(baskets)
    >>> print(measured)
    Rules kept in 'basket': 50 % (original: 100 %)
    >>> measured.facts["confidences"][0]["nothing_sensitive"]["jaccard"]
    1.0
    """

    name: ClassVar[str] = "rule-retention"
    by_rows: ClassVar[str] = "the support of a rule is a number of records"

    column: str
    support: float | str | Fraction = SUPPORT  # share of records that hold X and Y
    confidences: tuple[float | str | Fraction, ...] = CONFIDENCES
    longest: int = 5
    most: int = 1_000_000

    def __post_init__(self) -> None:
        support = exact_fraction(self.support, "support of rule-retention")
        confidences = tuple(exact_fraction(value, "confidence of rule-retention") for value in self.confidences)
        if not 0 < support <= 1 or not confidences or not all(0 < value <= 1 for value in confidences):
            raise PolicyError(
                "Support and confidence of rule-retention must be more than 0 and at most 1, but were given as "
                f"{self.support!r} and {self.confidences!r}.\nWrite shares such as 0.0005 and (0.3, 0.7)."
            )
        whole_number(self.longest, "longest of rule-retention", 2, 5)
        whole_number(self.most, "most of rule-retention", 1, 1_000_000)
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "confidences", confidences)

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric for each column of items some of which are sensitive."""
        for column in columns_of_items(comparison):
            yield cls(column=column, **asked.rules)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison; what was found is kept for the objective that is computed from it."""
        kept = _MEASURED.setdefault(comparison, {})
        if self not in kept:
            kept[self] = self._of(comparison)
        return kept[self]

    def _of(self, comparison: Comparison) -> Measurement:
        from sfumato.kernels.items.itemsets import BOTH
        from sfumato.kernels.items.supports import item_codes
        from sfumato.metrics.itemsets import frequent_itemsets, rules_of

        sides = item_sides(comparison, self.column)
        general = general_items(comparison, self.column, sides)
        n_records = sides.before.start.size - 1
        least = max(1, -(-n_records * Fraction(self.support).numerator // Fraction(self.support).denominator))
        code = item_codes(len(sides.labels))
        found = [
            frequent_itemsets(
                side.start, side.items, len(sides.labels), least=least, longest=self.longest, most=self.most
            )
            for side in (sides.before, sides.after)
        ]
        rows: list[dict[str, Any]] = []
        for confidence in (Fraction(value) for value in self.confidences):
            exact = (confidence.numerator, confidence.denominator)
            before = rules_of(found[0], sides.sensitive, code, exact, name=code[general.node_of])
            after = rules_of(found[1], sides.sensitive, code, exact)
            apart = np.ones(before.keys.size, bool) if not general.any else _apart(found[0], general)[before.itemset]
            weight = _specialized(found[1], general)[after.itemset]
            plain = (before.kind == BOTH, after.kind == BOTH)
            rows.append(
                {
                    "confidence": plain_number(confidence),
                    "consequent_not_sensitive": _kept(before.keys, apart, after.keys, weight),
                    "nothing_sensitive": _kept(
                        before.keys[plain[0]], apart[plain[0]], after.keys[plain[1]], weight[plain[1]]
                    ),
                }
            )
        last = rows[-1]["consequent_not_sensitive"]
        return Measurement(
            title=f"Rules kept in {self.column!r}",
            value=last["jaccard"],
            before=1.0,
            unit="share",
            better="higher",
            worst=0.0,
            explanation=f"Of {amount(last['either'])} rules without a sensitive consequent, in the original or the "
            f"release, {amount(last['both'])} are in both (support at least {amount(least)} {comparison.those}, "
            f"confidence at least {amount(float(Fraction(self.confidences[-1])), 'share')}).",
            facts={
                "column": self.column,
                "support": plain_number(self.support),
                "least_records": least,
                "longest": self.longest,
                "itemsets_before": int(found[0].size.size),
                "itemsets": int(found[1].size.size),
                "complete": found[0].complete and found[1].complete,
                "confidences": rows,
            },
        )


_MEASURED: WeakKeyDictionary[Comparison, dict[RuleRetention, Measurement]] = WeakKeyDictionary()


def _apart(itemsets: Itemsets, general: GeneralItems) -> NDArray[np.bool_]:
    """Return whether the items of a set are published under different labels, shape (m,)."""
    node = general.node_of[np.where(_inside(itemsets), itemsets.members, 0)]
    same = np.zeros(itemsets.size.size, dtype=np.bool_)
    for i, j in combinations(range(node.shape[1]), 2):
        same |= (node[:, i] == node[:, j]) & (j < itemsets.size)
    return ~same


def _specialized(itemsets: Itemsets, general: GeneralItems) -> NDArray[np.float64]:
    """Return how many sets of the original's items each published set stands for, one below each label, shape (m,)."""
    inside = _inside(itemsets)
    below = np.maximum(general.items_of, 1)[np.where(inside, itemsets.members, 0)]
    return np.asarray(np.where(inside, below, 1.0).prod(axis=1))


def _inside(itemsets: Itemsets) -> NDArray[np.bool_]:
    """Return which places of a row hold members, shape (m, longest)."""
    return np.asarray(np.arange(itemsets.members.shape[1]) < itemsets.size[:, None])


def _kept(
    before: NDArray[np.uint64], apart: NDArray[np.bool_], after: NDArray[np.uint64], weight: NDArray[np.float64]
) -> dict[str, Any]:
    """Compare rules; one between general labels stands for all rules between items below them, as the paper has it."""
    # Sorted one by one: tens of millions of rules, for which np.isin takes gigabytes and minutes.
    sought, there = np.sort(before[apart]), np.sort(after)
    place = np.searchsorted(there, sought)
    both = int((there.take(place, mode="clip") == sought).sum()) if there.size else 0
    specialized = int(weight.sum())
    either = int(before.size) + specialized - both
    return {
        "before": int(before.size),
        "after": specialized,
        "both": both,
        "either": either,
        "jaccard": ratio(both, either) if either else 1.0,
    }
