from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.data.release import Release
from sfumato.errors import PolicyError
from sfumato.metrics.base import Measurement, MetricOfClasses, amount, ratio
from sfumato.metrics.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class AverageClassSize(MetricOfClasses):
    """How many published records share their quasi-identifiers on average, and C_AVG = that over k.

    C_AVG after LeFevre et al. (2006): 1 is the best that k-anonymity allows. `k` is taken from the description of the
    release when not given.
    Limit: one huge class hides among many small ones.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 30]", "[20, 30]", "[20, 30]", "40"]}
    >>> AverageClassSize(k=2).of(Comparison.of_tables(before, after, age="quasi-identifier")).facts["c_avg"]
    1.0
    """

    name: ClassVar[str] = "average-class-size"
    main: ClassVar[bool] = True
    by_rows: ClassVar[str] = "classes are made of the people in the table"

    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise PolicyError(f"The average class size was asked for k={self.k}.\nGive k >= 1, or none at all.")

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        classes = comparison.distinct_after.weight.size
        value = ratio(comparison.release.total, classes)
        k = self.k or k_of(comparison.release)
        facts: dict[str, Any] = {
            "rows": comparison.release.total,
            "classes": classes,
            "k": k,
            "c_avg": value / k if k is not None else None,
        }
        than_k = f", {value / k:.3g} times the k={k} that was asked for" if k is not None else ""
        return Measurement(
            title="Average class size",
            value=value,
            before=ratio(comparison.dataset.total, comparison.distinct_before.weight.size),
            unit=comparison.counted,
            better="lower",
            worst=float(comparison.release.total),
            explanation=f"On average {amount(value)} published {comparison.those} share their quasi-identifiers"
            f"{than_k}.",
            facts=facts,
        )


def k_of(release: Release) -> int | None:
    """Return the k that the release's description speaks of, None when it does not."""
    found = [model.get("k") for model in release.description.get("models", ()) if "population" not in model]
    return max((int(k) for k in found if k is not None), default=None)
