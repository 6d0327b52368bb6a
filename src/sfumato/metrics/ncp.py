from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.metrics.base import Measurement, MetricOfClasses, amount, little_left, mean_of, ratio
from sfumato.metrics.comparison import Comparison, Pair


@dataclass(frozen=True, kw_only=True)
class Ncp(MetricOfClasses):
    """The normalized certainty penalty: how much of a column's domain a published quasi-identifier leaves open.

    The mean over quasi-identifiers and records, 0..1, after Xu et al. (2006) and, for categories, Iyengar (2002).
    Numbers and dates: the width of the label over the width of the domain. Others: (values that the label stands
    for - 1) / (values of the domain - 1), whether or not they occur. The domain holds the leaves of the hierarchy, the
    declared values and those that occur; of numbers, all from the smallest to the largest one. A record that was
    dropped counts 1 in every column. The fact `loss_of_occurring` counts occurring values only, as searches do.
    Limit: all columns count the same, whether anybody needs them or not; with weights in the plan, the fact `weighted`
    is the mean by these. Of a bare table it cannot tell a mean of a class from a value: it says where it met such.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 25]", "[20, 25]", "30", "40"]}
    >>> print(Ncp().of(Comparison.of_tables(before, after, age="quasi-identifier")))
    Detail lost: 12.5 % (original: 0 %)
    """

    name: ClassVar[str] = "ncp"
    main: ClassVar[bool] = True

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        columns = [detail_lost(comparison, pair) for pair in comparison.quasi_identifiers]
        value = mean_of(columns, "loss")
        numbers = (pair for pair in comparison.quasi_identifiers if pair.original.values is not None)
        strange = ", ".join(repr(pair.original.name) for pair in numbers if pair.cover.outside.any())
        return Measurement.of_share(
            title="Detail lost in quasi-identifiers" if comparison.release.masked_columns else "Detail lost",
            value=value,
            explanation=f"On average a quasi-identifier leaves {amount(value, 'share')} of its range open: "
            "0 % is the original, 100 % is nothing left.",
            worst=1.0,
            note=strange and f"what {strange} shows and the original lacks counts as the nearest number, without loss",
            warning=little_left(value, "the quasi-identifiers"),
            facts={
                "columns": columns,
                "rows_dropped": comparison.n_dropped,
                "loss_of_occurring": mean_of(columns, "loss_of_occurring"),
            }
            | _weighted(comparison, columns)
            | comparison.weighted_by,
        )


def _weighted(comparison: Comparison, columns: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the loss as the weights of a plan have it, where it gives some."""
    weights = [pair.original.weight for pair in comparison.quasi_identifiers]
    if len(set(weights)) < 2:
        return {}
    lost = sum(weight * float(column["loss"]) for weight, column in zip(weights, columns, strict=True))
    return {"weighted": ratio(lost, sum(weights))}


def detail_lost(comparison: Comparison, pair: Pair) -> dict[str, Any]:
    """Return how much of its domain a column leaves open, over all rows and over those that were kept."""
    of_shown = float(pair.shown_by @ pair.extent.loss)
    of_occurring = float(pair.shown_by @ pair.cover.loss(pair.original))
    whole, kept, dropped = comparison.mass
    return {
        "name": pair.original.name,
        "loss": ratio(of_shown + dropped, whole),
        "loss_of_kept": ratio(of_shown, kept),
        "loss_of_occurring": ratio(of_occurring + dropped, whole),
        "labels_outside": int(pair.cover.outside.sum()),
    }
