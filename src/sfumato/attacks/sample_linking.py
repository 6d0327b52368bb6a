from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sfumato.attacks.base import Asked, Attack, Finding, believing
from sfumato.data.release import Release
from sfumato.data.sampling import Sampling
from sfumato.metrics.individual_risk import individual_risk, unique_match
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.weights import row_weights


@dataclass(frozen=True, kw_only=True)
class SampleLinking(Attack):
    """Find a person's record by their quasi-identifiers, without knowing whether the person is in the sample.

    A record that fits may be somebody else's, of whom the sample says nothing. It is the person's with the individual
    risk of its class (Benedetti and Franconi 1998): the expected 1 / people of the population who show the same.

    >>> table = Release.of({"age": [20, 20, 25, 30]}, age="quasi-identifier")
    >>> print(SampleLinking(sampling=Sampling(fraction=0.1)).on(table))
    0 of 4 exposed, confidence up to 25.6 %
    """

    name: ClassVar[str] = "sample-linking"
    answered_by: ClassVar[tuple[str, ...]] = ("k-anonymity", "k-map")
    title: ClassVar[str] = "Finding a person without knowing who is in the sample"
    intruder: ClassVar[str] = (
        "Knows all quasi-identifiers of a person, but not whether they are in the table, and takes one of "
        "those who fit for them."
    )

    sampling: Sampling

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack where it is known whom the table is a sample of."""
        if release.quasi_identifiers and asked.sampling.people_of(release.carried, release.n_rows) is not None:
            yield cls(sampling=asked.sampling, threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published."""
        classes = classes_of(table)
        size = classes.size
        people = self.sampling.people_of(table.carried, table.n_rows, row_weights(table))
        if people is None:  # it does not show the weights
            people = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
        stand_for = np.bincount(classes.class_of, weights=people, minlength=size.size)
        risk = individual_risk(size, stand_for)
        rows, total = int(size.sum()), self.sampling.population(people, table.total)
        match = unique_match(int((size == 1).sum()), int((size == 2).sum()), min(rows / total, 1.0)) if rows else 0.0
        expected = float((risk * size).sum())
        return Finding.of(risk, risk > self.threshold, size, population=total, expected=expected, unique_match=match)

    def guess(self, table: Release) -> Finding | None:
        """Take any record for that of any person of the population."""
        people = self.sampling.people_of(table.carried, table.n_rows, table.weights)
        among = self.sampling.population(people, table.total) if people is not None else table.total
        return believing(self, 1 / max(among, 1), table.total)
