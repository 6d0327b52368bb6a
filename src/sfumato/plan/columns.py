"""What a plan says of one column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from sfumato.data.bins import Bins
from sfumato.data.builders import HierarchyFile, HierarchySource, hierarchy_source
from sfumato.data.files.text import whole_text
from sfumato.data.knowledge_reading import FROM_DATA
from sfumato.data.schema import ColumnSpec, Kind, Role, SensitiveShare
from sfumato.data.worth import read_worth
from sfumato.errors import DataError, InputError
from sfumato.plan.keys import COLUMN, REST, REST_COLUMN
from sfumato.plan.notes import Notes, kind_of, names, one_line

Made = TypeVar("Made")


def column_of(name: str, given: Mapping[str, Any], base: Path, notes: Notes) -> ColumnSpec:
    """Return what is said of a column, with notes of what is wrong with it; without a role it is an identifier."""
    column = _Column(name, given, base, notes)
    if name == REST:
        return ColumnSpec(name=name, role=column.role or Role.IDENTIFIER)
    hierarchy, bins, domain = column.hierarchy(), column.bins(), column.domain()
    if bins is not None:
        domain = bins.labels
    if column.kind is Kind.ORDERED and domain is None and hierarchy is None:
        column.add(
            "domain",
            f"{column.where} is ordered, but nothing says in which order. Give domain = [lowest, ..., highest].",
        )
    if column.kind is Kind.SET and column.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
        column.add("role", f"{column.where} holds sets, which cannot be a {column.role}. Use quasi-sensitive or items.")
    return ColumnSpec(
        name=name,
        role=column.role or Role.IDENTIFIER,
        kind=column.kind,
        hierarchy=hierarchy,
        separator=column.values["separator"],
        domain=domain,
        bins=bins,
        sensitive_items=column.sensitive_items(),
        present=column.present(),
        term=column.values["term"],
        base_rates=column.base_rates(),
        worth=column.worth(),
        weight=column.weight(),
    )


class _Column:
    """One column's table on its way to a ColumnSpec."""

    def __init__(self, name: str, given: Mapping[str, Any], base: Path, notes: Notes) -> None:
        self.place, self.where = f"columns.{name}", f"[columns.{name}]"
        self.given, self.base, self.notes = given, base, notes
        if "role" not in given:
            self.add("role", f"{self.where} has no role. Known: {names(list(Role))}.")
        table = REST_COLUMN if name == REST else COLUMN
        self.values = notes.values({"role": Role.IDENTIFIER.value, **given}, table, self.place)
        role, kind = self.values["role"], self.values.get("kind")
        self.role = Role(role) if role and "role" in given else None
        self.kind = Kind(kind) if kind else None

    def add(self, key: str, text: str) -> None:
        self.notes.add(f"{self.place}.{key}", text)

    def _made(self, key: str, make: Callable[[], Made]) -> Made | None:
        """Return what a key is made into, or None with a note of what is wrong with it."""
        try:
            return make()
        except InputError as error:
            self.add(key, f"{self.where} {one_line(error)}")
            return None

    def hierarchy(self) -> HierarchySource | None:
        if "hierarchy" not in self.given:
            return None
        found = self._made("hierarchy", lambda: hierarchy_source(self.given["hierarchy"], self.base))
        if isinstance(found, HierarchyFile):
            self.notes.files[f"{self.place}.hierarchy"] = found.path
        return found

    def base_rates(self) -> Path | None:
        given = self.values["base_rates"]
        if given == FROM_DATA:
            return None
        path = self.notes.path(self.base, given, f"{self.place}.base_rates")
        self.notes.files[f"{self.place}.base_rates"] = path
        return path

    def worth(self) -> tuple[tuple[str, Fraction], ...] | None:
        given = self.values["worth"]
        if given is None:
            return None
        if self.role not in (None, Role.QUASI_SENSITIVE):
            self.add("worth", f"{self.where} has a worth, which only a column with the role 'quasi-sensitive' has.")
        place = f"{self.place}.worth"
        self.notes.files[place] = path = self.notes.path(self.base, given, place)
        return self._made("worth", lambda: read_worth(path))

    def weight(self) -> float:
        if "weight" in self.given and self.role not in (None, Role.QUASI_IDENTIFIER):
            self.add("weight", f"{self.where} has a weight, which only a column with the role 'quasi-identifier' has.")
        return float(self.values["weight"] or 0)

    def domain(self) -> tuple[str, ...] | None:
        given = self.values["domain"]
        found = None if given == FROM_DATA else self._texts(given, "domain")
        if found == ():
            self.add("domain", f"{self.where} domain names no value. List all of them, or a file with one a line.")
        return found

    def bins(self) -> Bins | None:
        if "bins" not in self.given:
            return None
        if self.values["domain"] != FROM_DATA:
            self.add("bins", f"{self.where} has both a domain and bins. The bins are the domain; leave the other.")
        if self.kind not in (None, Kind.NUMBER):
            self.add("bins", f"{self.where} has bins, which are for numbers, but kind = {self.kind.value!r}.")
        return self._made("bins", lambda: Bins.of(self.given["bins"]))

    def sensitive_items(self) -> tuple[str, ...] | SensitiveShare | None:
        if "sensitive_items" not in self.given:
            return None
        key, value = "sensitive_items", self.given["sensitive_items"]
        if self.role not in (None, Role.ITEMS):
            self.add(key, f"{self.where} has sensitive_items, which only a column with the role 'items' has.")
        if isinstance(value, Mapping):
            return self._share(value)
        found = self._texts(value, key)
        if found == ():
            self.add(key, f"{self.where} sensitive_items names none. List at least one, or a file with one a line.")
        return found

    def _share(self, value: Mapping[str, Any]) -> SensitiveShare | None:
        key, where = "sensitive_items", f"{self.where} sensitive_items"
        self.notes.unknown_keys(value, ("share", "seed"), f"{self.place}.{key}", where)
        share, seed = value.get("share"), value.get("seed", 0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            self.add(f"{key}.share", f"{where} share must be a number above 0, such as 0.4, or 1 for all.")
            return None
        if isinstance(seed, bool) or not isinstance(seed, int):
            self.add(f"{key}.seed", f"{where} seed must be a whole number.")
            return None
        return SensitiveShare(share=share, seed=seed)

    def present(self) -> tuple[str, ...] | None:
        """Return the values of a binary column that count as a term."""
        given = self.values["present"]
        if given is None:
            if "term" in self.given:
                self.add("term", f'{self.where} has a term, but not the value that says it: present = "yes".')
            return None
        if self.role is not Role.QUASI_SENSITIVE or self.kind is Kind.SET:
            self.add("present", f"{self.where} present is for quasi-sensitive columns of single values.")
        values = given if isinstance(given, list | tuple) else [given]
        if not values or not all(isinstance(value, str | int) for value in values):
            self.add("present", f"{self.where} present must be a value or a list of values, not {kind_of(given)}.")
            return None
        return tuple(map(_cell, values))

    def _texts(self, value: Any, key: str) -> tuple[str, ...] | None:
        """Return a list of texts, given as such or as a file with one a line."""
        what = f"{self.where} {key}"
        if isinstance(value, str):
            place = f"{self.place}.{key}"
            self.notes.files[place] = path = self.notes.path(self.base, value, place)
            try:
                if path.exists() and not path.is_file():  # such as /dev/zero, which has no end
                    raise OSError
                lines = whole_text(path).splitlines()
            except (OSError, DataError):
                self.add(key, f"{what} names the file {value!r}, which cannot be read as text.")
                return None
            return tuple(line.strip() for line in lines if line.strip())
        if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
            return tuple(map(_cell, value))
        self.add(key, f"{what} must be a list of texts or the name of a file, not {kind_of(value)}.")
        return None


def _cell(value: str | float) -> str:
    """Return a value of the plan as cells have it: true, not Python's True."""
    return str(value).lower() if isinstance(value, bool) else str(value)
