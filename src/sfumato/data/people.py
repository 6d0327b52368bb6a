"""People with several rows that all stay: one row a person, for whoever counts people.

A person is what all their rows say together. Published rows of a person carry the same new number, so whoever reads
them sees as much: which quasi-identifiers stand in them, and which sensitive values. People look alike if the same
combinations of quasi-identifiers stand in their rows; a sensitive value of theirs that is not the same in all rows is
the set of these values, which is a value of its own (docs/decisions/0014).

Sizes: n rows, p people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.data.dataset import TEXT, CodedColumn, CodedSets, Codes, Dataset, RowsOf, as_arrow, distinct_codes
from sfumato.data.distinct import text_codes
from sfumato.data.persons import Persons
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind, Role
from sfumato.errors import DataError

_NOTHING = "(missing)"  # how a missing value shows among several
_PEOPLE: WeakKeyDictionary[Release, Release] = WeakKeyDictionary()


def people_of(dataset: Dataset, persons: Persons) -> Dataset:
    """Return one row a person, with all rows behind it.

    Of a quasi-identifier that differs between rows of a person, the middle one stands for them while classes are
    formed; what is published covers all of them.
    """
    table, rows = _without(dataset, persons.column), _Rows(persons.codes, persons.people)
    columns: dict[str, CodedColumn | CodedSets] = {}
    varying = set()
    for name, column in table.columns.items():
        single = _single(column)
        if single.role is Role.QUASI_IDENTIFIER:
            if rows.differ(single.codes).any():
                varying.add(name)
            columns[name] = replace(single, codes=rows.middle(single.codes))
        else:
            columns[name] = _with_sets(single, rows)
    carried = rows.together(table.carried)
    kept = {*columns, *(carried.column_names if carried is not None else ())}
    return replace(
        table,
        columns=columns,
        carried=carried,
        n_rows=rows.people,
        order=tuple(name for name in table.order if name in kept),
        rows=RowsOf(table, persons.codes, frozenset(varying)),
    )


def by_person(release: Release) -> Release:
    """Return a release with one row a person where people are judged, else the release itself."""
    if release.person_of is None:
        return release
    found = _PEOPLE.get(release)
    if found is None:
        found = _PEOPLE[release] = _by_person(release, release.person_of)
    return found


def _by_person(release: Release, person_of: Codes) -> Release:
    assert release.weights is None, "equal rows of different people are not the same"
    rows = _Rows(person_of, int(person_of.max(initial=-1)) + 1)
    single = {name: _single(column) for name, column in release.columns.items()}
    clues = {name: column for name, column in single.items() if column.role is Role.QUASI_IDENTIFIER}
    columns: dict[str, ReleasedColumn | CodedSets] = dict(_combined(clues, rows, release.n_rows))
    columns |= {name: _with_sets(column, rows) for name, column in single.items() if name not in clues}
    carried = rows.together(release.carried, release.person)
    kept = {*columns, *(carried.column_names if carried is not None else ())}
    return replace(
        release,
        columns={name: columns[name] for name in release.columns},
        carried=carried,
        n_rows=rows.people,
        order=tuple(name for name in release.order if name in kept),
        person_of=None,
    )


@dataclass(eq=False)
class _Rows:
    """Rows by person."""

    person_of: Codes  # (n,), every person occurs
    people: int

    def __post_init__(self) -> None:
        self._order = np.argsort(self.person_of, kind="stable")
        self._start = np.searchsorted(self.person_of[self._order], np.arange(self.people + 1))
        self.some_row = self._order[self._start[:-1]]  # (p,)

    def differ(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which people have different codes in their rows, (p,)."""
        other = codes != codes[self.some_row][self.person_of]
        found: NDArray[np.bool_] = np.bincount(self.person_of[other], minlength=self.people) > 0
        return found

    def middle(self, codes: Codes) -> Codes:
        """Return the middle one of each person's codes, (p,)."""
        order = np.lexsort((codes, self.person_of))
        found: Codes = codes[order[(self._start[:-1] + self._start[1:] - 1) // 2]]
        return found

    def sets(self, codes: NDArray[Any], chosen: NDArray[np.bool_]) -> list[tuple[int, ...]]:
        """Return the different codes of each chosen person, ascending."""
        width = int(codes.max(initial=0)) + 1
        here = chosen[self.person_of]
        pairs = np.unique(self.person_of[here].astype(np.int64) * width + codes[here])
        start = np.flatnonzero(np.diff(pairs // width, prepend=-1))
        return [tuple(part.tolist()) for part in np.split(pairs % width, start[1:])] if pairs.size else []

    def together(self, table: pa.Table | None, without: str | None = None) -> pa.Table | None:
        """Return what is carried along with one row a person: what differs as the list of what there is, as text."""
        found = {}
        for name in table.column_names if table is not None else ():
            column = table.column(name)  # type: ignore[union-attr]
            if name == without or pa.types.is_nested(column.type):
                continue
            codes, labels, gaps = text_codes(column, ("",))
            several = self.differ(codes)
            if not several.any():
                found[name] = column.take(as_arrow(self.some_row))
                continue
            shown: list[str | None] = [*labels, *([None] if gaps else [])]
            texts = [shown[code] for code in codes[self.some_row].tolist()]
            for person, each in zip(np.flatnonzero(several).tolist(), self.sets(codes, several), strict=True):
                texts[person] = json.dumps([shown[code] for code in each], ensure_ascii=False)
            found[name] = pa.chunked_array([pa.array(texts, TEXT)])
        return pa.table(found) if found else None


def _single(column: Any) -> Any:
    if isinstance(column, CodedSets):
        raise DataError(
            f"Column {column.name!r} holds sets, of which rows of a person cannot be put together and stay as well.\n"
            "Gather the rows of a person ([gather]), or give the column the role 'other'."
        )
    return column


def _without(dataset: Dataset, name: str) -> Dataset:
    """Return a dataset without a column that is carried along."""
    carried = dataset.carried
    if carried is not None and name in carried.column_names:
        carried = carried.drop_columns([name]) if carried.num_columns > 1 else None
    return replace(dataset, carried=carried)


def _with_sets(column: Any, rows: _Rows) -> Any:
    """Return a column with one value a person: the value of all their rows, or the set of these values."""
    codes: Codes = column.codes[rows.some_row]
    several = rows.differ(column.codes)
    if not several.any():
        return replace(column, codes=codes)
    missing, known = column.missing, len(column.labels) - (column.missing >= 0)
    number: dict[tuple[int, ...], int] = {}
    found = [number.setdefault(members, len(number)) for members in rows.sets(column.codes, several)]
    labels = [label for code, label in enumerate(column.labels) if code != missing]
    texts, taken = {}, set(column.labels)
    for members in number:
        names = tuple(None if code == missing else column.labels[code] for code in members)
        ordered = tuple(sorted(names, key=lambda name: (name is None, name)))
        text = _free(" + ".join(_NOTHING if name is None else name for name in ordered), taken)
        texts[text] = ordered
    place = np.arange(len(column.labels), dtype=np.int32)
    if missing >= 0:
        place[missing + 1 :] -= 1
        place[missing] = known + len(texts)  # it stays the last
    codes = place[codes]
    codes[several] = known + np.array(found, dtype=np.int32)
    changes: dict[str, Any] = {
        "codes": codes,
        "labels": (*labels, *texts, *([column.labels[missing]] if missing >= 0 else [])),
        "missing": known + len(texts) if missing >= 0 else -1,
        "kind": Kind.CATEGORY,
        "type": TEXT,
        "several": texts,
    }
    if isinstance(column, CodedColumn):
        changes |= {"values": None, "hierarchy": None, "dates": False, "counts": None}
    return replace(column, **changes)


def _combined(clues: Mapping[str, ReleasedColumn], rows: _Rows, n_rows: int) -> dict[str, ReleasedColumn]:
    """Return quasi-identifiers with one value a person.

    Where rows of a person differ, all columns list what stands in them, one combination after the other in one order
    for all people: who has the same lists has the same combinations.
    """
    shown = [(column.codes, len(column.labels)) for column in clues.values()]
    distinct = distinct_codes(shown, n_rows)
    several = rows.differ(distinct.distinct_of)
    if not several.any():
        return {name: replace(column, codes=column.codes[rows.some_row]) for name, column in clues.items()}
    combinations = rows.sets(distinct.distinct_of, several)
    found = {}
    for position, (name, column) in enumerate(clues.items()):
        number: dict[tuple[int, ...], int] = {}
        codes = column.codes[rows.some_row].copy()
        lists = [tuple(distinct.codes[list(each), position].tolist()) for each in combinations]
        codes[several] = [len(column.labels) + number.setdefault(each, len(number)) for each in lists]
        taken = set(column.labels)
        texts = [_free(json.dumps(_labels(column, each), ensure_ascii=False), taken) for each in number]
        found[name] = replace(
            column, codes=codes, labels=(*column.labels, *texts), type=TEXT, kind=Kind.CATEGORY, spec=None
        )
    return found


def _labels(column: ReleasedColumn, codes: Sequence[int]) -> list[str | None]:
    return [None if code == column.missing else column.labels[code] for code in codes]


def _free(text: str, taken: set[str]) -> str:
    """Return a text that nothing else has, and take it."""
    while text in taken:
        text += " "
    taken.add(text)
    return text
