"""What release.json may hold: the shape of all that anybody here reads of it, checked before anything is believed.

A release folder comes from anybody. What its description says may be untrue, and then audits find out; what has another
shape than a description has is refused as a whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from sfumato.data.builders import DECLARED
from sfumato.data.figures import SHOWS
from sfumato.data.kinds import as_number
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema

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


# What sfumato writes, and nothing else.
_KEYS = frozenset(
    (
        *("format", "rows", "rows_dropped", "missing", "columns", "models", "weight", "test_only", "prior"),
        *("gathered", "person", "dialect", "table", "files"),
    )
)
_COLUMN_KEYS = frozenset(
    (
        *("role", "kind", "separator", "domain", "eta", "p", "shares", "groups", "legend", "spans", "shows"),
        *("base_rates", "margin", "numbers", "label", "l", "t", "epsilon", "asked_epsilon", "distance", "prior"),
        "small_domain",
    )
)
_NUMBER = re.compile(r"[\d./e+-]+")  # of such a key, also as a fraction in text
# What other keys of a column may be.
_WORDS: Mapping[str, Collection[str]] = {
    "numbers": ("people",),
    "shows": SHOWS,
    "distance": ("equal", "ordered", "hierarchical"),
    "prior": ("table", "any"),
    "small_domain": ("error", "suppress", "lower"),
}
_OF_CELLS = frozenset(("domain", "eta", "p", "shares", "groups"))  # of columns whose cells are drawn by chance
_LETTER = re.compile(r"[^\W\d]")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def entries_not_ours(
    told: Mapping[str, Any], schema: Schema, release: Release, names: Collection[str], files: Collection[str]
) -> int:
    """Return how many entries of a description sfumato never writes: unknown keys, and values that may be anything.

    `names` are the columns of the table, and `files` the files beside the description. Legends, spans and base rates
    may name what the release shows and what the plan's own hierarchy has, no more. Where the release is judged in
    parts, it is not known here which labels it shows, and labels are not compared.
    """
    columns = told["columns"]
    wrong = len(told.keys() - _KEYS) + len(told.get("table", {}).keys() - {"name", "database", "sha256"})
    wrong += sum(name not in files or not _SHA256.fullmatch(sha256) for name, sha256 in told.get("files", {}).items())
    wrong += sum(key in told and told[key] not in columns for key in ("weight", "person"))
    wrong += sum(told.get(key, True) is not True for key in ("test_only", "gathered"))
    wrong += len(columns.keys() - set(names))
    return wrong + sum(sum(_wrong_in(about, release, schema.spec(name), name)) for name, about in columns.items())


def _wrong_in(about: Mapping[str, Any], release: Release, spec: ColumnSpec | None, name: str) -> Iterator[int]:
    """Yield how many entries about a column are wrong, place by place."""
    column = release.columns.get(name)
    named = any(about.get(key) for key in ("legend", "spans", "base_rates"))
    labels = set(column.labels) if named and column is not None and release.parts is None else None
    yield len(about.keys() - _COLUMN_KEYS)
    yield len(about.keys() & _OF_CELLS) if about["role"] != Role.SENSITIVE_QUASI_IDENTIFIER else 0
    yield sum(about[key] not in words for key, words in _WORDS.items() if key in about)
    numbers = ("margin", "l", "t", "epsilon", "asked_epsilon")
    yield sum(not _NUMBER.fullmatch(str(about[key])) for key in numbers if key in about)
    legend, spans, rates = (about.get(key, {}) for key in ("legend", "spans", "base_rates"))
    if labels is not None:
        yield len(legend.keys() - labels)
    if labels is not None and spans:
        shown = set(map(as_number, labels))
        yield sum(math.isnan(number) or number not in shown for number in map(as_number, spans))
    yield sum(
        len(entry.keys() - {"level", "members"}) + (type(entry.get("level")) is not int) for entry in legend.values()
    )
    members = {member for entry in legend.values() for member in entry.get("members", ())}
    ranges = {label for stands_for in spans.values() for label in stands_for if _LETTER.search(label)}
    values = set(rates.get("values", {})) - (labels or set())
    yield len(rates.keys() - {"values", "missing", "counted"}) + (type(rates.get("counted", True)) is not bool)
    if members or ranges or values:
        public = _public_labels(spec)
        yield len(members - public) if public is not None else len(members)
        yield len((ranges | values) - public) if public is not None else 0


def _public_labels(spec: ColumnSpec | None) -> set[str] | None:
    """Return all labels of the hierarchy that a plan gives in a file or in itself; None where it gives none."""
    if spec is None or not isinstance(spec.hierarchy, DECLARED):
        return None
    return set(spec.hierarchy.build((), f"The hierarchy of column {spec.name!r}", secret=True).labels)
