"""The plan as JSON Schema (2020-12), so that editors complete and check it.

What it refuses, the parser refuses too; the parser sees more: what files hold, and whether parts go together. Only
keywords that older readers know as well are used where there is a choice: enum, not const; oneOf, not if.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sfumato.data.schema import Kind, Role
from sfumato.parameters import Parameter, Takes
from sfumato.plan.keys import COLUMN, DEFINITIONS, EVENTS, NUMBER_IN_TEXT, REST, REST_COLUMN, TABLES, Table
from sfumato.plan.members import Member, able, requirable

FILE = "sfumato.schema.json"  # what drafts refer to, and `sfumato init` writes beside them

_NAME = {"type": "string", "minLength": 1}
_PLAIN: dict[Takes, dict[str, Any]] = {
    Takes.WHOLE: {"type": "integer"},
    Takes.NUMBER: {"type": "number"},
    Takes.FLAG: {"type": "boolean"},
    Takes.COLUMN: _NAME,
    Takes.COLUMNS: {"anyOf": [_NAME, {"type": "array", "minItems": 1, "uniqueItems": True, "items": _NAME}]},
    Takes.TEXT: _NAME,
    Takes.TEXTS: {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
}


def json_schema() -> dict[str, Any]:
    """Return the schema as plain data."""
    models = requirable()
    parts = {name: _table(table) for name, table in TABLES.items()}
    parts["columns"] |= {
        "minProperties": 1,
        "properties": {REST: _table(REST_COLUMN)},
        "additionalProperties": {"$ref": "#/$defs/column"},
    }
    parts["gather"]["properties"]["events"]["items"] = _table(EVENTS)
    parts["require"] = {
        **_words(TABLES["require"].title, TABLES["require"].help),
        "type": "array",
        "minItems": 1,
        "items": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in models]},
    }
    parts["anonymizers"]["properties"] = {
        name: _object(name, member.summary, member.parameters) for name, member in able().items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_words("A plan of sfumato", "What each column may reveal, and what must hold."),
        "type": "object",
        "properties": parts,
        "required": ["columns", "require"],
        "additionalProperties": False,
        "$defs": {**DEFINITIONS, "column": _column(), **{name: _model(member) for name, member in models.items()}},
    }


def schema_text() -> str:
    """Return the schema as a file holds it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _model(model: Member) -> dict[str, Any]:
    """Return what a requirement of one model is."""
    found = _object(model.name, model.summary, model.parameters)
    found["properties"] = {
        "model": {"enum": [model.name]},
        **found["properties"],
        "anonymizer": {**_words("Anonymizer", "Another than the default."), "enum": list(model.anonymizers)},
    }
    found["required"] = ["model", *found["required"]]
    return found


def _column() -> dict[str, Any]:
    found = _table(COLUMN)
    for key, words in (("role", Role), ("kind", Kind)):
        meanings = "\n".join(f"{word.value}: {word.means}" for word in words)
        found["properties"][key]["description"] += f"\n\n{meanings}"
    return found


def _table(table: Table) -> dict[str, Any]:
    return _object(table.title, table.help, table.keys)


def _object(title: str, words: str, keys: Iterable[Parameter]) -> dict[str, Any]:
    keys = tuple(keys)
    return {
        **_words(title, words),
        "type": "object",
        "properties": {key.name: _value(key) for key in keys},
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def _value(key: Parameter) -> dict[str, Any]:
    """Return what may be written for a key."""
    shape = _shape(key)
    if key.per_column:
        shape = {"type": "object", "minProperties": 1, "additionalProperties": shape}
    found = {**_words(key.title, key.help), **shape}
    if key.default is not None:
        found["default"] = list(key.default) if isinstance(key.default, tuple) else key.default
    if key.example is not None:
        found["examples"] = [{"job": key.example} if key.per_column else key.example]
    return found


def _shape(key: Parameter) -> dict[str, Any]:
    if key.takes is Takes.OTHER:
        return dict(key.shape or {})
    if key.takes is Takes.CHOICE:
        return {"enum": list(key.choices)}
    if key.takes not in (Takes.WHOLE, Takes.NUMBER, Takes.FRACTION):
        return dict(_PLAIN[key.takes])
    bounds = {"minimum": key.least, "maximum": key.most, "exclusiveMinimum": key.above, "exclusiveMaximum": key.below}
    given = {word: bound for word, bound in bounds.items() if bound is not None}
    if key.takes is Takes.FRACTION:
        return {"anyOf": [{"type": "number", **given}, {"type": "string", **NUMBER_IN_TEXT}]}
    return {**_PLAIN[key.takes], **given}


def _words(title: str, description: str) -> dict[str, Any]:
    return {"title": title, "description": description}
