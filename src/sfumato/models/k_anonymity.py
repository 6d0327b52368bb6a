"""k-anonymity: nobody stands alone."""

from __future__ import annotations

from typing import ClassVar

from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.models.base import PrivacyModel, Verdict
from sfumato.models.judging.classes import class_verdict, classes_of
from sfumato.parameters import Takes, parameter, parametrized


@parametrized
class KAnonymity(PrivacyModel):
    """Every equivalence class has at least `k` rows.

    A class is what an outsider cannot tell apart: the rows with equal published quasi-identifiers. A missing value is
    a value of its own, and so is `*`: neither matches anything else. Where people with several rows are judged, a class
    is of people in whose rows the same combinations stand, and at least `k` of them.

    Source: Samarati (2001), Sweeney (2002).
    Limit: rows that look alike may also agree in what is sensitive; then nobody needs to tell them apart.

    >>> release = Release.of({"age": ["20-29"] * 3 + ["30-39"] * 2}, age="quasi-identifier")
    >>> print(KAnonymity(k=2).audit(release))
    k-anonymity holds: smallest class 2, required at least 2 (2 classes)
    >>> print(KAnonymity(k=3).audit(release))
    k-anonymity FAILS: smallest class 2, required at least 3 (1 of 2 classes, 2 rows)
    """

    name: ClassVar[str] = "k-anonymity"
    judged_role: ClassVar[Role] = Role.SENSITIVE
    least_decides: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    limit: ClassVar[str] = "Those who look alike may share a sensitive value: then it is known of each of them."
    advice: ClassVar[str] = "Ask for l-diversity or t-closeness as well."
    judges_apart: ClassVar[bool] = True

    k: int = parameter(Takes.WHOLE, "Smallest class", "How many rows each class has at least.", least=1, example=5)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return f"Whoever knows all quasi-identifiers of a person finds at least {self.k:,} rows that could be theirs."

    def promise_beside(self, schema: Schema) -> str:
        """What holds where people are judged: those of one row each, or all of whose rows stay."""
        if schema.gathered:
            return f"Whoever knows all quasi-identifiers of a person finds at least {self.k:,} people alike."
        if schema.person is None:
            return self.promise
        return f"Whoever knows all quasi-identifiers in all rows of a person finds at least {self.k:,} people alike."

    def most_classes(self, release: Release) -> float:
        """Return how often k rows can be taken from those of a release."""
        return release.total // self.k

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by the sizes of its classes."""
        classes = classes_of(release)
        return class_verdict(
            self,
            classes,
            passes=classes.size >= self.k,
            reached=classes.size,
            required=self.k,
            measure="smallest class",
            bound="at least",
        )
