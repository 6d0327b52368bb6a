from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets
from sfumato.data.schema import Role
from sfumato.metrics.base import Asked, Measurement, Metric, amount, little_left, plain, ratio
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.general_items import GeneralItems, Sides, general_items, item_sides

TABLE = 100  # items in the table of frequencies, the most frequent ones


@dataclass(frozen=True, kw_only=True)
class ItemLoss(Metric):
    """How many occurrences of items were withheld, and how far the shares of items moved.

    Relative to dropping everything sensitive, 1 is what anybody gets for free; only what is below is won. Distances are
    between the shares that items have of all occurrences: Kullback-Leibler from the release to the original, and the
    symmetric one of Jensen and Shannon, at most ln 2 = 0.693, both in nats.
    An item that is published under a label of the column's hierarchy (or of the tree that stands in for one) loses
    (items below the label - 1) / (all items - 1), a withheld one 1; facts count both. A label that all items below it
    are published under stands for as many of them as its records have, on average: rows come in any order. Where some
    of these items are also published as themselves, or under another label, it stands for one.
    Limit: new labels that are in no hierarchy stand for nothing.

    >>> before, after = {"basket": ["bread|wine", "bread", "milk|wine"]}, {"basket": ["bread", "bread", "milk|wine"]}
    >>> baskets = Comparison.of_tables(before, after, basket={"role": "items", "sensitive_items": ("wine",)})
    >>> print(ItemLoss(column="basket").of(baskets))
    Items lost from 'basket': 20 % (original: 0 %)
    """

    name: ClassVar[str] = "item-loss"
    main: ClassVar[bool] = True

    column: str

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric for each column of items."""
        for column in columns_of_items(comparison):
            yield cls(column=column)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        sides = item_sides(comparison, self.column)
        before = comparison.occurrences(sides.before, sides.sensitive.size, before=True)
        after = comparison.occurrences(sides.after, sides.sensitive.size, before=False)
        known = after[: sides.n_original]
        general = general_items(comparison, self.column, sides)
        under = _under_labels(comparison, sides, general, before, after)
        lost = plain(before.sum() - known.sum() - under.sum())
        softened = float((under * general.loss).sum())
        secret = sides.sensitive[: sides.n_original]
        of_secret = plain(before[: sides.n_original][secret].sum())
        lost_secret = of_secret - plain(known[secret].sum())
        divergence, symmetric = distances(before[: sides.n_original], known)
        value = ratio(lost + softened, before.sum())
        generalized = plain(under[general.loss > 0].sum())
        also = (
            f" {amount(generalized)} others are published as a more general label, which loses "
            f"{amount(ratio(softened, generalized), 'share')} of each."
            if generalized
            else ""
        )
        of_secrets = (
            f": {amount(ratio(lost, of_secret), 'share')} of what dropping everything sensitive would cost. "
            f"{amount(ratio(lost_secret, of_secret), 'share')} of the sensitive ones are gone"
            if of_secret
            else ""
        )
        return Measurement.of_share(
            title=f"Items lost from {self.column!r}",
            value=value,
            worst=1.0,
            warning=little_left(value, f"the items of {self.column!r}"),
            explanation=f"{amount(lost)} of {amount(float(before.sum()))} occurrences are not in the release"
            f"{of_secrets}.{also}",
            facts={
                "column": self.column,
                "occurrences_before": plain(before.sum()),
                "occurrences": plain(after.sum()),
                "withheld": lost,
                "generalized": generalized,
                "generalized_loss": softened,
                "sensitive_before": of_secret,
                "sensitive_withheld": lost_secret,
                "sensitive_share": ratio(of_secret, before.sum()),
                "relative_to_dropping_all_sensitive": ratio(lost, of_secret),
                "kl_divergence": divergence,
                "symmetric_divergence": symmetric,
                "new_labels": len(sides.labels) - sides.n_original,
                "frequencies": _frequencies(sides, before, after),
            }
            | comparison.weighted_by,
        )


def _under_labels(
    comparison: Comparison, sides: Sides, general: GeneralItems, before: NDArray[Any], after: NDArray[Any]
) -> NDArray[Any]:
    """Return how many occurrences of the original each new label stands for, (v,).

    A label that is shown for all items below it stands for as many of them as these records have; any other for one.
    """
    new = np.arange(after.size) >= sides.n_original
    under = np.where(new, after, 0)
    if not general.any:
        return under
    size = np.diff(sides.before.start)
    keys = np.repeat(np.arange(size.size), size) * after.size + general.node_of[sides.before.items]
    record, items = np.divmod(np.unique(keys), after.size)
    once = sides.before.with_items(record, items, labels=sides.labels, sensitive=sides.sensitive)
    holders = comparison.occurrences(once, after.size, before=True)
    below = np.bincount(general.node_of[: sides.n_original], before[: sides.n_original], minlength=after.size)
    some = np.rint(below * under / np.where(holders > 0, holders, 1))
    return np.where(new & general.in_cut & (holders > 0), np.where(under < holders, some, below), under)


def columns_of_items(comparison: Comparison) -> Iterator[str]:
    """Yield the columns of items that are published as such."""
    for column in comparison.dataset.with_role(Role.ITEMS):
        published = comparison.release.columns.get(column.name)
        if isinstance(published, CodedSets) and isinstance(column, CodedSets):
            yield column.name


def distances(before: NDArray[Any], after: NDArray[Any]) -> tuple[float, float]:
    """Return Kullback-Leibler and Jensen-Shannon divergence of counts, 0 when one side is empty.

    >>> [round(distance, 4) for distance in distances(np.array([1, 1]), np.array([3, 1]))]
    [0.1308, 0.0338]
    """
    if not before.sum() or not after.sum():
        return 0.0, 0.0
    p, q = before / before.sum(), after / after.sum()
    middle = (p + q) / 2
    return _divergence(q, p), (_divergence(p, middle) + _divergence(q, middle)) / 2


def _divergence(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    there = p > 0
    with np.errstate(divide="ignore"):  # what q never has is infinitely far
        return max(0.0, float((p[there] * np.log(p[there] / q[there])).sum()))


def _frequencies(sides: Sides, before: NDArray[Any], after: NDArray[Any]) -> list[dict[str, Any]]:
    order = np.argsort(-before, kind="stable")[:TABLE]
    return [
        {
            "item": sides.labels[item],
            "sensitive": bool(sides.sensitive[item]),
            "before": plain(before[item]),
            "after": plain(after[item]),
        }
        for item in order
    ]
