"""What can be required, and what can make it, as data: what members of both families say of themselves.

Whoever shows forms, or a schema, needs no single model or anonymizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.anonymizers import ANONYMIZERS
from sfumato.data.schema import Role, Schema
from sfumato.errors import InputError
from sfumato.models import PRIVACY_MODELS
from sfumato.parameters import Parameter, parameters_of


@dataclass(frozen=True, kw_only=True)
class Member:
    """A model or an anonymizer, as far as a plan names it."""

    name: str
    summary: str  # the first line of what it says of itself
    parameters: tuple[Parameter, ...]
    judges: Role | None = None  # of the columns that a model names; None where it names none
    masks: bool = False  # whether these may be published as labels
    needs: tuple[str, ...] = ()  # what it takes as known to everybody
    anonymizers: tuple[str, ...] = ()  # that can meet a model, the usual one first


def requirable() -> dict[str, Member]:
    """Return what can be required, by name.

    >>> requirable()["l-diversity"].judges.value, requirable()["k-anonymity"].judges
    ('sensitive', None)
    """
    made = {}
    for name, make in PRIVACY_MODELS.items():
        parameters = parameters_of(make)
        made[name] = Member(
            name=name,
            summary=_first_line(make),
            parameters=parameters,
            judges=make.judged_role if any(each.names_columns for each in parameters) else None,
            masks=make.masks,
            needs=tuple(sorted(need.value for need in make.needs)),
            anonymizers=tuple(
                other for other, maker in ANONYMIZERS.items() if issubclass(make, (*maker.aims_at, *maker.also_meets))
            ),
        )
    return made


def some_requirement() -> dict[str, Any]:
    """Return a requirement that names no column, for who needs a plan and looks at its columns alone.

    >>> some_requirement()
    {'model': 'k-anonymity', 'k': 5}
    """
    name, member = next((name, member) for name, member in requirable().items() if member.judges is None)
    return {"model": name, **{each.name: each.example for each in member.parameters if each.required}}


def able() -> dict[str, Member]:
    """Return what makes releases, by name."""
    return {
        name: Member(name=name, summary=_first_line(make), parameters=parameters_of(make))
        for name, make in ANONYMIZERS.items()
    }


def promise_of(requirement: Mapping[str, Any], beside: Schema | None = None) -> tuple[str, str]:
    """Return what a requirement promises and what it does not stop, in sentences; nothing where it cannot be.

    >>> promise_of({"model": "k-anonymity", "k": 5})[0]
    'Whoever knows all quasi-identifiers of a person finds at least 5 rows that could be theirs.'
    """
    values = {name: value for name, value in requirement.items() if name not in ("model", "anonymizer")}
    try:
        model = PRIVACY_MODELS[str(requirement.get("model"))](**values)
        return model.promise_beside(beside or Schema()), f"{model.limit} {model.advice}".rstrip()
    except (KeyError, TypeError, InputError):
        return "", ""


def _first_line(member: type[Any]) -> str:
    return (member.__doc__ or "").split("\n")[0]
