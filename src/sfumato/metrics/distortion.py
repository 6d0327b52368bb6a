from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.metrics.base import Measurement, MetricOfMasks, amount, mean_of, ratio
from sfumato.metrics.comparison import Comparison, Pair


@dataclass(frozen=True, kw_only=True)
class Distortion(MetricOfMasks):
    """Distortion ratios: what labels of quasi-identifiers and of masked sensitive columns lose together.

    A label over v of the d values of a column's domain (`Ncp` says what that is) loses (v - 1) / d. The ratio of
    quasi-identifiers is the mean over rows and columns, that of masked columns likewise, the total their sum. As
    printed it never reaches 1 for a column, so `normalized` divides by what `*` everywhere would lose; there, numbers
    lose the width of their range.
    After the distortion ratio for multiple sensitive attributes, which follows Iyengar's (2002) loss metric.
    Limit: all values of a column count the same.
    """

    name: ClassVar[str] = "distortion"
    main: ClassVar[bool] = True

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        masked = [comparison.pair(name) for name in comparison.release.masked_columns]
        quasi_identifiers = [_losses(pair, comparison.mass[2]) for pair in comparison.quasi_identifiers]
        sensitive = [_losses(pair, comparison.mass[2]) for pair in masked]
        (qi, sa), (qi_norm, sa_norm), worst = (
            [mean_of(columns, key) for columns in (quasi_identifiers, sensitive)]
            for key in ("loss", "normalized", "worst")
        )
        return Measurement(
            title="Distortion",
            value=qi + sa,
            before=0.0,
            better="lower",
            worst=sum(worst),
            note=f"normalized {amount(qi_norm + sa_norm)} of 2",
            explanation=f"Labels leave open {amount(qi, 'share')} of the values of quasi-identifiers and "
            f"{amount(sa, 'share')} of those of masked columns; the two together, so from 0 to below 2.",
            facts={
                "quasi_identifiers": qi,
                "sensitive": sa,
                "total": qi + sa,
                "normalized": {"quasi_identifiers": qi_norm, "sensitive": sa_norm, "total": qi_norm + sa_norm},
                "columns": [*quasi_identifiers, *sensitive],
                "masks": [_masks(pair) for pair in masked],
            }
            | comparison.weighted_by,
        )


def _losses(pair: Pair, dropped: float) -> dict[str, Any]:
    rows = float(pair.shown_by.sum()) + dropped
    domain = max(pair.extent.domain, 1.0)
    open_values = np.maximum(pair.extent.size, 1.0)
    lost = float(pair.shown_by @ ((open_values - 1) / domain)) + dropped * (domain - 1) / domain
    return {
        "name": pair.original.name,
        "loss": ratio(lost, rows),
        "worst": (domain - 1) / domain,
        "normalized": ratio(float(pair.shown_by @ pair.extent.loss) + dropped, rows),
    }


def _masks(pair: Pair) -> dict[str, Any]:
    """Return how many rows of a column are masked, by how far the label lies above values."""
    hierarchy = pair.original.hierarchy
    by_level: dict[int, int] = {}
    for code, (label, rows) in enumerate(zip(pair.released.labels, pair.by_rows[1].tolist(), strict=True)):
        node = hierarchy.node_of.get(label) if hierarchy is not None and code != pair.released.missing else None
        level = 0 if node is None or hierarchy is None else hierarchy.level[node]
        by_level[level] = by_level.get(level, 0) + int(rows)
    shown = by_level.pop(0, 0)
    return {
        "name": pair.original.name,
        "shown": shown,
        "masked": sum(by_level.values()),
        "levels": {str(level): rows for level, rows in sorted(by_level.items())},
    }
