from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Dataset, DistinctRows, distinct_rows
from sfumato.data.sampling import UNKNOWN, Sampling
from sfumato.metrics.base import About, Asked, Measurement, Metric, amount, ratio
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.individual_risk import unique_match
from sfumato.metrics.minimal_uniques import MinimalUniques, calibrated_scores, minimal_uniques

FEW = 3  # quasi-identifiers that somebody easily knows of another


@dataclass(frozen=True, kw_only=True)
class SpecialUniques(Metric):
    """How few quasi-identifiers single people out: special uniques and their scores, after SUDA.

    A record is a special unique if it is the only one with its quasi-identifiers, and with fewer of them, too. A set of
    columns that singles it out, and of which none can be left out, is a minimal sample unique; small ones and many of
    them raise the record's score (Elliot et al. 2002), and a column's contribution is the share of all scores that
    comes from sets with it. The headline is the share of records that three columns or fewer single out.
    Limit: it speaks of uniqueness in the table, not of being found; somebody unique here may have doubles elsewhere.

    >>> before = {"age": [20, 20, 30, 30], "town": ["a", "b", "b", "b"]}
    >>> after = {"age": ["*"] * 4, "town": ["a", "b", "b", "b"]}
    >>> sides = Comparison.of_tables(before, after, age="quasi-identifier", town="quasi-identifier")
    >>> print(SpecialUniques().of(sides))
    Singled out by few columns: 25 % (original: 50 %)
    >>> SpecialUniques().scores(sides.dataset).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """

    name: ClassVar[str] = "special-uniques"
    about: ClassVar[About] = About.RISK
    by_rows: ClassVar[str] = "who is found is one of those in the table"

    size: int | None = None  # of the largest sets of columns; None: as many as can be looked at
    sampling: Sampling = UNKNOWN

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where several quasi-identifiers could be left out one by one."""
        if len(comparison.dataset.quasi_identifiers) > 1:
            yield cls(sampling=asked.sampling)

    def scores(self, dataset: Dataset) -> NDArray[np.float64]:
        """Return the score of each record of a table, 0 for whom somebody else looks like, shape (n,)."""
        distinct = distinct_rows(dataset.quasi_identifiers, dataset.n_rows)
        return minimal_uniques(distinct, self.size).scores[distinct.distinct_of]

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        dataset = comparison.dataset
        names = [column.name for column in dataset.quasi_identifiers]
        people = self.sampling.people_of(dataset.carried, dataset.n_rows, dataset.weights)
        total = self.sampling.population(people, dataset.total) if people is not None else None
        before = self._side(comparison.distinct_before, names, dataset.total, total)
        after = self._side(comparison.distinct_after, names, comparison.release.total, total)
        few = min(FEW, before["size"])
        return Measurement(
            title="Singled out by few columns",
            value=after["few"],
            before=before["few"],
            unit="share",
            better="lower",
            explanation=f"Of the release's {comparison.those}, {amount(after['few'], 'share')} are alone with what "
            f"some {few} quasi-identifiers or fewer show of them; of the original's, {amount(before['few'], 'share')}"
            f"{_foremost(before)}.",
            facts={"few": few, "before": before, "after": after},
        )

    def _side(self, distinct: DistinctRows, names: Sequence[str], n_rows: int, total: int | None) -> dict[str, Any]:
        found = minimal_uniques(distinct, self.size)
        scores, smallest = found.scores, found.smallest
        alone = int((distinct.weight == 1).sum())
        special = (smallest > 0) & (smallest < found.columns)
        return {
            "size": found.size,
            "records": n_rows,
            "unique": alone,
            "special": int(special.sum()),
            "few": ratio(int(((smallest > 0) & (smallest <= FEW)).sum()), n_rows),
            "by_size": np.bincount(smallest, minlength=found.size + 1)[1:].tolist(),  # of a record's smallest set
            "sets": found.number.sum(axis=0).tolist(),
            "highest_score": float(scores.max(initial=0.0)),
            "mean_score": ratio(float(scores.sum()), n_rows),
            "columns": dict(zip(names, found.contributions.tolist(), strict=True)),
            "calibrated": _calibrated(found, distinct.weight, total),
        }


def _calibrated(found: MinimalUniques, weight: NDArray[np.int64], total: int | None) -> dict[str, Any] | None:
    """Return scores as chances (DIS-SUDA), where it is known how many people the table is a sample of."""
    alone, rows = int((weight == 1).sum()), int(weight.sum())
    if total is None or not alone:
        return None
    match = unique_match(alone, int((weight == 2).sum()), min(rows / total, 1.0))
    chances = calibrated_scores(found.scores, match, alone, found.columns)
    return {"match": match, "max": float(chances.max(initial=0.0)), "mean": ratio(float(chances.sum()), rows)}


def _foremost(side: dict[str, Any]) -> str:
    """Return which columns give most people away, for the end of a sentence; nothing where nobody is."""
    ranked = sorted(side["columns"], key=lambda name: -side["columns"][name])
    named = " and ".join(repr(name) for name in ranked[:2] if side["columns"][name])
    return f", above all with {named}" if named and side["few"] else ""
