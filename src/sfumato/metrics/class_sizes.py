from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.base import About, Measurement, MetricOfClasses, amount
from sfumato.metrics.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class ClassSizes(MetricOfClasses):
    """How large the classes are: groups of records with equal quasi-identifiers.

    The headline is the smallest class.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 25]", "[20, 25]", "[30, 40]", "[30, 40]"]}
    >>> print(ClassSizes().of(Comparison.of_tables(before, after, age="quasi-identifier")))
    Smallest class: 2 rows (original: 1 row)
    """

    name: ClassVar[str] = "class-sizes"
    about: ClassVar[About] = About.RISK
    by_rows: ClassVar[str] = "who hides among others hides among those in the table"

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        before, after = comparison.distinct_before.weight, comparison.distinct_after.weight
        largest = max(int(before.max(initial=0)), int(after.max(initial=0)))
        floors = _floors(largest)
        in_before, in_after = _histogram(before, floors), _histogram(after, floors)
        bins = [
            {
                "from": floor,
                "to": (floors[position + 1] - 1) if position + 1 < len(floors) else largest,
                "classes_before": in_before[position][0],
                "rows_before": in_before[position][1],
                "classes": in_after[position][0],
                "rows": in_after[position][1],
            }
            for position, floor in enumerate(floors)
        ]
        summary = _summary(after)
        return Measurement(
            title="Smallest class",
            value=float(summary["min"]),
            before=float(_summary(before)["min"]),
            unit=comparison.counted,
            explanation=f"The release has {amount(summary['classes'])} classes of {amount(summary['min'])} to "
            f"{amount(summary['max'])} {comparison.those}; half of them have {amount(summary['median'])} or fewer.",
            facts={"bins": bins, "before": _summary(before), "after": summary},
        )


def _floors(largest: int) -> list[int]:
    """Return where the bins of a histogram of sizes begin: 1, 2, 3, 4, 5, 10, 20, 50, 100, ...

    >>> _floors(60)
    [1, 2, 3, 4, 5, 10, 20, 50]
    """
    floors = [1, 2, 3, 4]
    power = 1
    while 5 * power <= largest:
        floors += [5 * power, 10 * power, 20 * power]
        power *= 10
    return [floor for floor in floors if floor <= largest]


def _histogram(sizes: NDArray[np.int64], floors: list[int]) -> list[tuple[int, int]]:
    """Return (classes, rows) in each bin."""
    bin_of = np.searchsorted(np.array(floors, dtype=np.int64), sizes, side="right") - 1
    classes = np.bincount(bin_of, minlength=len(floors))
    rows = np.bincount(bin_of, weights=sizes, minlength=len(floors))
    return [(int(count), int(total)) for count, total in zip(classes, rows, strict=True)]


def _summary(sizes: NDArray[np.int64]) -> dict[str, Any]:
    return {
        "classes": sizes.size,
        "rows": int(sizes.sum()),
        "min": int(sizes.min(initial=np.iinfo(np.int64).max)) if sizes.size else 0,
        "median": float(np.median(sizes)) if sizes.size else 0.0,
        "max": int(sizes.max(initial=0)),
    }
