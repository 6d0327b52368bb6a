from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import DistinctRows
from sfumato.data.sampling import Sampling
from sfumato.errors import PolicyError
from sfumato.metrics.base import About, Asked, Measurement, Metric, amount, ratio
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.individual_risk import household_risk, individual_risk, unique_match
from sfumato.metrics.superpopulation import COUNTED, PITMAN, SNB, ZAYATZ, Sizes, estimated_uniques

WORDS = {
    PITMAN: "by Pitman's model",
    ZAYATZ: "by Zayatz' model",
    SNB: "by the slide negative binomial model",
    COUNTED: "as counted",
}


@dataclass(frozen=True, kw_only=True)
class PopulationRisk(Metric):
    """How likely people of a sample are to be found by somebody who does not know who is in it.

    The headline is the mean of records' individual risk, which is the share of them that such a person expects to find.
    Besides: how many of the population are unique, by Pitman's, Zayatz' and the slide negative binomial model, with the
    choice of Dankar et al. (2012); the chance that a match with a unique record is right (Skinner and Elliot 2002); and
    the risk of households, where the table says who lives together.
    Limit: all of it is estimated from the sample, by models of how people differ that may be wrong for these. Whoever
    knows that a person is in the sample is not held up by it: see `risk`.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 25]", "[20, 25]", "[30, 40]", "[30, 40]"]}
    >>> sides = Comparison.of_tables(before, after, age="quasi-identifier")
    >>> print(PopulationRisk(sampling=Sampling(size=40)).of(sides))
    Risk in the population: 8.27 % (original: 25.6 %); 40 people
    """

    name: ClassVar[str] = "population-risk"
    about: ClassVar[About] = About.RISK
    main: ClassVar[bool] = True

    sampling: Sampling
    threshold: float = 0.2  # risks above this are counted

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise PolicyError(f"The threshold of the risk was given as {self.threshold}.\nGive a probability, 0..1.")

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where there are quasi-identifiers, and it is known whom the table is a sample of."""
        dataset = comparison.dataset
        if dataset.quasi_identifiers and asked.sampling.people_of(dataset.carried, dataset.n_rows) is not None:
            yield cls(sampling=asked.sampling)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        dataset, release = comparison.dataset, comparison.release
        people = self.sampling.people_of(dataset.carried, dataset.n_rows, dataset.weights)
        if people is None:
            raise PolicyError("The risk in a population was asked for, but nothing is known of it.\nGive its size.")
        total = self.sampling.population(people, dataset.total)
        left = self.sampling.people_of(release.carried, release.n_rows, release.weights)
        if left is None:  # it does not show the weights
            each = np.ones(release.n_rows) if release.weights is None else release.weights.astype(np.float64)
            left = each * (total / max(release.total, 1))
        before = self._side(comparison.distinct_before, people, total, dataset.carried)
        after = self._side(comparison.distinct_after, left, total, release.carried)
        return Measurement(
            title="Risk in the population",
            value=after["mean"],
            before=before["mean"],
            unit="share",
            better="lower",
            note=f"{amount(total)} people",
            explanation=_sentences(before, after, total),
            facts={
                "population": total,
                "fraction": ratio(dataset.total, total),
                "weight": self.sampling.weight,
                "household": self.sampling.household,
                "threshold": self.threshold,
                "before": before,
                "after": after,
            },
        )

    def _side(
        self, distinct: DistinctRows, people: NDArray[np.float64], total: int, carried: pa.Table | None
    ) -> dict[str, Any]:
        sizes = distinct.weight
        stand_for = np.bincount(distinct.distinct_of, weights=people, minlength=sizes.size)
        of_class = individual_risk(sizes, stand_for)
        rows = int(sizes.sum())
        counted = Sizes.of(sizes)
        uniques = estimated_uniques(counted, total)
        models = uniques.by_model
        return {
            "mean": ratio(float((of_class * sizes).sum()), rows),
            "max": float(of_class.max(initial=0.0)),
            "expected": float((of_class * sizes).sum()),
            "above_threshold": ratio(int(sizes[of_class > self.threshold].sum()), rows),
            "sample_unique": ratio(counted.number(1), rows),
            "population_unique": ratio(uniques.people, total),
            "model": uniques.model,
            "models": {name: found / total for name, found in models.items() if found is not None},
            "unique_match": unique_match(counted.number(1), counted.number(2), rows / total if total else 1.0),
            "households": self._households(of_class[distinct.distinct_of], carried),
        }

    def _households(self, risk: NDArray[np.float64], carried: pa.Table | None) -> dict[str, Any] | None:
        household_of = self.sampling.households_of(carried)
        if household_of is None or not risk.size:
            return None
        found = household_risk(risk, household_of)
        return {
            "households": int(np.unique(household_of).size),
            "mean": float(found.mean()),
            "max": float(found.max()),
            "expected": float(found.sum()),
            "above_threshold": float((found > self.threshold).mean()),
        }


def _unique(side: dict[str, Any], total: int) -> str:
    """Return the share of unique people; nobody where it is less than half a person."""
    share = side["population_unique"]
    return amount(share if share * total >= 0.5 else 0.0, "share")


def _sentences(before: dict[str, Any], after: dict[str, Any], total: int) -> str:
    """Return what was found, for people."""
    said = (
        f"Who does not know who is in the sample finds somebody in the release with a chance of "
        f"{amount(after['mean'], 'share')} on average, {amount(after['max'], 'share')} at most; of the original, "
        f"{amount(before['mean'], 'share')} and {amount(before['max'], 'share')}. Of {amount(total)} people, "
        f"{_unique(before, total)} are thought to be unique by the original ({WORDS[before['model']]}), "
        f"{_unique(after, total)} by the release."
    )
    homes = after["households"]
    if homes is not None:
        said += (
            f" That somebody of their household is found has a chance of {amount(homes['mean'], 'share')} on average, "
            f"{amount(homes['max'], 'share')} at most."
        )
    return said
