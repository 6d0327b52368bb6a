from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Dataset, distinct_rows
from sfumato.errors import DataError, PolicyError
from sfumato.metrics.base import About, Asked, Measurement, Metric, amount, ratio
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.cover import cover
from sfumato.metrics.fitting import fitting

_MOST_CLASSES = 2_000  # classes that are looked up in the population
_AT_A_TIME = 32


@dataclass(frozen=True, kw_only=True)
class Risk(Metric):
    """How likely somebody is to be found again by their quasi-identifiers.

    Prosecutor: knows that the person is in the release; 1 / class size. Marketer: wants as many hits as possible; the
    mean of that over records. Journalist: knows only that the person is in the `population`, a larger table with the
    same quasi-identifiers; 1 / the number of its records that fit the labels. Without a population the journalist is
    taken to know as much as the prosecutor. After El Emam and Dankar (2008). The headline is the prosecutor's maximum.
    Limit: it counts equal quasi-identifiers only; what else a release gives away is for `attacks` to show.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 25]", "[20, 25]", "[30, 40]", "[30, 40]"]}
    >>> sides = Comparison.of_tables(before, after, age="quasi-identifier")
    >>> print(Risk().of(sides))
    Risk of being found again: 50 % (original: 100 %)
    >>> town = Comparison.of_tables({"age": [20, 22, 24, 25, 30, 33, 36, 40]}, after, age="quasi-identifier").dataset
    >>> Risk(population=town).of(sides).facts["journalist"]["max"]
    0.25
    """

    name: ClassVar[str] = "risk"
    about: ClassVar[About] = About.RISK
    main: ClassVar[bool] = True
    by_rows: ClassVar[str] = "who is found is one of those in the table"

    threshold: float = 0.2  # risks above this are counted
    population: Dataset | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise PolicyError(f"The threshold of the risk was given as {self.threshold}.\nGive a probability, 0..1.")

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where there are quasi-identifiers."""
        if comparison.dataset.quasi_identifiers:
            yield cls(population=asked.population)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        before = self._prosecutor(comparison.distinct_before.weight)
        after = self._prosecutor(comparison.distinct_after.weight)
        journalist = self._journalist(comparison)
        known = (
            "" if self.population is not None else " The population is not known, so the journalist is not told apart."
        )
        them = "them" if comparison.people else "their record"
        return Measurement(
            title="Risk of being found again",
            value=after["max"],
            before=before["max"],
            unit="share",
            better="lower",
            explanation=f"Who knows a person's quasi-identifiers finds {them} with a chance of at most "
            f"{amount(after['max'], 'share')}, {amount(after['mean'], 'share')} on average.{known}",
            facts={
                "threshold": self.threshold,
                "prosecutor": {"before": before, "after": after},
                "marketer": {"before": before["mean"], "after": after["mean"]},
                "journalist": journalist,
            },
        )

    def _prosecutor(self, sizes: NDArray[np.int64]) -> dict[str, Any]:
        rows = int(sizes.sum())
        above = sizes * self.threshold < 1
        return {
            "max": ratio(1, int(sizes.min())) if sizes.size else 0.0,
            "mean": ratio(sizes.size, rows),
            "unique": ratio(int((sizes == 1).sum()), rows),
            "above_threshold": ratio(int(sizes[above].sum()), rows),
            "records": rows,
            "classes": sizes.size,
        }

    def _journalist(self, comparison: Comparison) -> dict[str, Any]:
        """Look up classes in the population, smallest first.

        The published records are in the population themselves, so no class fits fewer records than it has: once the
        best find is no larger than the next class, no later one can beat it, and the maximum is exact.
        """
        distinct = comparison.distinct_after
        if self.population is None or not distinct.weight.size:
            worst = self._prosecutor(distinct.weight)["max"]
            return {"max": worst, "population": None, "classes_checked": 0, "classes_absent": 0, "exact": True}
        columns, covers = [], []
        for pair in comparison.quasi_identifiers:
            name = pair.original.name
            if name not in self.population.columns:
                raise DataError(
                    f"The population lacks the quasi-identifier {name!r}.\n"
                    "Give a table with all quasi-identifiers of the release, in the same spelling."
                )
            columns.append(self.population.column(name))
            covers.append(
                cover(
                    pair.released,
                    columns[-1],
                    domain=comparison.domain(name),
                    known=pair.original.labels,
                    markers=self.population.schema.missing,
                    spans=comparison.spans(name),
                    exact=True,
                )
            )
        people = distinct_rows(columns, self.population.n_rows)
        smallest_first = np.argsort(distinct.weight, kind="stable")
        fewest, checked, absent = int(np.iinfo(np.int64).max), 0, 0
        while checked < min(smallest_first.size, _MOST_CLASSES) and distinct.weight[smallest_first[checked]] < fewest:
            some = smallest_first[checked : checked + _AT_A_TIME]
            tables = [
                covered.members(distinct.codes[some, column]).astype(np.float64)
                for column, covered in enumerate(covers)
            ]
            fits = fitting(people.codes, people.weight, tables, some.size).astype(np.int64)
            absent += int((fits < distinct.weight[some]).sum())
            fewest = min(fewest, int(np.maximum(fits, distinct.weight[some]).min()))
            checked += some.size
        decided = checked == smallest_first.size or int(distinct.weight[smallest_first[checked]]) >= fewest
        return {
            "max": ratio(1, fewest),
            "population": self.population.n_rows,
            "classes_checked": checked,
            "classes_absent": absent,  # classes with fewer people in the population than records in the release
            "exact": bool(decided),
        }
