from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.metrics.base import Measurement, MetricOfMasks, amount, little_left, mean_of
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.ncp import detail_lost


@dataclass(frozen=True, kw_only=True)
class MaskedDetail(MetricOfMasks):
    """How much of its range a masked sensitive column leaves open, by the measure of quasi-identifiers (`Ncp`).

    The mean over masked columns and records, 0..1; a record that was dropped counts 1 in every column.
    Limit: all values of a column count the same, whether anybody needs them or not.
    """

    name: ClassVar[str] = "masked-detail"
    main: ClassVar[bool] = True

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        columns = [detail_lost(comparison, comparison.pair(name)) for name in comparison.release.masked_columns]
        value = mean_of(columns, "loss")
        return Measurement.of_share(
            title="Detail lost in masked columns",
            value=value,
            worst=1.0,
            explanation=f"On average a masked column leaves {amount(value, 'share')} of its values open: "
            "0 % is the original, 100 % is nothing left.",
            warning=little_left(value, "the masked columns"),
            facts={"columns": columns, "rows_dropped": comparison.n_dropped} | comparison.weighted_by,
        )
