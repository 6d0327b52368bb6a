"""k-map: nobody stands alone among all the people there are."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.models.base import Need, PrivacyModel, Verdict
from sfumato.models.judging.classes import class_verdict
from sfumato.models.judging.population import covered_people
from sfumato.parameters import Takes, about, parameter, parametrized

POPULATION = about(
    Takes.TEXT,
    "Population",
    "Table of all people that the rows could be about, with the quasi-identifiers; it contains the source.",
    example="population.csv",
)


@parametrized
class KMap(PrivacyModel):
    """Every equivalence class could be about at least `k` people of a population.

    A person counts if the published labels of the class cover their quasi-identifiers, and those of no other class do:
    else the other class may rule them out. The population contains the people in the table, so that k-anonymity implies
    k-map.

    Source: Sweeney (2002).
    Limit: who knows that somebody is in the table looks among its rows alone, and these may be few.
    """

    name: ClassVar[str] = "k-map"
    judged_role: ClassVar[Role] = Role.SENSITIVE
    least_decides: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({Need.POPULATION})
    limit: ClassVar[str] = "Who knows that a person is in the table looks among its rows alone, which may be fewer."
    advice: ClassVar[str] = "Ask for k-anonymity where that is known."

    k: int = parameter(
        Takes.WHOLE, "Fewest people", "How many people each class could be about at least.", least=1, example=5
    )
    population: str = field(metadata=POPULATION)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return f"Every row could be about at least {self.k:,} people of the population {self.population!r}."

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by how many people each class covers that no other does, or by its rows if these are more."""
        covered = covered_people(release, self.population, self)
        return class_verdict(
            self,
            covered.classes,
            passes=covered.surely >= self.k,
            reached=covered.surely,
            required=self.k,
            measure="fewest people",
            bound="at least",
            population=covered.population,
            **({"classes_that_overlap": covered.overlap} if covered.overlap else {}),
        )
