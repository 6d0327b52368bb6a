from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from sfumato.metrics.base import Asked, Measurement, Metric, amount, little_left, mean_of
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.ncp import detail_lost


@dataclass(frozen=True, kw_only=True)
class MaskedDetail(Metric):
    """How much of its range a masked sensitive column leaves open, by the measure of quasi-identifiers (`Ncp`).

    The mean over masked columns and records, 0..1; a record that was dropped counts 1 in every column.
    Limit: all values of a column count the same, whether anybody needs them or not.
    """

    name: ClassVar[str] = "masked-detail"
    main: ClassVar[bool] = True

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where columns are masked."""
        if comparison.release.masked_columns:
            yield cls()

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        columns = [detail_lost(comparison, comparison.pair(name)) for name in comparison.release.masked_columns]
        value = mean_of(columns, "loss")
        return Measurement(
            title="Detail lost in masked columns",
            value=value,
            before=0.0,
            unit="share",
            better="lower",
            worst=1.0,
            explanation=f"On average a masked column leaves {amount(value, 'share')} of its values open: "
            "0 % is the original, 100 % is nothing left.",
            warning=little_left(value, "the masked columns"),
            facts={"columns": columns, "rows_dropped": comparison.n_dropped} | comparison.weighted_by,
        )
