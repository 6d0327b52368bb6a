"""From the structure of a plan to the text of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import tomlkit

from sfumato.data.builders import Edges, Flat, HierarchyFile, HierarchySource, NestedHierarchy, Prefix, Widths
from sfumato.data.dates import Dates
from sfumato.data.schema import ColumnSpec, SensitiveShare
from sfumato.errors import PlanError, Problem
from sfumato.models import PRIVACY_MODELS
from sfumato.models.base import PrivacyModel


def toml_of(document: Mapping[str, Any]) -> str:
    """Return a plan as TOML; objects are written as what a file would say in their place.

    >>> columns = {"age": {"role": "quasi-identifier"}}
    >>> print(toml_of({"columns": columns, "require": [{"model": "k-anonymity", "k": 5}]}))
    [columns.age]
    role = "quasi-identifier"
    <BLANKLINE>
    [[require]]
    model = "k-anonymity"
    k = 5
    <BLANKLINE>
    """
    order = (
        *("draft", "source", "gather", "columns", "knowledge"),
        *("require", "anonymizers", "release", "measure", "engine"),
    )
    known = {key: document[key] for key in (*order, *document) if key in document}
    return tomlkit.dumps({key: plain(value, key) for key, value in known.items() if value not in ({}, [], ())})


def plain(value: Any, place: str) -> Any:
    """Return a value as TOML knows it."""
    if isinstance(value, tuple(PRIVACY_MODELS.values())):
        return {"model": cast(PrivacyModel, value).name, **_fields(value, place)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner, f"{place}.{key}") for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [plain(inner, f"{place}[{position}]") for position, inner in enumerate(value, start=1)]
    if isinstance(value, ColumnSpec | SensitiveShare):
        return {key: inner for key, inner in _fields(value, place).items() if key != "name"}
    if isinstance(value, HierarchySource):
        return plain(_hierarchy(value, place), place)
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else str(value)
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, bool | int | float | str):  # words with a meaning, such as roles, are texts as well
        return str(value) if isinstance(value, str) else value
    raise _unwritten(value, place)


def _hierarchy(source: HierarchySource, place: str) -> Any:
    match source:
        case HierarchyFile():
            return source.path
        case NestedHierarchy():
            return source.tree
        case Prefix():
            return {"prefix": source.lengths}
        case Widths():
            return {"widths": source.widths, "origin": source.origin}
        case Edges():
            return {"edges": source.levels}
        case Dates():
            return {"dates": source.levels}
        case Flat():
            return {"flat": True}
    raise _unwritten(source, place)


def _unwritten(value: object, place: str) -> PlanError:
    what = f"it was given as {type(value).__name__}, which no file can hold. Write it as text."
    return PlanError([Problem(place, what)])


def _fields(value: Any, place: str) -> dict[str, Any]:
    """Return the fields that were set to something else than their default."""
    assert is_dataclass(value)
    found = {item.name: (getattr(value, item.name), item.default) for item in fields(value)}
    told = {name: inner for name, (inner, usual) in found.items() if inner is not None and inner != usual}
    return {name: plain(inner, f"{place}.{name}") for name, inner in told.items()}
