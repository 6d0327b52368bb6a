"""Notes on the way through a plan: problems, after which the walk goes on with something usable, and files it names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from sfumato.disk import openable
from sfumato.errors import DataError, InputError, PlanError, PolicyError, Problem, did_you_mean
from sfumato.parameters import Parameter, parameters_of
from sfumato.plan.keys import Table


class Notes:
    """What was found so far, and small tools that note a problem and return something usable."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.files: dict[str, Path] = {}  # that the plan reads besides its source, by place

    def add(self, place: str, text: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(place, text))

    def path(self, base: Path, name: Any, place: str) -> Path:
        """Return where a file is that a key names, or end the walk if it may not be opened: nothing of it is read."""
        try:
            return openable(base / str(name), place)
        except DataError as error:
            raise PlanError([Problem(place, one_line(error))]) from None

    def table(self, document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return a table of the document, an empty one when there is none."""
        value = document.get(key, {})
        if isinstance(value, Mapping):
            return value
        self.add(key, f"[{key}] must be a table, not {kind_of(value)}.")
        return {}

    def unknown_keys(self, table: Mapping[str, Any], known: Collection[str], place: str, where: str) -> None:
        """Note keys that nobody knows, each with the nearest known one."""
        for key in table:
            if key not in known:
                inside = f"{place}.{key}" if place else str(key)
                self.add(inside, f"{where} has an unknown key {key!r}.{did_you_mean(str(key), known)}")

    def values(self, given: Mapping[str, Any], table: Table, place: str) -> dict[str, Any]:
        """Return the value of every key of a table of the plan, as it is used; its default where it is wrong."""
        self.unknown_keys(given, table.names(), place, f"[{place}]")
        needed = [key.name for key in table.keys if key.required and key.name not in given]
        if given and needed:
            self.add(place, f"[{place}] needs {names(needed)}.")
        return {key.name: self._value(given, key, place) for key in table.keys}

    def _value(self, given: Mapping[str, Any], key: Parameter, place: str) -> Any:
        if key.name not in given:
            return key.default
        try:
            return key.checked(given[key.name], f"[{place}]")
        except PolicyError as error:
            self.add(f"{place}.{key.name}", one_line(error))
            return key.default

    def member(self, make: type[Any], table: Mapping[str, Any], besides: Iterable[str], place: str, where: str) -> Any:
        """Return a model or an anonymizer made from a table, or None with notes of all that is wrong with it."""
        before = len(self.problems)
        parameters = parameters_of(make)
        known = [parameter.name for parameter in parameters]
        self.unknown_keys(table, [*known, *besides], place, where)
        unknown = len(self.problems) - before
        needed = [parameter.name for parameter in parameters if parameter.required and parameter.name not in table]
        if needed:
            self.add(place, f"{where} needs {names(needed)}.")
        given = {name: table[name] for name in known if name in table}
        for parameter in parameters:
            if parameter.name in given:
                self._parameter(parameter, given[parameter.name], make.name, f"{place}.{parameter.name}", where)
        if len(self.problems) > before + unknown:
            return None
        try:
            return make(**given)
        except PolicyError as error:
            self.add(f"{place}.{error.at}" if error.at else place, f"{where}: {one_line(error)}")
            return None

    def _parameter(self, parameter: Parameter, value: Any, owner: str, place: str, where: str) -> None:
        """Note what is wrong with one parameter of a member; column by column where each has its own."""
        parts = {place: value}
        if parameter.per_column and isinstance(value, Mapping) and value:
            parts = {f"{place}.{column}": {column: each} for column, each in value.items()}
        for inside, each in parts.items():
            try:
                parameter.checked(each, owner)
            except PolicyError as error:
                self.add(inside, f"{where}: {one_line(error)}")


def one_line(error: InputError) -> str:
    """Return a message as one line."""
    return " ".join(str(error).split("\n"))


def names(words: Iterable[Any]) -> str:
    """Return some names for a sentence."""
    return ", ".join(repr(str(word)) for word in words)


def kind_of(value: Any) -> str:
    """Return what a TOML value is, in a reader's words."""
    words = {bool: "true/false", str: "text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return next((word for kind, word in words.items() if isinstance(value, kind)), type(value).__name__)
