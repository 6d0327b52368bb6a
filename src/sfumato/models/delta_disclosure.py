"""delta-disclosure privacy: a class may make no value much likelier, and none much less likely."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.models.base import JOINED, PrivacyModel, Verdict, as_number, plain_number
from sfumato.models.judging.classes import NEAR, class_verdict
from sfumato.models.judging.logarithms import logarithm_exceeds
from sfumato.models.judging.shares import shares_of
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized


@parametrized
class DeltaDisclosure(PrivacyModel):
    """In every equivalence class, |ln(q / p)| < delta for each sensitive value of share q there and p in the release.

    All values of the release count, in every class: one that a class lacks is ruled out there, and its logarithm has no
    bound. A missing value is a value of its own. Decisions are exact.

    Source: Brickell and Shmatikov (2008).
    Limit: what the whole release gives away about everybody counts as known.

    >>> table = {"age": ["20-29"] * 4 + ["30-39"] * 4, "illness": ["flu", "hiv"] * 2 + ["flu"] * 3 + ["hiv"]}
    >>> release = Release.of(table, age="quasi-identifier", illness="sensitive")
    >>> print(DeltaDisclosure(sensitive="illness", delta=0.5).audit(release))
    delta-disclosure of 'illness' holds: largest logarithm 0.4055, required below 0.5 (2 classes)
    >>> print(DeltaDisclosure(sensitive="illness", delta=0.3).audit(release))
    delta-disclosure of 'illness' FAILS: largest logarithm 0.4055, required below 0.3 (1 of 2 classes, 4 rows)
    """

    name: ClassVar[str] = "delta-disclosure"
    judged_role: ClassVar[Role] = Role.SENSITIVE
    limit: ClassVar[str] = (
        "The distribution in the whole release is taken as known to all: what it gives away, it gives away. And "
        "every class has to show every value, so that rare values make classes large."
        f"{JOINED}"
    )
    judges_apart: ClassVar[bool] = True

    sensitive: str = parameter(Takes.COLUMN, "Sensitive column", "Whose values must not stand out.")
    delta: Exact = parameter(
        Takes.FRACTION,
        "Largest logarithm",
        "How far the natural logarithm of how much likelier a class makes a value may be from 0, either way.",
        above=0,
        example=1,
        why="no class could be below it",
    )

    exact_delta = AsWritten("delta")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return (
            f"No class makes a value of {self.sensitive!r} e^{plain_number(self.exact_delta)} times as likely as in "
            "the release, or as much less likely; none is ruled out."
        )

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by how far the share of each value in each class is from that in the release."""
        shares = shares_of(release, self.sensitive, self)
        delta = self.exact_delta
        distance = np.abs(np.log((shares.count * shares.n_rows / shares.expected).astype(np.float64)))
        below = np.asarray(distance < float(delta), dtype=np.bool_)
        for pair in np.flatnonzero(np.abs(distance - float(delta)) <= NEAR * max(1.0, float(delta))).tolist():
            ratio = Fraction(int(shares.count[pair]) * shares.n_rows, int(shares.expected[pair]))
            below[pair] = not logarithm_exceeds(max(ratio, 1 / ratio), delta)
        lacking = shares.distinct < shares.n_values
        shown = shares.by_class(np.maximum, distance)
        return class_verdict(
            self,
            shares.classes,
            passes=shares.by_class(np.logical_and, below) & ~lacking,
            reached=np.where(lacking, np.inf, shown),
            required=as_number(delta),
            measure="largest logarithm",
            bound="below",
            values=shares.n_values,
            classes_that_lack_values=int(lacking.sum()),
        )
