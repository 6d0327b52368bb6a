from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.base import Measurement, MetricOfClasses, amount, mean_of, ratio
from sfumato.metrics.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class KlDivergence(MetricOfClasses):
    """How far the distribution of each quasi-identifier, as read off the release, is from the original one.

    The Kullback-Leibler divergence in nats, after Kifer and Gehrke (2006), for one column at a time; the headline is
    the mean over columns. A reader of the release takes all values of the domain (`Ncp` says what that is) that a label
    stands for as equally likely, whether or not they occur; a dropped record could have had any value.
    Limit: it says nothing about how columns hang together; `query-error` and `classification` do.

    >>> before, after = {"sex": ["f", "f", "f", "m"]}, {"sex": ["*", "*", "*", "*"]}
    >>> print(KlDivergence().of(Comparison.of_tables(before, after, sex="quasi-identifier")))
    Divergence of single columns: 0.1308 nats (original: 0 nats)
    """

    name: ClassVar[str] = "kl-divergence"

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        columns: list[dict[str, Any]] = []
        for pair in comparison.quasi_identifiers:
            extent, (_, kept, dropped) = pair.extent, comparison.mass
            read = extent.spread(pair.shown_by) + ratio(dropped, extent.domain) * extent.width
            divergence, unseen = kl_divergence(pair.before, read, total=kept + dropped, domain=extent.domain)
            columns.append({"name": pair.original.name, "divergence": divergence, "values_unseen": unseen})
        value = mean_of(columns, "divergence")
        return Measurement(
            title="Divergence of single columns",
            value=value,
            before=0.0,
            unit="nats",
            better="lower",
            explanation=f"Read value by value, a quasi-identifier's distribution is {amount(value, 'nats')} away from "
            "the original on average; 0 is the same distribution.",
            facts={"columns": columns, "rows_dropped": comparison.n_dropped} | comparison.weighted_by,
        )


def kl_divergence(
    before: NDArray[Any], read: NDArray[np.float64], *, total: float | None = None, domain: float | None = None
) -> tuple[float, int]:
    """Return the divergence of `before` from `read`, both weights of values, and how many values `read` does not know.

    `total` is the weight of all values of the domain, `domain` how many there are, should some not occur. Only a table
    that is no generalization of the original can lack values; one more record that could have had any value then keeps
    the divergence finite.

    >>> kl_divergence(np.array([1, 1]), np.array([3.0, 3.0])), kl_divergence(np.array([1, 0]), np.array([0.0, 1.0]))[1]
    ((0.0, 0), 1)
    """
    occurs = before > 0
    unseen = int((read[occurs] <= 0).sum())
    total = float(read.sum()) if total is None else total
    if unseen:
        read, total = read + 1 / (domain or read.size), total + 1
    if not occurs.any():
        return 0.0, 0
    p, q = before[occurs] / before.sum(), read[occurs] / total
    return max(0.0, float(p @ np.log(p / q))), unseen
