"""l-diversity: a class must not give its members' secret away."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.errors import PolicyError
from sfumato.models.base import Verdict, column_name, exact_fraction, one_of, plain_number, whole_number

KINDS = ("distinct", "entropy", "recursive", "frequency")


@dataclass(frozen=True, kw_only=True)
class LDiversity:
    """Every class shows well spread sensitive values."""

    name: ClassVar[str] = "l-diversity"

    sensitive: str
    l: int | float | str | Fraction  # a whole number stays one, anything else becomes an exact fraction
    kind: str = "distinct"
    c: float | str | Fraction | None = None  # recursive only; becomes an exact fraction

    def __post_init__(self) -> None:
        column_name(self.sensitive, "sensitive of l-diversity")
        one_of(self.kind, "kind of l-diversity", KINDS)
        object.__setattr__(self, "l", self._checked_l())
        object.__setattr__(self, "c", self._checked_c())

    def _checked_l(self) -> int | Fraction:
        if self.kind in ("distinct", "recursive"):
            return whole_number(self.l, f"l of {self.kind} l-diversity", least=2, example=3)
        l = exact_fraction(self.l, f"l of {self.kind} l-diversity")
        if l <= 1:
            raise PolicyError(
                f"l of {self.kind} l-diversity must be more than 1, but was given as {self.l!r}: "
                "every table is 1-diverse.\nWrite a number such as 2 or 2.5."
            )
        return l.numerator if l.denominator == 1 else l

    def _checked_c(self) -> Fraction | None:
        if self.kind != "recursive":
            if self.c is not None:
                raise PolicyError(
                    f"c was given as {self.c!r}, but {self.kind} l-diversity has no c.\n"
                    'Leave c out, or write kind = "recursive".'
                )
            return None
        if self.c is None:
            raise PolicyError(
                "Recursive l-diversity needs c, but none was given: the most frequent value must stay below "
                "c times the rare ones together.\nWrite a number such as c = 2."
            )
        c = exact_fraction(self.c, "c of recursive l-diversity")
        if c <= 0:
            raise PolicyError(
                f"c of recursive l-diversity must be more than 0, but was given as {self.c!r}: "
                "no class could pass.\nWrite a number such as c = 2."
            )
        return c

    @property
    def exact_l(self) -> Fraction:
        """The parameter l as it was written."""
        return Fraction(self.l)

    @property
    def exact_c(self) -> Fraction:
        """The parameter c of the recursive kind as it was written."""
        if self.c is None:
            raise PolicyError(f'{self.kind} l-diversity has no c.\nWrite kind = "recursive" and c.')
        return Fraction(self.c)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        l, c = plain_number(self.l), plain_number(self.c)
        return {
            "distinct": f"Every class shows at least {l} different values of {self.sensitive!r}.",
            "entropy": f"In every class, {self.sensitive!r} is as hard to guess as among {l} equally likely values.",
            "recursive": (
                f"In every class, the most frequent value of {self.sensitive!r} is rarer than {c} times all values "
                f"together that are not among the {l - 1} most frequent."  # type: ignore[operator]
            ),
            "frequency": f"In every class, each value of {self.sensitive!r} stands in at most one row in {l}.",
        }[self.kind]

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        weak = "Values may be different and yet mean much the same, such as two kinds of cancer"
        return {
            "distinct": f"{weak}; and one of them may stand in nearly all rows of a class.",
            "entropy": f"{weak}; and a value that is rare in the table may be frequent in a class.",
            "recursive": f"{weak}; and who can rule out l - 1 = {Fraction(self.l) - 1} values or more for a person may learn the rest.",
            "frequency": f"{weak}; and a value that is rare in the table may be frequent in a class.",
        }[self.kind]

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """The sensitive column."""
        return (self.sensitive,)

    def audit(self, release: Release) -> Verdict:
        """Judge a release by the sensitive values in each class."""
        raise NotImplementedError
