"""l-diversity: a class must not give its members' secret away."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import starts_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Role, Schema
from sfumato.errors import DataError, PolicyError
from sfumato.models.base import JOINED, KNOWN, PrivacyModel, Verdict, as_number, known_columns, plain_number, quoted
from sfumato.models.judging.classes import (
    NEAR,
    Classes,
    Counts,
    at_most,
    class_verdict,
    classes_of,
    known_with,
    sensitive_column,
    values_in,
    values_of,
)
from sfumato.models.judging.sets_of_values import held_by
from sfumato.models.judging.weights import Integers
from sfumato.parameters import AsWritten, Exact, Takes, parameter, parametrized, whole_number

KINDS = ("distinct", "entropy", "recursive", "frequency")


@parametrized
class LDiversity(PrivacyModel):
    """In every equivalence class, the values of a sensitive column are well spread.

    `kind` says what that means, for a class of N rows in which the values occur r1 >= r2 >= ... >= rm times:

    | kind | a class passes when |
    | --- | --- |
    | `distinct` | m >= l: at least `l` different values |
    | `entropy` | the entropy of r1/N, ..., rm/N is at least ln l |
    | `recursive` | r1 < c * (rl + ... + rm), strictly |
    | `frequency` | r1/N <= 1/l |

    Of several sensitive columns each is asked for on its own. Whoever knows the other ones of a person (`known`) looks
    at those rows of a class that agree in them: then these count as quasi-identifiers.

    A missing value is a value of its own. A withheld value (`*`) may be any value, so it is taken for the one that is
    most frequent in its class: the worst case for every kind. Decisions are exact, on ties too.

    Where people with several rows are judged, N counts people, and a person with several values has each of them:
    ri/N is the share of people who have a value, and m the number of values that it takes at least to have one of
    everybody's. The kinds entropy and recursive are not judged there.

    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007); the frequency kind also in Wong et al. (2006),
    as alpha = 1/l.
    Limit: two values can be different and yet tell the same, and the distribution of values in the table is not
    looked at.

    >>> table = {"age": ["20-29"] * 4, "illness": ["flu", "flu", "flu", "asthma"]}
    >>> release = Release.of(table, age="quasi-identifier", illness="sensitive")
    >>> print(LDiversity(sensitive="illness", l=2).audit(release))
    l-diversity of 'illness' holds: fewest different values 2, required at least 2 (1 class)
    >>> print(LDiversity(sensitive="illness", l=2, kind="frequency").audit(release))
    l-diversity of 'illness' FAILS: 1 / largest share 1.333, required at least 2 (1 of 1 class, 4 rows)
    """

    name: ClassVar[str] = "l-diversity"
    judged_role: ClassVar[Role] = Role.SENSITIVE
    least_decides: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    judges_apart: ClassVar[bool] = True

    sensitive: str = parameter(Takes.COLUMN, "Sensitive column", "Whose values must be well spread.")
    l: Exact = parameter(  # a whole number stays one, anything else becomes an exact fraction
        Takes.FRACTION,
        "Diversity",
        "How many values, or as good as; a whole number for kind distinct and recursive.",
        above=1,
        example=3,
        why="every table is 1-diverse",
    )
    kind: str = parameter(Takes.CHOICE, "Kind", "What counts as well spread.", default="distinct", choices=KINDS)
    c: Exact | None = parameter(
        Takes.FRACTION,
        "Ratio",
        "Kind recursive only: the most frequent value is rarer than c times the rare ones together.",
        default=None,
        above=0,
        example=2,
        why="no class could pass",
    )

    known: str | Sequence[str] | None = field(default=None, metadata=KNOWN)  # becomes a tuple of names

    def __post_init__(self) -> None:
        if self.kind in ("distinct", "recursive"):
            whole_number(self.l, f"l of {self.kind} l-diversity", least=2, example=3, at="l")
        super().__post_init__()
        object.__setattr__(self, "known", known_columns(self.known, self.sensitive, self.name) or None)
        object.__setattr__(self, "l", self.exact_l.numerator if self.exact_l.denominator == 1 else self.l)
        if self.kind != "recursive" and self.c is not None:
            raise PolicyError(
                f"c was given as {plain_number(self.c)!r}, but {self.kind} l-diversity has no c.\n"
                'Leave c out, or write kind = "recursive".',
                at="c",
            )
        if self.kind == "recursive" and self.c is None:
            raise PolicyError(
                "Recursive l-diversity needs c, but none was given: the most frequent value must stay below "
                "c times the rare ones together.\nWrite a number such as c = 2.",
                at="c",
            )

    exact_l = AsWritten("l")

    @property
    def exact_c(self) -> Fraction:
        """The parameter c of the recursive kind as it was written."""
        if self.c is None:
            raise PolicyError(f'{self.kind} l-diversity has no c.\nWrite kind = "recursive" and c.')
        return Fraction(self.c)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        l, column = plain_number(self.exact_l), repr(self.sensitive)
        if self.known:
            return f"{replace(self, known=None).promise[:-1]}, also among its rows with equal {quoted(self.known)}."
        if self.kind == "distinct":
            return f"Every class shows at least {l} different values of {column}."
        if self.kind == "entropy":
            return f"In every class, {column} is as uncertain as a draw among {l} equally likely values."
        if self.kind == "frequency":
            return f"In every class, each value of {column} stands in at most one of {l} rows."
        return (
            f"In every class, the most frequent value of {column} is rarer than {plain_number(self.exact_c)} times "
            f"all values together but the {l - 1} most frequent."
        )

    def promise_beside(self, schema: Schema) -> str:
        """What holds where people are judged, who may have several values."""
        l, column = plain_number(self.exact_l), repr(self.sensitive)
        if schema.gathered and self.kind == "frequency" and not self.known:
            return f"In every class, at most one of {l} people has the same value of {column}."
        if schema.person is None or self.kind not in ("distinct", "frequency"):
            return self.promise
        if self.kind == "frequency":
            return f"In every class, each value of {column} stands in rows of at most one of {l} people."
        return f"In every class, it takes at least {l} values of {column} to have one of everybody's."

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        alike = "Values may differ and yet mean much the same, such as two kinds of cancer"
        if self.kind == "distinct":
            return f"{alike}; and nearly all of a class may have one value.{JOINED}"
        if self.kind == "recursive":
            return (
                f"{alike}; and whoever can rule out {self.exact_l - 1} or more values for a person may learn the rest."
                f"{JOINED}"
            )
        return f"{alike}; and what is rare in the table may be frequent in a class.{JOINED}"

    def most_classes(self, release: Release) -> float:
        """Return how many classes can have l different values each, as every kind asks for at least."""
        column, classes = sensitive_column(release, self.sensitive, self), classes_of(release)
        if column.several:
            counts = held_by(classes, column).counts.count
        else:
            counts = classes.counts(column, values_of(column, release.n_rows).value_of).count
        l, low, high = math.ceil(self.exact_l), 0, release.total
        while low < high:  # the classes that a value can be in are no more than its rows
            middle = (low + high + 1) // 2
            if int(np.minimum(counts, middle).sum()) >= middle * l:
                low = middle
            else:
                high = middle - 1
        return low

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by the sensitive values in each class."""
        column = sensitive_column(release, self.sensitive, self)
        classes = known_with(release, self, self.known or ())
        if column.several:
            passes, reached, facts = self._judge_sets(classes, column)
        else:
            values = values_in(release, column)
            counts = classes.counts(column, values.value_of)
            facts = {"values": len(values)}
            if ROOT in values.known:
                withheld = counts.value == values.known.index(ROOT)
                facts = {"values": len(values) - 1, "withheld": int(counts.count[withheld].sum())}
                counts = _read_as_most_frequent(counts, withheld)
            passes, reached = self._judge(counts)
        return class_verdict(
            self,
            classes,
            passes=passes,
            reached=reached,
            required=as_number(self.exact_c if self.kind == "recursive" else self.exact_l),
            measure=_MEASURE[self.kind],
            bound="below" if self.kind == "recursive" else "at least",
            **facts,
        )

    def _judge(self, counts: Counts) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Return for each class whether it passes, and what it reached."""
        if not counts.size.size:
            return np.ones(0, dtype=np.bool_), np.zeros(0)
        if self.kind == "distinct":
            distinct = np.diff(counts.start)
            return distinct >= int(self.exact_l), distinct
        if self.kind == "entropy":
            return _entropy(counts, self.exact_l)
        if self.kind == "frequency":
            largest = np.maximum.reduceat(counts.count, counts.start[:-1])
            return at_most(largest, counts.size, 1 / self.exact_l), counts.size / largest
        return _recursive(counts, int(self.exact_l), self.exact_c)

    def _judge_sets(
        self, classes: Classes, column: ReleasedColumn
    ) -> tuple[NDArray[np.bool_], NDArray[Any], dict[str, int]]:
        """Return the same, and facts, of people of whom some have several values: whichever of them counts."""
        if self.kind not in ("distinct", "frequency"):
            raise DataError(
                f"{self.kind} l-diversity is asked of column {column.name!r}, but some people have several values in "
                'it.\nAsk for kind = "distinct" or "frequency", or gather the rows of a person.'
            )
        held = held_by(classes, column)
        if self.kind == "distinct":
            reached = held.fewest(int(self.exact_l))
            passes = reached >= int(self.exact_l)
        else:
            passes, reached = self._judge(held.counts)
        return passes, reached, {"values": held.n_values}


_MEASURE = {
    "distinct": "fewest different values",
    "entropy": "smallest effective number of values",
    "recursive": "most frequent value over the rare ones",
    "frequency": "1 / largest share",
}


def _read_as_most_frequent(counts: Counts, withheld: NDArray[np.bool_]) -> Counts:
    """Return the counts with withheld rows given to the most frequent value of their class.

    It is the worst case for every kind, because it makes the sorted counts as unequal as they can be.
    """
    class_of = counts.class_of
    alone = np.diff(counts.start)[class_of] == 1  # nothing but withheld rows: as if they all had one value
    known = ~withheld | alone
    count = np.where(known, counts.count, 0)
    largest = np.maximum.reduceat(count, counts.start[:-1]) if counts.size.size else count
    candidates = np.flatnonzero(count == largest[class_of])
    _, first = np.unique(class_of[candidates], return_index=True)  # one for each class, in the order of classes
    hidden = np.where(known, 0, counts.count)
    count[candidates[first]] += np.add.reduceat(hidden, counts.start[:-1]) if counts.size.size else hidden
    start = starts_of(known)[counts.start]
    return replace(counts, start=start, value=counts.value[known], count=count[known])


def _entropy(counts: Counts, l: Fraction) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether the entropy is at least ln l, and how many equally likely values are as uncertain."""
    first = counts.start[:-1]
    entropy = np.log(counts.size) - np.add.reduceat(counts.count * np.log(counts.count), first) / counts.size
    gap = entropy - math.log(l)
    passes = np.asarray(gap >= 0, dtype=np.bool_)
    # Equal counts are by far the most frequent tie, and easy: the entropy is the logarithm of how many there are.
    even = np.maximum.reduceat(counts.count, first) == np.minimum.reduceat(counts.count, first)
    passes[even] = np.diff(counts.start)[even] >= math.ceil(l)
    known: dict[tuple[int, ...], bool] = {}
    for number in np.flatnonzero(~even & (np.abs(gap) <= NEAR)).tolist():
        key = _shape(counts.of_class(number).tolist())
        if key not in known:
            known[key] = _entropy_reaches(key, l)
        passes[number] = known[key]
    return passes, np.exp(entropy)


def _shape(counts: Iterable[int]) -> tuple[int, ...]:
    """Return the counts in order and without their common divisor: shares, and so entropy, depend on nothing else."""
    ascending = sorted(counts)
    divisor = math.gcd(*ascending)
    return tuple(count // divisor for count in ascending)


def _entropy_reaches(counts: tuple[int, ...], l: Fraction) -> bool:
    """Return whether the entropy of the counts is at least ln l.

    For n rows this asks whether n^n >= l^n * product of c^c over the counts. Sixty digits decide unless the two are
    (nearly) equal; then whole numbers do, which are long but finite.

    >>> counts = (1, 1, 1, 1, 4)
    >>> _entropy_reaches(counts, Fraction(4)), _entropy_reaches(counts, Fraction(4) + Fraction(1, 10**40))
    (True, False)
    """
    n = sum(counts)
    with localcontext() as context:
        context.prec = 60
        logarithm_of_l = Decimal(l.numerator).ln() - Decimal(l.denominator).ln()
        gap = n * (Decimal(n).ln() - logarithm_of_l) - sum(count * Decimal(count).ln() for count in counts)
    if abs(gap) > Decimal("1e-30"):
        return bool(gap > 0)
    return bool((n * l.denominator) ** n >= l.numerator**n * math.prod(count**count for count in counts))


def _recursive(counts: Counts, l: int, c: Fraction) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return whether r1 < c * (rl + ... + rm), and the ratio r1 / (rl + ... + rm)."""
    falling = _falling(counts)
    first = counts.start[:-1]
    rank = np.arange(falling.size) - np.repeat(first, np.diff(counts.start))
    largest = falling[first]
    tail = np.add.reduceat(np.where(rank >= l - 1, falling, 0), first)
    with np.errstate(divide="ignore"):
        ratio = largest / tail
    return ~at_most(tail, largest, 1 / c), ratio


def _falling(counts: Counts) -> Integers:
    """Return the counts of each class, largest first, class after class."""
    step = int(counts.count.max()) + 1
    keys = counts.class_of.astype(np.int64) * step + (step - 1 - counts.count)
    keys.sort()
    return step - 1 - keys % step
