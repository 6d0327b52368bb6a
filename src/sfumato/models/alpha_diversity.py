"""Alpha diversity: no class makes a sensitive value more likely than alpha, or than it is anyway."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import takewhile
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.data.schema import Role, Schema
from sfumato.errors import Problem
from sfumato.models.base import Need, Policy, PrivacyModel, Verdict, as_number, plain_number
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.posteriors import READINGS, Judged, Secrets, judge
from sfumato.parameters import AsWritten, Exact, Parameter, Takes, about, parametrized

SENSITIVE = about(Takes.COLUMNS, "Sensitive columns", "Which may be published as labels of their hierarchies.")
READING = about(Takes.CHOICE, "Reading", "What a label says about the values below it.", choices=READINGS)
MISSING_IS_SENSITIVE = about(Takes.FLAG, "Missing is sensitive", "Whether a missing value is a secret like others.")


_BEYOND = {
    "prior": ", or than its base rate where that is higher already",
    "uniform": ", or than one in all values of the column",
    "true": ", whatever is behind the labels",
}
_CHOICE = "how masks were chosen says more than the masks"
_LIMIT = {
    "prior": f"Whoever knows what is really behind the labels of a class learns more; and {_CHOICE}.",
    "uniform": f"Whoever knows how common values are believes more than that; and {_CHOICE}.",
    "true": f"Knowledge of which values go together for a person is not covered; and {_CHOICE}.",
}


def highest_chance(title: str, help: str) -> dict[str, Parameter]:  # noqa: A002 - the field's word
    """Return what describes a bound on the chance of a value."""
    why = "it is the highest chance that a value may have"
    return about(Takes.FRACTION, title, help, above=0, most=1, example=0.5, why=why)


def smallest_class(unless_given: str) -> dict[str, Parameter]:
    """Return what describes k, which follows from another parameter when it is left out."""
    words = f"How many rows each class has at least; {unless_given} when left out."
    return about(Takes.WHOLE, "Smallest class", words, least=1, example=3)


class OfMasks(PrivacyModel):
    """What models of columns that are published as labels of their hierarchies have in common."""

    judged_role: ClassVar[Role] = Role.SENSITIVE
    least_decides: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({Need.BASE_RATES})
    masks: ClassVar[bool] = True

    # Fields of members.
    sensitive: str | Sequence[str]
    k: int | None
    reading: str
    missing_is_sensitive: bool

    @property
    def _named(self) -> str:
        """Names of columns for a sentence."""
        *others, last = map(repr, self.judged_columns)
        return f"{', '.join(others)} and {last}" if others else last

    @property
    def _beyond(self) -> str:
        return _BEYOND[self.reading]

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return _LIMIT[self.reading]

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield columns without a hierarchy, and other requirements on them."""
        for name in self.judged_columns:
            spec = schema.spec(name)
            if spec is not None and spec.role is Role.SENSITIVE and spec.hierarchy is None:
                yield Problem(
                    f"columns.{name}.hierarchy",
                    f"column {name!r} is to be masked along a hierarchy, but has none. Add one to [columns.{name}]; "
                    "hierarchy = { flat = true } needs no file, but its only mask is *, which loses the whole value.",
                )
        for other in together:
            both = [name for name in other.judged_columns if name in self.judged_columns]
            if both and not other.masks:
                yield Problem(
                    ".sensitive",
                    f"requirement {other.name} judges {', '.join(map(repr, both))}, which {self.name} masks: it cannot "
                    "be told what labels mean to it. Ask one of them of the column.",
                )

    def unsearchable(self, together: Policy) -> Iterator[Problem]:
        """Yield another reading of labels: masks are chosen by one."""
        before = takewhile(lambda other: other != self, together)
        if any(other.masks and getattr(other, "reading", self.reading) != self.reading for other in before):
            yield Problem(
                ".reading", "its requirements on masked columns differ in their reading. Give all the same one."
            )

    def most_classes(self, release: Release) -> float:
        """Return how often k rows can be taken from those of a release."""
        return release.total // (self.k or 1)

    @property
    def judges_apart(self) -> bool:
        """Whether classes can be judged in parts: each by itself, beside how common values are in the whole."""
        return self.reading != "true"  # which looks at what all classes together hide

    def _judge(self, secrets: Secrets, alpha: Fraction, *, knowing_others: bool) -> Judged:
        """Judge what is believed in every class, or in every sensitive equivalence class."""
        missing = self.missing_is_sensitive
        return judge(secrets, alpha, self.reading, knowing_others=knowing_others, missing_is_sensitive=missing)

    def _size_verdict(self, release: Release) -> Verdict | None:
        """Return the verdict on a release that has classes below k; None when it has none."""
        size, k = classes_of(release).size, self.k or 1
        small = size < k
        if not small.any():
            return None
        return Verdict(
            model=self,
            satisfied=False,
            reached=int(size.min()),
            required=k,
            groups=int(size.size),
            failing=int(small.sum()),
            failing_rows=int(size[small].sum()),
            measure="smallest class",
            bound="at least",
            group="class",
        )

    def _verdict(self, judged: Judged, alpha: Fraction, group: str, **facts: float) -> Verdict:
        """Return the verdict on what was believed in groups."""
        required = as_number(alpha)
        reached = judged.worst
        if reached is not None:  # rounding must not turn what is shown against what was decided exactly
            reached = max(reached, float(required)) if judged.failing else min(reached, float(required))
        return Verdict(
            model=self,
            satisfied=not judged.failing,
            reached=reached,
            required=required,
            groups=judged.groups,
            failing=judged.failing,
            failing_rows=judged.failing_rows,
            facts={"highest_chance": judged.highest, **facts},
            measure="largest chance above a base rate",
            bound="at most",
            group=group,
        )


@parametrized
class AlphaDiversity(OfMasks):
    """In every equivalence class, each value of each sensitive column is at most as likely as `alpha`.

    A published label of the column's hierarchy counts as the values below it, as `reading` says: in proportion to their
    base rates (`prior`), evenly (`uniform`), or as badly as any original that fits the release allows (`true`). A value
    whose base rate (uniform: one over the number of values) exceeds alpha may be as likely as that; not with `true`.
    Every class has at least `k` rows, ceil(1 / alpha) unless given: a class of one masked row would pass otherwise. A
    missing value is a value like others, unless `missing_is_sensitive` is false.

    Source: the alpha requirement of Wong et al. (2006), with sensitive values masked along their hierarchies.
    Limit: whoever knows another sensitive value of a person may know this one, too; see `MultiDiversity`.
    """

    name: ClassVar[str] = "alpha-diversity"
    advice: ClassVar[str] = "Ask for multi-diversity where values of several columns may be known."

    sensitive: str | Sequence[str] = field(metadata=SENSITIVE)  # becomes a tuple of names
    alpha: Exact = field(metadata=highest_chance("Highest chance", "How likely a class may make a value."))
    k: int | None = field(default=None, metadata=smallest_class("ceil(1 / alpha)"))
    reading: str = field(default="prior", metadata=READING)
    missing_is_sensitive: bool = field(default=True, metadata=MISSING_IS_SENSITIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sensitive", self.judged_columns)
        object.__setattr__(self, "k", self.k or math.ceil(1 / self.exact_alpha))

    exact_alpha = AsWritten("alpha")

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return (
            f"Whoever finds a person's class believes in no value of {self._named} more than "
            f"{plain_number(self.exact_alpha)}{self._beyond}."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return f"Knowing or excluding a value of one sensitive column may give away another. {super().limit}"

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by what its classes tell about sensitive values."""
        secrets = Secrets.of(release, self.judged_columns, self)
        whole = self._judge(secrets, self.exact_alpha, knowing_others=False)
        return self._size_verdict(release) or self._verdict(whole, self.exact_alpha, "class")
