from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets
from sfumato.data.knowledge import Knowledge
from sfumato.errors import DataError, PolicyError
from sfumato.metrics.base import About, Asked, Measurement, Metric, amount, ratio
from sfumato.metrics.comparison import Comparison
from sfumato.models.base import plain_number
from sfumato.models.judging.belief_measures import distances, diversity_bounds, largest_and_rest
from sfumato.models.judging.beliefs import Beliefs, Floats, beliefs, estimated_prior
from sfumato.models.judging.classes import NEAR, classes_of
from sfumato.models.judging.links import Index
from sfumato.parameters import exact_fraction

_MEASURES = ("change", "rise", "distance", "total_variation", "largest_belief", "diversity")


@dataclass(frozen=True, kw_only=True)
class BeliefChange(Metric):
    """How far the terms of a quasi-sensitive column move the belief of an intruder who has the knowledge table.

    The headline is the mean over records of the largest change of belief in any label; a mean over labels would say
    nothing, because nearly all of thousands of labels change by 0. Groups in which nothing is linked to a label are
    left out and counted. The prior is the public one, else the one estimated from the original.
    After Shi, Xiong and Fung (2010).
    Limit: it knows one knowledge table, and takes all linked labels of a record for equally likely.

    >>> from dataclasses import replace
    >>> from sfumato.data.knowledge import PublicInputs
    >>> before = {"age": [20, 25], "symptoms": [["cough", "fever"], ["fever", "sore throat"]]}
    >>> after = {"age": ["[20, 25]"] * 2, "symptoms": [["fever"]] * 2}
    >>> sides = Comparison.of_tables(before, after, age="quasi-identifier", symptoms="quasi-sensitive")
    >>> knowledge = Knowledge.from_rows([("flu", ["cough", "fever"]), ("angina", ["fever", "sore throat"])])
    >>> print(BeliefChange().measure(sides.dataset, replace(sides.release, public=PublicInputs(knowledge))))
    Change of belief: 0 % (original: 50 %)
    """

    name: ClassVar[str] = "belief-change"
    about: ClassVar[About] = About.RISK
    main: ClassVar[bool] = True
    by_rows: ClassVar[str] = "an intruder knows one person of the table at a time"

    column: str | None = None  # None: all quasi-sensitive columns, read together
    c: float | str | Fraction = 1  # of the diversity l' that is reported, the largest l with p1 <= c (pl + ...)

    def __post_init__(self) -> None:
        c = exact_fraction(self.c, "c of belief-change")
        if c <= 0:
            raise PolicyError(
                f"c of belief-change must be more than 0, but was given as {self.c!r}.\nWrite a number such as 1."
            )
        object.__setattr__(self, "c", c)

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where there are terms and a table to look them up in."""
        if comparison.terms is not None and comparison.release.public.knowledge is not None:
            yield cls()

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        original, released = self._terms(comparison)
        public = comparison.release.public
        if public.knowledge is None:
            raise DataError(
                f"The change of belief by column {original.name!r} was asked for, but no knowledge table was given.\n"
                "Name one under [knowledge] in the plan."
            )
        knowledge = public.knowledge
        prior = public.belief if public.belief is not None else estimated_prior(original, knowledge)
        classes = classes_of(comparison.release)
        distinct = comparison.distinct_before
        index = Index(knowledge)
        before = self._measured(beliefs(distinct.distinct_of, distinct.weight.size, original, index), prior, knowledge)
        after = self._measured(beliefs(classes.class_of, classes.size.size, released, index), prior, knowledge)
        value = after["change"]["mean"]
        return Measurement(
            title="Change of belief",
            value=value,
            before=before["change"]["mean"],
            unit="share",
            better="lower",
            explanation=f"Who looks up {original.name!r} in the knowledge table changes their belief in some label by "
            f"{amount(value, 'share')} on average over {comparison.those}, by "
            f"{amount(after['change']['max'], 'share')} at most.",
            facts={
                "column": original.name,
                "labels": knowledge.n_labels,
                "unlinked": knowledge.unlinked,
                "prior": "public" if public.belief is not None else "estimated",
                "c": plain_number(self.c),
                "before": before,
                "after": after,
                "terms": {
                    "before": original.items.size,
                    "after": released.items.size,
                    "kept": ratio(released.items.size, original.items.size) if original.items.size else 1.0,
                },
            },
        )

    def _terms(self, comparison: Comparison) -> tuple[CodedSets, CodedSets]:
        """Return the terms before and after."""
        columns = {
            column.name: column for column in comparison.dataset.columns.values() if isinstance(column, CodedSets)
        }
        if self.column is None and comparison.terms is not None:
            return comparison.terms
        if self.column in columns:
            return columns[self.column], comparison.release.sets(self.column)
        asked = "without a column" if self.column is None else f"of column {self.column!r}"
        raise DataError(
            f"The change of belief was asked for {asked}.\n"
            f"The original has these columns of sets: {', '.join(columns) or 'none'}.\nName one of them."
        )

    def _measured(self, batches: Iterator[Beliefs], prior: Floats, knowledge: Knowledge) -> dict[str, Any]:
        sought = _Prior(prior)
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in (*_MEASURES, "rows")}
        vacuous = unlinkable = 0
        for found in batches:
            judged = ~found.vacuous
            vacuous += int(found.vacuous.sum())
            unlinkable += int((found.rows - found.linked).sum())
            divisor = found.divisor(knowledge.unlinked)
            rise, change, variation = sought.changes(found, divisor)
            measures = {
                "rows": found.rows,
                "rise": rise,
                "change": change,
                "total_variation": variation,
                "distance": distances(found, prior, knowledge.unlinked),
                "largest_belief": largest_and_rest(found, 1)[0] / divisor,
                "diversity": diversity_bounds(found, Fraction(self.c), NEAR)[1],
            }
            for name, values in measures.items():
                parts[name].append(values[judged])
        values_of = {name: np.concatenate(part) if part else np.zeros(0) for name, part in parts.items()}
        rows = values_of.pop("rows")
        return {
            "records": int(rows.sum()),
            "groups": int(rows.size),
            "groups_without_link": vacuous,
            "records_without_link": unlinkable,
            **{name: _summary(values, rows) for name, values in values_of.items()},
        }


class _Prior:
    """The prior in the orders that measures over all labels need."""

    def __init__(self, prior: Floats) -> None:
        self.prior = prior
        self.rising = np.argsort(prior, kind="stable")
        self.sorted = prior[self.rising]
        self.below = np.concatenate([[0.0], np.cumsum(self.sorted)])
        self.place = np.empty(prior.size, dtype=np.int64)  # of each label in the rising order
        self.place[self.rising] = np.arange(prior.size)

    def changes(self, found: Beliefs, divisor: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the largest rise, the largest change and the total variation of each group, each of shape (b,).

        Labels outside a group's support have the offset only; the extremes among them are those of the prior's
        smallest and largest weight, the first ones in order that are not in the support.
        """
        size = np.diff(found.start)
        group_of = np.repeat(np.arange(size.size), size)
        offset = found.offset / divisor
        base = offset[group_of] - self.prior[found.label]
        change = base + found.mass / divisor[group_of]

        n_labels = self.prior.size
        place = self.place[found.label]
        lowest = _first_absent(group_of, place, size, n_labels)
        highest = _first_absent(group_of, n_labels - 1 - place, size, n_labels)
        outside = size < n_labels
        rise = np.full(size.size, -np.inf)
        fall = np.full(size.size, np.inf)
        rise[outside] = offset[outside] - self.sorted[lowest[outside]]
        fall[outside] = offset[outside] - self.sorted[n_labels - 1 - highest[outside]]
        np.maximum.at(rise, group_of, change)
        np.minimum.at(fall, group_of, change)

        # The sum of |offset - prior| over all labels, and what the support changes in it.
        smaller = np.searchsorted(self.sorted, offset)
        total = self.below[-1] - 2 * self.below[smaller] + offset * (2 * smaller - n_labels)
        total = total + np.bincount(group_of, weights=np.abs(change) - np.abs(base), minlength=size.size)
        return rise, np.maximum(np.abs(rise), np.abs(fall)), np.maximum(total, 0) / 2


def _first_absent(
    group_of: NDArray[np.intp], place: NDArray[np.int64], size: NDArray[np.int64], n_places: int
) -> NDArray[np.int64]:
    """Return for each group the first of 0, 1, ... that is not among its places; places of a group differ.

    >>> _first_absent(np.array([0, 0, 0, 2]), np.array([3, 0, 1, 1]), np.array([3, 0, 1]), 4).tolist()
    [2, 0, 0]
    """
    keys = group_of * n_places + place
    keys.sort()
    within = np.arange(keys.size) - np.repeat(np.cumsum(size) - size, size)
    ahead = keys % n_places == within  # once a place is left out, all later ones are beyond
    return np.bincount(group_of[ahead], minlength=size.size).astype(np.int64)


def _summary(values: NDArray[Any], rows: NDArray[Any]) -> dict[str, float]:
    """Return the mean over records, and extremes, spread and quantiles over groups."""
    if not values.size:
        return {"mean": 0.0, "min": 0.0, "max": 0.0, "sd": 0.0, "median": 0.0, "q95": 0.0}
    median, high = np.quantile(values, [0.5, 0.95])
    return {
        "mean": float(np.average(values, weights=rows)),
        "min": float(values.min()),
        "max": float(values.max()),
        "sd": float(values.std()),
        "median": float(median),
        "q95": float(high),
    }
