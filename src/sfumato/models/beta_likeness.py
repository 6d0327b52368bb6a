"""beta-likeness: no value may be much likelier in a class than in the whole table."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.models.base import JOINED, PrivacyModel, Verdict, as_number, plain_number
from sfumato.models.judging.classes import NEAR, at_most, class_verdict
from sfumato.models.judging.logarithms import logarithm_exceeds
from sfumato.models.judging.shares import Shares, shares_of
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized

KINDS = ("basic", "enhanced")


@parametrized
class BetaLikeness(PrivacyModel):
    """In every equivalence class, the share q of each sensitive value is at most its share p in the release, and a bit.

    What a class adds to a value, its gain, is (q - p) / p. What a class takes away from a value is not bounded.

    | kind | a class passes when, for every value |
    | --- | --- |
    | `basic` | gain <= beta |
    | `enhanced` | gain <= beta, and gain <= -ln p: frequent values, too, stay short of certain |

    A missing value is a value of its own. Decisions are exact, on ties too.

    Source: Cao and Karras (2012).
    Limit: what a class rules out is not looked at, and the shares in the whole release count as known.

    >>> table = {"age": ["20-29"] * 4 + ["30-39"] * 4, "illness": ["flu", "hiv"] * 2 + ["flu"] * 4}
    >>> release = Release.of(table, age="quasi-identifier", illness="sensitive")
    >>> print(BetaLikeness(sensitive="illness", beta=1).audit(release))
    beta-likeness of 'illness' holds: largest gain 1, required at most 1 (2 classes)
    >>> print(BetaLikeness(sensitive="illness", beta=1, kind="enhanced").audit(release))
    beta-likeness of 'illness' FAILS: largest gain without bound, required at most 1 (1 of 2 classes, 4 rows)
    """

    name: ClassVar[str] = "beta-likeness"
    judged_role: ClassVar[Role] = Role.SENSITIVE
    judges_apart: ClassVar[bool] = True

    sensitive: str = parameter(Takes.COLUMN, "Sensitive column", "Whose values must not stand out.")
    beta: Exact = parameter(
        Takes.FRACTION,
        "Largest gain",
        "How much likelier a class may make a value: 1 is twice as likely as in the whole release.",
        above=0,
        example=2,
        why="then every class would have to be like the whole",
    )
    kind: str = parameter(
        Takes.CHOICE, "Kind", "Whether frequent values get a lower bound of their own.", default="basic", choices=KINDS
    )

    exact_beta = AsWritten("beta")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        times = plain_number(1 + self.exact_beta)
        if self.kind == "basic":
            return f"No class makes a value of {self.sensitive!r} more than {times} times as likely as in the release."
        return (
            f"No class makes a value of {self.sensitive!r} more than {times} times as likely as in the release, "
            "and frequent values even less so: none gets certain."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        certain = " A value that is frequent in the release may be in every row of a class." * (self.kind == "basic")
        return f"A class may rule values out: that somebody does not have one is learned.{certain}{JOINED}"

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by the largest gain of a value in each class."""
        shares = shares_of(release, self.sensitive, self)
        within = at_most(np.maximum(shares.above, 0), shares.expected, self.exact_beta)
        gain = (shares.above / shares.expected).astype(np.float64)
        if self.kind == "enhanced":
            below_own = ~_beyond_logarithm(shares, gain)
            within &= below_own
            gain = np.where(below_own, gain, np.inf)
        return class_verdict(
            self,
            shares.classes,
            passes=shares.by_class(np.logical_and, within),
            reached=np.maximum(shares.by_class(np.maximum, gain), 0.0),
            required=as_number(self.exact_beta),
            measure="largest gain",
            bound="at most",
            values=shares.n_values,
        )


def _beyond_logarithm(shares: Shares, gain: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which pairs of a class and a value have a gain of more than -ln p, p the value's share in the release."""
    bound = np.log((shares.n_rows / shares.total).astype(np.float64))
    beyond = np.asarray(gain > bound, dtype=np.bool_)
    for pair in np.flatnonzero(np.abs(gain - bound) <= NEAR * np.maximum(1.0, bound)).tolist():
        ratio = Fraction(shares.n_rows, int(shares.total[pair]))
        exact = Fraction(int(shares.above[pair]), int(shares.expected[pair]))
        beyond[pair] = exact != 0 and not logarithm_exceeds(ratio, exact)
    return beyond
