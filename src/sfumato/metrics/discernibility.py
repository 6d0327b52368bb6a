from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.base import Measurement, MetricOfClasses, ratio
from sfumato.metrics.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class Discernibility(MetricOfClasses):
    """The discernibility metric C_DM: how many pairs of records can no longer be told apart.

    The sum of squared class sizes, plus the number of rows for each record that was dropped. After Bayardo and Agrawal
    (2005).
    Limit: it looks at the sizes of classes only, not at what their labels still say.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 25]", "[20, 25]", "30"]}
    >>> print(Discernibility().of(Comparison.of_tables(before, after, age="quasi-identifier")))
    Discernibility: 9 (original: 4)
    """

    name: ClassVar[str] = "discernibility"
    by_rows: ClassVar[str] = "classes are made of the people in the table"

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        squares = _sum_of_squares(comparison.distinct_after.weight)
        penalty = comparison.n_dropped * comparison.dataset.total
        rows, one = comparison.n_rows, "person" if comparison.people else "record"
        return Measurement(
            title="Discernibility",
            value=float(squares + penalty),
            before=float(_sum_of_squares(comparison.distinct_before.weight)),
            better="lower",
            worst=float(rows * rows),
            explanation=f"The sum of squared class sizes; a dropped {one} counts as if it could be any other.",
            facts={
                "from_classes": squares,
                "from_dropped": penalty,
                "rows_dropped": comparison.n_dropped,
                "share_of_worst": ratio(squares + penalty, rows * rows),
            },
        )


def _sum_of_squares(sizes: NDArray[np.int64]) -> int:
    return int(sizes @ sizes)
