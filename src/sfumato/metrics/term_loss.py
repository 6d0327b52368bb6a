from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets
from sfumato.data.worth import worth_of
from sfumato.errors import DataError
from sfumato.metrics.base import Asked, Measurement, Metric, amount, little_left, ratio
from sfumato.metrics.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class TermLoss(Metric):
    """What the removal of quasi-sensitive terms costs: the share of the terms' worth that is gone.

    A record with w terms is worth 1 + 1/2 + ... + 1/w, so that the last term to go costs most: the inverse weighted
    cost T of Shi, Xiong and Fung (2010), over the whole table. Rows that are not published count as rows without terms.
    Where the plan says what terms are worth, the share of that. Limit: else all terms are taken for equally useful.

    >>> before = {"age": [20, 20], "symptoms": [["fever", "cough"], ["fever"]]}
    >>> after = {"age": ["20", "20"], "symptoms": [["fever"], ["fever"]]}
    >>> sides = Comparison.of_tables(before, after, age="quasi-identifier", symptoms="quasi-sensitive")
    >>> print(TermLoss().of(sides))  # 1/2 of 1 + 1/2 + 1
    Terms lost: 20 % (original: 0 %)
    """

    name: ClassVar[str] = "term-loss"
    main: ClassVar[bool] = True

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where there are terms."""
        if comparison.terms is not None:
            yield cls()

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        if comparison.terms is None:
            raise DataError(
                "The loss of terms was asked for, but original and release have no quasi-sensitive column of terms in "
                'common.\nGive a column the role "quasi-sensitive" and kind = "set".'
            )
        before, after = comparison.terms
        given = worth_of(comparison.dataset.schema)
        worth = _worth(before, given, comparison.of_records(before=True))
        left = _worth(after, given, comparison.of_records(before=False))
        value = ratio(worth - left, worth) if worth else 0.0
        weighed = (
            "so that the last term of each counts most" if given is None else "by what the plan says they are worth"
        )
        n_before, n_after = before.items.size, after.items.size
        return Measurement.of_share(
            title="Terms lost",
            value=value,
            worst=1.0,
            warning=little_left(value, f"the terms of {before.name!r}"),
            explanation=f"{n_before - n_after:,} of {n_before:,} terms in {before.name!r} are not published. Weighted "
            f"{weighed}, that is {amount(value, 'share')} of what they were worth.",
            facts={
                "column": before.name,
                **({} if given is None else {"worth": "given"}),
                "terms_before": n_before,
                "terms_after": n_after,
                "mean_before": ratio(n_before, before.start.size - 1),
                "mean_after": ratio(n_after, after.start.size - 1),
                "records_without_terms_before": int((np.diff(before.start) == 0).sum()),
                "records_without_terms_after": int((np.diff(after.start) == 0).sum()),
            }
            | comparison.weighted_by,
        )


def _worth(sets: CodedSets, given: Mapping[str, Fraction] | None, weights: NDArray[np.float64] | None = None) -> float:
    """Return what all terms are worth, by the weights of their records."""
    size: NDArray[np.int64] = np.diff(sets.start)
    if given is not None:
        of_items = None if weights is None else np.repeat(weights, size)
        count = np.bincount(sets.items, of_items, minlength=len(sets.labels))
        return math.fsum(float(given.get(label, 1)) * n for label, n in zip(sets.labels, count.tolist(), strict=True))
    # By size, so that the order of rows does not change the last digit.
    of_size = np.bincount(size, weights, minlength=1)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, of_size.size))])
    return float((of_size * harmonic).sum())
