"""t-closeness: a class must not tell more about its members than the whole table does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.errors import PolicyError
from sfumato.models.base import Verdict, column_name, exact_fraction, one_of, plain_number

DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True, kw_only=True)
class TCloseness:
    """In every class, sensitive values are distributed as in the whole release, up to a distance `t`."""

    name: ClassVar[str] = "t-closeness"

    sensitive: str
    t: float | str | Fraction  # 0..1; becomes an exact fraction
    distance: str = "equal"

    def __post_init__(self) -> None:
        column_name(self.sensitive, "sensitive of t-closeness")
        one_of(self.distance, "distance of t-closeness", DISTANCES)
        t = exact_fraction(self.t, "t of t-closeness")
        if not 0 <= t <= 1:
            raise PolicyError(
                f"t of t-closeness must be from 0 to 1, but was given as {self.t!r}: distances are shares.\n"
                "Write a number such as 0.2."
            )
        object.__setattr__(self, "t", t)

    @property
    def exact_t(self) -> Fraction:
        """The parameter t as it was written."""
        return Fraction(self.t)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return (
            f"In every class, {self.sensitive!r} is distributed as in the whole release, "
            f"up to a distance of {plain_number(self.exact_t)}."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return (
            "The distribution in the whole release is taken as known to all: what it gives away, it gives away. "
            "And a small distance can still make a rare value many times likelier for some people."
        )

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.sensitive,)

    def audit(self, release: Release) -> Verdict:
        """Judge a release by the distribution of sensitive values in each class."""
        raise NotImplementedError
