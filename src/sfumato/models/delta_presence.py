"""delta-presence: whether somebody is in the table stays open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.errors import PolicyError
from sfumato.models.base import Need, PrivacyModel, Verdict, as_number, plain_number
from sfumato.models.judging.classes import at_most, class_verdict
from sfumato.models.judging.population import covered_people
from sfumato.models.k_map import POPULATION
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized


@parametrized
class DeltaPresence(PrivacyModel):
    """Of the people of a population that a class could be about, a share from `low` to `high` is in the table.

    A person counts if the published labels of the class cover their quasi-identifiers. Somebody whom no class could be
    about is surely not in the table: then only `low` = 0 holds. Labels that overlap fail: what classes rule out for one
    another is not known. Decisions are exact, and the ends belong to the range.

    Source: Nergiz, Atzori and Clifton (2007).
    Limit: what is sensitive in the rows is not looked at, once somebody's row is found.
    """

    name: ClassVar[str] = "delta-presence"
    judged_role: ClassVar[Role] = Role.SENSITIVE
    needs: ClassVar[frozenset[Need]] = frozenset({Need.POPULATION})
    limit: ClassVar[str] = "Who is known to be in the table is not protected by it."
    advice: ClassVar[str] = "Ask for a model of classes as well."

    high: Exact = parameter(
        Takes.FRACTION,
        "Highest presence",
        "How likely anybody of the population may be to be in the table.",
        above=0,
        most=1,
        example=0.5,
    )
    population: str = field(metadata=POPULATION)
    low: Exact = parameter(
        Takes.FRACTION,
        "Lowest presence",
        "How likely at least; 0: to be absent may be known.",
        default=0.0,
        least=0,
        most=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exact_low > self.exact_high:
            raise PolicyError(
                f"low of delta-presence was given as {plain_number(self.exact_low)!r}, above high = "
                f"{plain_number(self.exact_high)!r}: no share is between them.\nGive a low that is not above high.",
                at="low",
            )

    exact_low = AsWritten("low")
    exact_high = AsWritten("high")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        least = f"at least {plain_number(self.exact_low)} and " if self.exact_low else ""
        return (
            f"Whether somebody of the population {self.population!r} is in the table stays open: the chance is {least}"
            f"at most {plain_number(self.exact_high)}."
        )

    def warnings(self) -> Iterator[str]:
        """Yield that nothing is asked."""
        if self.exact_high == 1 and not self.exact_low:
            yield "delta-presence from 0 to 1 holds for every table."

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by the share of people in it, among those whom each class covers."""
        covered = covered_people(release, self.population, self)
        size, people = covered.classes.size, covered.people
        low, high = self.exact_low, self.exact_high
        enough = at_most(people, size, 1 / low) if low else np.ones(size.size, dtype=np.bool_)
        verdict = class_verdict(
            self,
            covered.classes,
            passes=at_most(size, people, high) & enough,
            reached=np.asarray(size / np.maximum(people, 1)),
            required=as_number(high),
            measure="highest presence",
            bound="at most",
            population=covered.population,
            surely_absent=covered.elsewhere,
        )
        if covered.overlap and (low or high < 1):
            found = (
                f"{covered.overlap:,} of {size.size:,} classes cover people whom others cover as well, so that nobody "
                "can tell how likely these are to be in the table"
            )
            return replace(verdict, satisfied=False, finding=found, failing=max(verdict.failing, covered.overlap))
        rare = int((~enough).sum())
        if low and (rare or covered.elsewhere):
            found = (
                f"lowest presence required {plain_number(low)}: {rare:,} classes are below, and {covered.elsewhere:,} "
                "people of the population are surely absent"
            )
            return replace(verdict, satisfied=False, finding=found, failing=max(verdict.failing, 1))
        return verdict
