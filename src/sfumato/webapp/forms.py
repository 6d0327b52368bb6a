"""Forms that are made from what parameters say of themselves: a new model has its form for nothing.

What is filled in goes into the plan as it is; whether it may be is for the plan to say, beside the field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData

from sfumato.editing import PlanDocument
from sfumato.parameters import NUMBERS, Parameter, Takes, as_toml

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a form."""

    name: str  # in the form
    label: str
    hint: str
    shape: str  # number, text, choice, flag, columns, each, lines
    value: str = ""
    checked: bool = False
    choices: tuple[tuple[str, str], ...] = ()  # value, what is shown
    chosen: frozenset[str] = frozenset()
    parts: tuple[tuple[str, str, str], ...] = ()  # of a value for each column: name in the form, column, value
    least: float | None = None
    most: float | None = None
    step: str = "any"
    required: bool = False
    placeholder: str = ""
    problems: tuple[str, ...] = ()

    @property
    def top(self) -> float | None:
        """How far a slider goes: to the most that there is, else to twice what is said now; none for large numbers."""
        if self.most is not None or self.step != "1" or len(self.placeholder) > len("such as 1000"):
            return self.most
        return max(20.0, 2.0 * int(self.value)) if _WHOLE.fullmatch(self.value) else 20.0


def field_of(
    key: Parameter,
    value: Any,
    columns: Sequence[str],
    problems: Mapping[str, Sequence[str]] | None = None,
    place: str = "",
) -> Field:
    """Return the field of a parameter, with what the plan says now; `place` is where problems would speak of it."""
    found = tuple(text for at, texts in (problems or {}).items() if _speaks_of(at, place, key.name) for text in texts)
    default = f" Left out: {_written(key.default)}." if key.default not in (None, "") and not key.required else ""
    limits = f" {key.range[0].upper()}{key.range[1:]}." if key.range else ""
    shown: Any = as_toml(key.example) if key.takes is Takes.OTHER else _written(key.example)
    common: dict[str, Any] = {
        "name": key.name,
        "label": key.title,
        "hint": f"{key.help}{limits}{default}",
        "required": key.required,
        "problems": found,
        "placeholder": "" if key.example is None or key.per_column else f"such as {shown}",
    }
    if key.per_column:
        given = value if isinstance(value, Mapping) else {}
        each = dict.fromkeys([*columns, *given])
        parts = tuple((f"{key.name}.{n}", name, _written(given.get(name))) for n, name in enumerate(each))
        return Field(**common, shape="each", parts=parts)
    match key.takes:
        case Takes.FLAG if key.default is None:
            answers = (("", "found out"), ("yes", "yes"), ("no", "no"))
            return Field(**common, shape="choice", choices=answers, value=_written(value))
        case Takes.FLAG:
            return Field(**common, shape="flag", checked=bool(key.default if value is None else value))
        case Takes.CHOICE:
            nothing = () if key.required else (("", f"as usual ({key.default})" if key.default else "not said"),)
            choices = (*nothing, *((word, word) for word in key.choices))
            return Field(**common, shape="choice", choices=choices, value=_written(value))
        case Takes.COLUMN:
            names = tuple(dict.fromkeys([*columns, *([value] if isinstance(value, str) else [])]))
            nothing = () if key.required else (("", "none"),)
            return Field(
                **common, shape="choice", choices=(*nothing, *((name, name) for name in names)), value=_written(value)
            )
        case Takes.COLUMNS:
            chosen = frozenset([value] if isinstance(value, str) else map(str, value or ()))
            names = tuple(dict.fromkeys([*columns, *sorted(chosen)]))
            return Field(**common, shape="columns", choices=tuple((name, name) for name in names), chosen=chosen)
        case Takes.TEXTS:
            lines = [value] if isinstance(value, str) else list(map(str, value or ()))
            return Field(**common, shape="lines", value="\n".join(lines))
        case Takes.WHOLE | Takes.NUMBER | Takes.FRACTION:
            least, most = (_first(key.least, key.above), _first(key.most, key.below))
            step = "1" if key.takes is Takes.WHOLE else "any"
            return Field(**common, shape="number", value=_written(value), least=least, most=most, step=step)
        case Takes.OTHER:
            return Field(**common, shape="text", value="" if value is None else as_toml(value))
    return Field(**common, shape="text", value=_written(value))


def filled(key: Parameter, form: FormData, columns: Sequence[str], before: Any = None) -> Any:
    """Return what a form says for a parameter, as a plan has it; None for what is left out.

    What was not touched stays as the plan has it, and what is the usual is left out unless the plan said it before.
    """
    shown = field_of(key, before, columns)
    if shown.shape == "each":
        given = {column: str(form.get(name, "")).strip() for name, column, _ in shown.parts}
        kept = {column: text for _, column, text in shown.parts if text}
        stays = {column: text for column, text in given.items() if text} == kept
        return before if stays else {column: _value(key, text) for column, text in given.items() if text} or None
    if shown.shape == "flag":
        value: Any = form.get(shown.name) == "yes"
        return before if value == shown.checked else value
    if shown.shape == "columns":
        chosen = [str(each) for each in form.getlist(shown.name)]
        return before if frozenset(chosen) == shown.chosen else (chosen[0] if len(chosen) == 1 else chosen or None)
    text = str(form.get(shown.name, "")).replace("\r\n", "\n").strip(" ")
    if text == shown.value:
        return before
    if shown.shape == "lines":
        return text.split("\n")
    value = _value(key, text) if text else None
    return None if before is None and value == key.default else value


def fill_in(
    document: PlanDocument,
    place: tuple[str | int, ...],
    keys: Iterable[Parameter],
    form: FormData,
    columns: Sequence[str],
) -> None:
    """Put what a form says for some parameters into a table of the plan."""
    for key in keys:
        before = document.get((*place, key.name))
        document.set((*place, key.name), filled(key, form, columns, before))
    if document.changes and document.get(place) == {}:
        document.remove(place)  # a table that says nothing any more


def _value(key: Parameter, text: str) -> Any:
    """Return text as the number that it is, where the parameter takes one; anything else stays what it is."""
    if key.takes is Takes.OTHER:
        try:
            return tomllib.loads(f"v = {text}")["v"] if "\n" not in text else text
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            return text
    if key.takes is Takes.FLAG:
        return {"yes": True, "no": False}.get(text)
    if key.takes not in NUMBERS:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(map(_written, value)) or "none"
    return str(value)


def _first(*bounds: float | None) -> float | None:
    return next((bound for bound in bounds if bound is not None), None)


def whole_number(text: str, digits: int = 5) -> int | None:
    """Return the number that plain digits are, so many at most; None for anything else.

    >>> whole_number("12"), whole_number("-1"), whole_number("123456"), whole_number("")
    (12, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def said(form: FormData, name: str) -> str:
    """Return what is written in a field, without blanks around it; nothing where it is not there."""
    return str(form.get(name, "")).strip()


def _speaks_of(at: str, place: str, name: str) -> bool:
    whole = f"{place}.{name}" if place else name
    return at == whole or at.startswith(f"{whole}.")
