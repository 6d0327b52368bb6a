"""Usual promises for usual occasions: filled in where somebody asks for them, never by themselves, and said to be so.

The numbers are customs, not rules: agencies ask for three to five people in a cell for researchers under contract, and
for ten to twenty or more where anybody may look. Who asks for one reads and changes each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.data.schema import Role
from sfumato.editing.document import PlanDocument


@dataclass(frozen=True)
class Preset:
    """What is promised for an occasion: of everybody, and of each sensitive column."""

    title: str
    words: str
    everybody: Mapping[str, Mapping[str, Any]]  # numbers, by model
    secrets: Mapping[str, Mapping[str, Any]]


_AMONG = "Everybody hides among {} people{}."
PRESETS: Mapping[str, Preset] = {
    "public": Preset(
        "A public use file",
        "Anybody may look. "
        + _AMONG.format(20, "; in each class a secret has at least 3 values, spread as in the whole"),
        {"k-anonymity": {"k": 20}},
        {"l-diversity": {"l": 3}, "t-closeness": {"t": 0.2}},
    ),
    "scientific": Preset(
        "A scientific use file",
        "Researchers under contract. " + _AMONG.format(5, "; in each class a secret has at least 2 values"),
        {"k-anonymity": {"k": 5}},
        {"l-diversity": {"l": 2}},
    ),
    "testing": Preset(
        "For tests in the house",
        "Colleagues who may see the data anyway. " + _AMONG.format(3, ""),
        {"k-anonymity": {"k": 3}},
        {},
    ),
}


def fill_in(document: PlanDocument, preset: Preset) -> None:
    r"""Put the promises of a preset into a plan: numbers of those that are there, and those that are not; none goes.

    >>> document = PlanDocument.from_text('[[require]]\nmodel = "k-anonymity"\nk = 2  # kept\n')
    >>> fill_in(document, PRESETS["testing"])
    >>> print(document.text, end="")
    [[require]]
    model = "k-anonymity"
    k = 3  # kept
    """
    columns = document.get(("columns",)) or {}
    for model, numbers in preset.everybody.items():
        _ask(document, {"model": model}, numbers)
    for name, each in columns.items():
        if isinstance(each, Mapping) and each.get("role") == Role.SENSITIVE:
            for model, numbers in preset.secrets.items():
                _ask(document, {"model": model, "sensitive": name}, numbers)


def _ask(document: PlanDocument, of: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
    required = document.get(("require",)) or []
    for place, given in enumerate(required):
        if isinstance(given, Mapping) and all(given.get(key) == value for key, value in of.items()):
            for key, value in numbers.items():
                document.set(("require", place, key), value)
            return
    document.append(("require",), {**of, **numbers})
