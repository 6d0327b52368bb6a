"""What a release means, in words for whoever receives it: `release/README.md`, `sfumato describe`, `sf.describe`.

All of it follows from release.json, so it says nothing about the original that is not said there. What is counted is
counted in the published table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.data.dataset import CodedSets
from sfumato.data.release import Release
from sfumato.data.schema import Kind, Role, Schema
from sfumato.errors import SfumatoError
from sfumato.models import PRIVACY_MODELS
from sfumato.models.base import PrivacyModel

_LABELS = (
    "A value, or a label that covers several: a group of its hierarchy, `{a|b}` for one of these values, `*` for any."
)
_CELLS = {
    Kind.NUMBER: "A number is the value itself. `[20, 29]` is a number from 20 to 29, both included; `[20, 30)` goes "
    "up to 30, without it; `*` is any number, or a missing one.",
    Kind.DATE: "A day is the value itself. `2024-03`, `2024-Q1`, `2024` and `[2024-01-01, 2024-03-31]` are periods: "
    "one of their days, the first and the last included; `*` is any day, or a missing one.",
    Kind.ORDERED: _LABELS,
    Kind.CATEGORY: _LABELS,
}
_AS_IT_WAS = "Not at all: cells are as they were in the source."
_AS_GATHERED = "Not at all, once the rows of each person had become one."
_NO_MEASUREMENT = "Bounds are no measurements: neither the middle nor the end of a range need be anybody's value."
_NO_VALUE = "A group is no value of its own: which of its values a person has stays open."
_NOTHING_HIDDEN = "Cells are true. The promises are about what they give away of people, not about the cells."
_MAY_BE_EMPTY = (Role.QUASI_SENSITIVE, Role.ITEMS, Role.SENSITIVE_QUASI_IDENTIFIER)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One column: what its cells mean, how they were changed, and what must not be concluded from them."""

    name: str
    role: str
    kind: str | None
    cells: str
    changed: str
    beware: str
    label: str = ""  # what it is about, as the source says
    counts: Mapping[str, int] | None = None  # in the published table, where it is at hand

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        shown = {"name": self.name, "role": self.role, "kind": self.kind, "cells": self.cells}
        counted = {"counts": dict(self.counts)} if self.counts is not None else {}
        label = {"label": self.label} if self.label else {}
        return {**shown, **label, "changed": self.changed, "beware": self.beware, **counted}


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What was asked of the release, what that promises, and what it does not stop."""

    model: str
    parameters: Mapping[str, Any]
    promise: str = ""
    limit: str = ""

    @property
    def title(self) -> str:
        """The model with its parameters."""
        told = ", ".join(f"{name} = {_shown(value)}" for name, value in self.parameters.items())
        return f"{self.model} ({told})" if told else self.model

    def as_dict(self) -> dict[str, Any]:
        """Return the promise as plain data."""
        return {"model": self.model, **dict(self.parameters), "promise": self.promise, "limit": self.limit}


@dataclass(frozen=True, kw_only=True, repr=False)
class Dictionary:
    """A data dictionary. Shows itself as the page that a release carries along."""

    rows: int
    missing: str  # what a missing cell shows
    entries: tuple[Entry, ...]
    promises: tuple[Promise, ...]
    test_only: bool = False
    weight: str | None = None  # the column that says how many people a row stands for
    dropped: int = 0  # rows that are not in it
    gathered: bool = False  # whether each row is a person
    dialect: Mapping[str, str] | None = None  # how the file is written, where that is not the usual way

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Dictionary:
        """Return what release.json says, in words.

        >>> age = {"role": "quasi-identifier", "kind": "number"}
        >>> words = Dictionary.of({"rows": 9, "columns": {"age": age}, "models": [{"model": "k-anonymity", "k": 3}]})
        >>> words.promises[0].promise
        'Whoever knows all quasi-identifiers of a person finds at least 3 rows that could be theirs.'
        """
        masked, beside = masked_columns(description), _beside(description)
        return cls(
            rows=int(description.get("rows", 0)),
            missing=str(description.get("missing", "")),
            entries=tuple(
                _entry(name, about, masked=name in masked, gathered=beside.gathered)
                for name, about in description["columns"].items()
            ),
            promises=tuple(_promise(described, model, beside) for described, model in _models(description)),
            test_only=bool(description.get("test_only")),
            weight=str(description["weight"]) if "weight" in description else None,
            dropped=int(description.get("rows_dropped", 0)),
            gathered=beside.gathered,
            dialect=description.get("dialect"),
        )

    @classmethod
    def of_release(cls, release: Release) -> Dictionary:
        """Return the same with what can be counted in the published table."""
        words = cls.of(release.description)
        entries = tuple(replace(entry, counts=_counts(release, entry.name)) for entry in words.entries)
        return replace(words, rows=release.n_rows, entries=entries)

    def as_dict(self) -> dict[str, Any]:
        """Return the dictionary as plain data."""
        return {
            "rows": self.rows,
            "rows_dropped": self.dropped,
            "missing": self.missing,
            "columns": [entry.as_dict() for entry in self.entries],
            "models": [promise.as_dict() for promise in self.promises],
            "beware": list(self.beware),
            "test_only": self.test_only,
            "weight": self.weight,
            **({"dialect": dict(self.dialect)} if self.dialect else {}),
        }

    @property
    def beware(self) -> tuple[str, ...]:
        """What must not be concluded from the table as a whole."""
        return tuple(_beware({entry.role for entry in self.entries}, self.dropped))

    def __repr__(self) -> str:
        return f"<Dictionary: {self.rows:,} rows, {len(self.entries)} columns; print it to read it>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_markdown_(self) -> str:
        return str(self)

    def _lines(self) -> Iterator[str]:
        yield "# About this release\n"
        rows = f"{self.rows:,} {'people, a row each' if self.gathered else 'rows'}"
        yield (
            f"{rows}, {len(self.entries):,} columns, made from a table about people with sfumato. Cells "
            "were changed so that the promises below hold; they were checked on this very table. `release.json` says "
            "the same for programs.\n"
        )
        if self.test_only:
            yield "**For tests only:** it was made with a seed, so whoever guesses it repeats every draw.\n"
        marker = f"shows `{_code(self.missing)}`" if self.missing else "is empty"
        empty = [f"`{_code(entry.name)}`" for entry in self.entries if entry.role in _MAY_BE_EMPTY]
        hides = f" In {', '.join(empty)} it may also be what was left of a cell, or drawn by chance." if empty else ""
        yield (
            f"A cell that {marker} was missing in the source: that is a value of its own and stands for no other."
            f"{hides}\n"
        )
        if self.dialect:
            yield f"The table is written {_written(self.dialect)}.\n"
        if self.weight is not None:
            yield f"Each row stands for as many people as `{_code(self.weight)}` says: counts and means need it.\n"
        yield "## What is promised\n"
        for promise in self.promises:
            yield f"- **{promise.title}.** {promise.promise}" + (
                f" It does not stop this: {promise.limit}" if promise.limit else ""
            )
        yield "\n## What must not be concluded\n"
        yield from (f"- {sentence}" for sentence in self.beware)
        yield "\n## Columns"
        for entry in self.entries:
            yield f"\n### `{_code(entry.name)}`\n"
            yield f"{entry.role}{f', {entry.kind}' if entry.kind else ''}\n"
            if entry.label:
                yield f"- About: `{_code(entry.label)}`"
            yield f"- Cells: {entry.cells}"
            yield f"- Changed: {entry.changed}"
            yield f"- Beware: {entry.beware}"
            if entry.counts is not None:
                counted = (f"{count:,} {what}" for what, count in entry.counts.items())
                yield f"- In this table: {', '.join(counted)}"


def _written(dialect: Mapping[str, str]) -> str:
    """Return how to open a file that has the dialect of its source.

    >>> _written({"separator": ";", "encoding": "windows-1252", "decimal": ","})
    'with `;` between cells, in the encoding `windows-1252`, and with `,` before decimals where a column has no ranges'
    """
    separator = dialect.get("separator", ",")
    between = "tabs" if separator == "\t" else f"`{_code(separator)}`"
    return (
        f"with {between} between cells, in the encoding `{_code(dialect.get('encoding', 'utf-8'))}`, and with "
        f"`{_code(dialect.get('decimal', '.'))}` before decimals where a column has no ranges"
    )


def _code(text: str) -> str:
    """Return a text that ends neither the line nor the marks around it."""
    return " ".join(text.replace("`", "'").split())


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _code(str(value))


def _rebuilt(described: Mapping[str, Any]) -> PrivacyModel | None:
    """Return the model that release.json names, or None where this version does not know it so."""
    model = PRIVACY_MODELS.get(str(described.get("model")))
    try:
        parameters = {name: value for name, value in described.items() if name != "model"}
        return model(**parameters) if model is not None else None
    except (SfumatoError, TypeError, ValueError):
        return None


def _models(description: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], PrivacyModel | None]]:
    described = [dict(model) for model in description.get("models", ()) if isinstance(model, Mapping)]
    return [(model, _rebuilt(model)) for model in described]


def masked_columns(description: Mapping[str, Any]) -> frozenset[str]:
    """Return the sensitive columns that may show labels of their hierarchy."""
    masking = (model for _, model in _models(description) if model is not None and model.masks)
    return frozenset(name for model in masking for name in model.judged_columns)


def _beside(description: Mapping[str, Any]) -> Schema:
    """Return who is counted, and what else somebody may know, as far as promises go by it."""
    gathered = description.get("gathered") is True
    return Schema(person=description.get("person"), gathered=gathered)


def _promise(described: Mapping[str, Any], model: PrivacyModel | None, beside: Schema) -> Promise:
    parameters = {name: value for name, value in described.items() if name != "model"}
    known = {"promise": model.promise_beside(beside), "limit": model.limit} if model is not None else {}
    return Promise(model=str(described.get("model")), parameters=parameters, **known)


def _beware(roles: set[str], dropped: int) -> Iterator[str]:
    yield "Rows are not to be tied to people: looking for somebody in this table is what it was made to prevent."
    yield "The order of rows is nothing to draw conclusions from."
    if dropped:
        yield (
            f"{dropped:,} row(s) of the original were dropped, of people who are unlike the others: counts are too "
            "low, and rare combinations are missing."
        )
    if Role.QUASI_IDENTIFIER.value in roles:
        yield (
            "Labels of different width are no categories of their own: `[20, 29]` and `25` overlap. Estimate from them "
            "(`sf.load`), or compare columns at the width that all rows have."
        )
    if {Role.QUASI_SENSITIVE.value, Role.ITEMS.value} & roles:
        yield "That something is not in a set does not say that the person does not have it."
    if Role.SENSITIVE_QUASI_IDENTIFIER.value in roles:
        yield (
            "Cells that show other values beside the true one, or in its place, are right only in tables of many: "
            "never read one alone."
        )


def _entry(name: str, about: Mapping[str, Any], *, masked: bool, gathered: bool) -> Entry:
    role, kind = Role(about["role"]), Kind(about["kind"]) if "kind" in about else None
    cells, changed, beware = _words(role, kind, about, masked=masked)
    changed = _AS_GATHERED if gathered and changed == _AS_IT_WAS else changed
    label = str(about.get("label", ""))
    return Entry(name=name, role=role.value, kind=kind, cells=cells, changed=changed, beware=beware, label=label)


def _words(role: Role, kind: Kind | None, about: Mapping[str, Any], *, masked: bool) -> tuple[str, str, str]:
    """Return what cells mean, how they were changed, and what must not be concluded."""
    members = f"Several values, with `{_code(str(about.get('separator', '|')))}` between them."
    match role:
        case Role.OTHER if about.get("numbers") == "people":
            return (
                "The number of a person, the same in all rows about them.",
                "People were numbered anew, by chance.",
                "It says nothing of a person but which rows are theirs, and is of no use with any other table. Rows of "
                "one person are alike: errors that take each row for somebody of their own are too small.",
            )
        case Role.QUASI_IDENTIFIER if "shows" in about:
            figure = _code(str(about["shows"]))
            return (
                f"A number is the {figure} of the class, rounded, where release.json lists the range that it stands "
                f"for (`spans`), else the value itself. {_CELLS[Kind.NUMBER].partition('. ')[2]}",
                f"Replaced by the {figure} of all rows with the same labels, once these were coarse enough.",
                f"A {figure} is nobody's value: rows of a class differ, so the spread of the column looks too small.",
            )
        case Role.QUASI_IDENTIFIER:
            return (
                _CELLS.get(kind or Kind.CATEGORY, members),
                "Made coarser until the promises held, in some rows perhaps more than in others.",
                _NO_MEASUREMENT if kind in (Kind.NUMBER, Kind.DATE) else _NO_VALUE,
            )
        case Role.SENSITIVE if masked:
            return (
                _CELLS[Kind.CATEGORY],
                "Replaced by a label that covers the true value where that was needed.",
                "The values that a label covers are not equally likely, and coarse labels are commoner where values "
                "are rare: leaving such rows out gives wrong shares.",
            )
        case Role.QUASI_SENSITIVE:
            return (
                members if kind in (Kind.SET, None) else "The value itself, or none.",
                "Terms were removed that would have told too much.",
                "A term that is absent may be there.",
            )
        case Role.ITEMS if "legend" in about:
            return (
                f"{members} A label of the hierarchy stands for one or several of the items below it; release.json "
                "says which labels these are (`legend`).",
                "Items that would have told too much are shown as such a label, or were withheld; in some rows more "
                "than in others.",
                "An item that is absent may be there, also behind a label; a label that is shown does not say which "
                "item, nor how many.",
            )
        case Role.ITEMS:
            return members, "Items were withheld that would have told too much.", "An item that is absent may be there."
        case Role.SENSITIVE_QUASI_IDENTIFIER:
            return _randomized(about, members)
        case _:
            cells = members if kind is Kind.SET else "The value itself."
            return cells, _AS_IT_WAS, _NOTHING_HIDDEN


def _randomized(about: Mapping[str, Any], members: str) -> tuple[str, str, str]:
    domain, eta, p = about.get("domain"), about.get("eta"), about.get("p")
    if "groups" in about:
        return (
            members,
            f"Every cell shows all values of the group that the true one belongs to; there are {len(about['groups']):,}"
            " groups, which are listed with the column.",
            "How common each value of a group is cannot be told. `sfumato reconstruct` lets them share its records.",
        )
    if "shares" in about:
        kept = f"{float(p):.3g}" if isinstance(p, int | float) else "p"
        return (
            "A value of the domain, which may have been drawn by chance.",
            f"A cell kept its value with chance {kept}; otherwise one was drawn, each value with its share in "
            "release.json, which is about how common it is.",
            "Counts of this column alone are nearly right on average. Tables with other columns show too little of "
            "what goes together: `sfumato reconstruct` computes them back, with the error that is left.",
        )
    drawn = "Every cell was drawn by chance"
    try:
        assert isinstance(domain, Sequence)
        assert isinstance(eta, int)
        chance = float(Fraction(str(p)) + (1 - Fraction(str(p))) * Fraction(eta, len(domain)))
        drawn += (
            f": it shows {eta:,} of {len(domain):,} values, and the true one is among them with chance {chance:.3g}"
        )
    except (AssertionError, ValueError, ZeroDivisionError):
        pass  # a column that another tool wrote, or an old one
    return (
        members if eta != 1 else "A value of the domain, drawn by chance.",
        f"{drawn}.",
        "Counting cells gives wrong tables. `sfumato reconstruct` computes them back, with the error that is left.",
    )


def _counts(release: Release, name: str) -> dict[str, int] | None:
    column = release.columns.get(name)
    if column is None:
        return None
    if isinstance(column, CodedSets):
        return {"different members": len(column.labels)}
    missing = int((column.codes == column.missing).sum()) if column.missing >= 0 else 0
    return {"different labels": len(column.labels) - (column.missing >= 0), "missing cells": missing}
