"""What release.json may hold: the shape of all that anybody here reads of it, checked before anything is believed.

A release folder comes from anybody. What its description says may be untrue, and then audits find out; what has another
shape than a description has is refused as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sfumato.data.schema import Kind, Role

Shape: TypeAlias = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0  # true is no number


def _share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _list_of(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def _by_name(shape: Shape) -> Shape:
    return lambda value: isinstance(value, Mapping) and all(map(shape, value.values()))


def _with(**shapes: Shape) -> Shape:
    """Return the shape of an object some of whose keys are known; others may be there, and each may be absent."""
    return lambda value: (
        isinstance(value, Mapping) and all(shape(value[key]) for key, shape in shapes.items() if key in value)
    )


def _rates(value: Any) -> bool:
    """Whether base rates are counts by value that are small enough to be multiplied."""
    shaped = _with(values=_by_name(_count), missing=_count)(value) and {"values", "missing"} <= set(value)
    return shaped and sum(value["values"].values(), value["missing"]) < 2**31


_COLUMN = _with(
    role=lambda value: value in tuple(Role),
    kind=lambda value: value in tuple(Kind),
    separator=lambda value: _text(value) and value != "",
    domain=lambda value: _list_of(_text)(value) and len(value) > 0,
    eta=lambda value: _count(value) and value > 0,
    p=_share,
    shares=_list_of(_share),
    groups=_list_of(_list_of(_text)),
    legend=_by_name(_with(members=_list_of(_text))),
    spans=_by_name(_by_name(_count)),
    base_rates=_rates,
)
_WHOLE = _with(
    rows=_count,
    rows_dropped=_count,
    weight=_text,
    files=_by_name(_text),
    table=_with(),
    models=_list_of(_with(model=_text, k=_count, m=_count, p=_count)),
    columns=_by_name(_COLUMN),
    prior=_by_name(_share),
)


def is_description(told: Mapping[str, Any]) -> bool:
    """Whether what release.json tells has the shape of a description.

    >>> is_description({"rows": 2, "columns": {"age": {"role": "quasi-identifier", "kind": "number"}}})
    True
    >>> is_description({"rows": None, "columns": {}})
    False
    """
    return "columns" in told and _WHOLE(told) and all(map(_fits_together, told["columns"].values()))


def _fits_together(about: Mapping[str, Any]) -> bool:
    """Whether what is said of a column by several keys goes together."""
    values, legend = len(about.get("domain", ())), about.get("legend", {})
    members = {member for entry in legend.values() for member in entry.get("members", ())}
    return (
        "role" in about
        and about.get("eta", 0) <= (values or math.inf)
        and len(about.get("shares", ())) in (0, values)
        and not members & set(legend)  # they are values, and no labels that stand for more
    )
