"""The contract of privacy models: a definition, and an audit that reads nothing but the release and public inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from sfumato.data.release import Release
from sfumato.errors import PolicyError


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What an audit found. Facts only: the report turns them into sentences."""

    model: PrivacyModel
    satisfied: bool
    reached: float | None  # by the worst group, in the unit of `required`; None when there is no group at all
    required: float
    groups: int  # how many groups were judged
    failing: int  # how many of them break the requirement
    failing_rows: int = 0  # how many rows are in them
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            **describe(self.model),
            "satisfied": self.satisfied,
            "reached": self.reached,
            "required": self.required,
            "groups": self.groups,
            "failing": self.failing,
            "failing_rows": self.failing_rows,
            **({"facts": dict(self.facts)} if self.facts else {}),
        }


@runtime_checkable
class PrivacyModel(Protocol):
    """What a release must satisfy. Members are frozen dataclasses whose fields are the plan's keys."""

    name: ClassVar[str]

    @property
    def promise(self) -> str:
        """One sentence for people: what holds when the audit passes."""

    @property
    def limit(self) -> str:
        """One sentence for people: an attack that it does not stop."""

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """Columns that the requirement names, besides the quasi-identifiers."""

    def audit(self, release: Release) -> Verdict:
        """Judge a release."""


ModelType = TypeVar("ModelType", bound=PrivacyModel)


def describe(model: PrivacyModel) -> dict[str, Any]:
    """Return a model's name and parameters as plain data, as release.json shows them."""
    values = {item.name: getattr(model, item.name) for item in fields(model)}  # type: ignore[arg-type]
    return {"model": model.name} | {
        name: str(value) if isinstance(value, Fraction) else value for name, value in values.items() if value is not None
    }


@dataclass(frozen=True)
class Policy:
    """All requirements of a plan."""

    requirements: tuple[PrivacyModel, ...]

    def __iter__(self) -> Iterator[PrivacyModel]:
        return iter(self.requirements)

    def of(self, *types: type[ModelType]) -> tuple[ModelType, ...]:
        """Return the requirements of some types."""
        return tuple(model for model in self.requirements if isinstance(model, types))

    def k(self) -> int:
        """Return the smallest class size that the requirements ask for, 1 when none does."""
        return max((int(getattr(model, "k", 1)) for model in self.requirements), default=1)


def exact_fraction(value: float | str | Fraction, what: str) -> Fraction:
    """Return a parameter as the exact fraction that was written: 0.2 is 1/5, "1/3" is 1/3.

    >>> exact_fraction(0.2, "t"), exact_fraction("1/3", "t")
    (Fraction(1, 5), Fraction(1, 3))
    """
    try:
        return Fraction(str(value)) if not isinstance(value, Fraction) else value
    except (ValueError, ZeroDivisionError):
        raise PolicyError(f"{what} was given as {value!r}, which is no number.\nWrite a number such as 0.2, or a fraction such as \"1/3\".") from None
