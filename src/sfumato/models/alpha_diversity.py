"""Alpha diversity: no class makes a sensitive value more likely than alpha, or than it is anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.errors import PolicyError
from sfumato.models.base import PrivacyModel, Verdict, as_number, plain_number
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.posteriors import READINGS, Judged, Secrets, judge
from sfumato.parameters import exact_fraction, one_of, whole_number


@dataclass(frozen=True, kw_only=True)
class AlphaDiversity:
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
    judged_role: ClassVar[Role] = Role.SENSITIVE

    sensitive: str | Sequence[str]  # becomes a tuple of names
    alpha: float | str | Fraction  # above 0, up to 1; becomes an exact fraction
    k: int | None = None  # becomes ceil(1 / alpha) when not given
    reading: str = "prior"
    missing_is_sensitive: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", column_names(self.sensitive, self.name))
        object.__setattr__(self, "alpha", checked_alpha(self.alpha, f"alpha of {self.name}"))
        object.__setattr__(self, "k", checked_k(self.k, self.exact_alpha, self.name))
        one_of(self.reading, f"reading of {self.name}", READINGS)
        checked_flag(self.missing_is_sensitive, f"missing_is_sensitive of {self.name}")

    @property
    def exact_alpha(self) -> Fraction:
        """The parameter alpha as it was written."""
        return Fraction(self.alpha)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return (
            f"Whoever finds a person's class believes in no value of {named(self.judged_columns)} more than "
            f"{plain_number(self.exact_alpha)}{BEYOND[self.reading]}."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return (
            "Knowing or excluding a value of one sensitive column may give away another: ask for multi-diversity. "
            f"{LIMIT[self.reading]}"
        )

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return tuple(self.sensitive)

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by what its classes tell about sensitive values."""
        secrets = Secrets.of(release, self.judged_columns, self)
        whole = judge(
            secrets,
            self.exact_alpha,
            self.reading,
            knowing_others=False,
            missing_is_sensitive=self.missing_is_sensitive,
        )
        sizes = size_verdict(self, self.k, release)
        return sizes if sizes is not None else posterior_verdict(self, whole, self.exact_alpha, "class", {})


BEYOND = {
    "prior": ", or than its base rate where that is higher already",
    "uniform": ", or than one in all values of the column",
    "true": ", whatever is behind the labels",
}
_CHOICE = "how masks were chosen says more than the masks"
LIMIT = {
    "prior": f"Whoever knows what is really behind the labels of a class learns more; and {_CHOICE}.",
    "uniform": f"Whoever knows how common values are believes more than that; and {_CHOICE}.",
    "true": f"Knowledge of which values go together for a person is not covered; and {_CHOICE}.",
}


def named(columns: Sequence[str]) -> str:
    """Return names of columns for a sentence."""
    quoted = [repr(name) for name in columns]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def column_names(value: object, model: str) -> tuple[str, ...]:
    """Return one or several names of columns as a tuple, or raise."""
    names = (value,) if isinstance(value, str) else value
    if (
        not isinstance(names, list | tuple)
        or not names
        or any(not isinstance(name, str) or not name for name in names)
        or len(set(names)) < len(names)
    ):
        raise PolicyError(
            f"sensitive of {model} must be names of columns, each once, but was given as {value!r}.\n"
            'Write them as ["job", "illness"].'
        )
    return tuple(names)


def checked_alpha(value: float | str | Fraction, what: str) -> Fraction:
    """Return a share above 0 and up to 1, exactly as written, or raise."""
    alpha = exact_fraction(value, what)
    if not 0 < alpha <= 1:
        raise PolicyError(
            f"{what} must be above 0 and at most 1, but was given as {value!r}: it is the highest chance that a value "
            "may have.\nWrite a number such as 0.5."
        )
    return alpha


def checked_k(value: object, alpha: Fraction, model: str) -> int:
    """Return the smallest class size, ceil(1 / alpha) when none is given."""
    return math.ceil(1 / alpha) if value is None else whole_number(value, f"k of {model}", least=1, example=3)


def checked_flag(value: object, what: str) -> None:
    """Raise unless a parameter is true or false."""
    if not isinstance(value, bool):
        raise PolicyError(f"{what} was given as {value!r}.\nWrite true or false, without quotes.")


def size_verdict(model: PrivacyModel, k: int | None, release: Release) -> Verdict | None:
    """Return the verdict on a release that has classes below k; None when it has none."""
    size = classes_of(release).size
    small = size < (k or 1)
    if k is None or not small.any():
        return None
    return Verdict(
        model=model,
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


def posterior_verdict(
    model: PrivacyModel, judged: Judged, alpha: Fraction, group: str, facts: dict[str, float | int]
) -> Verdict:
    """Return the verdict on what was believed in groups."""
    required = as_number(alpha)
    reached = judged.worst
    if reached is not None:  # rounding must not turn what is shown against what was decided exactly
        reached = max(reached, float(required)) if judged.failing else min(reached, float(required))
    return Verdict(
        model=model,
        satisfied=not judged.failing,
        reached=reached,
        required=required,
        groups=judged.groups,
        failing=judged.failing,
        failing_rows=int(judged.failing_row.sum()),
        facts={"highest_chance": judged.highest, **facts},
        measure="largest chance above a base rate",
        bound="at most",
        group=group,
    )
