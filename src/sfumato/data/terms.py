"""Quasi-sensitive columns as sets of terms: one column, or several read together.

| column | declared as | its terms, alone | its terms, joined with other columns |
| --- | --- | --- | --- |
| sets | `kind = "set"` | the members | `column=member` |
| single values | another `kind` | not a set of terms | `column=value` |
| binary | `present = "yes"` | the column's name, or `term = "..."` | the same |

Only what is present is a term. A binary column is published as present or as missing, never as absent: a cell that lost
its term must look like one that never had it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Dataset, starts_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.recoding import Labelled
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec, Role

Column = CodedSets | CodedColumn | ReleasedColumn
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TermColumns:
    """Some columns and what the plan says of them; `sets` are their terms, row by row."""

    columns: tuple[Column, ...]
    specs: Mapping[str, ColumnSpec | None]

    @classmethod
    def of_dataset(cls, dataset: Dataset, names: Sequence[str]) -> TermColumns:
        """Return columns of a dataset."""
        return cls(tuple(dataset.columns[name] for name in names), {name: dataset.schema.spec(name) for name in names})

    @classmethod
    def of_release(cls, release: Release, names: Sequence[str]) -> TermColumns:
        """Return columns of a release."""
        columns = tuple(release.columns[name] for name in names)
        return cls(columns, {column.name: getattr(column, "spec", None) for column in columns})

    @property
    def not_sets(self) -> tuple[str, ...]:
        """The columns that are no terms by themselves: single values, unless they are joined with others."""
        alone = len(self.columns) == 1
        return tuple(
            column.name
            for column in self.columns
            if alone and not isinstance(column, CodedSets) and not self._present(column)
        )

    @cached_property
    def sets(self) -> CodedSets:
        """The terms of each row, each once."""
        first = self.columns[0]
        if len(self.columns) == 1 and isinstance(first, CodedSets):
            return first
        keys = np.concatenate([self._keys(column) for column in self.columns])
        keys.sort()
        keys = keys[np.append(True, keys[1:] > keys[:-1])] if keys.size else keys
        row, items = np.divmod(keys, max(len(self._labels), 1))
        start = np.searchsorted(row, np.arange(_rows(first) + 1)).astype(np.int64)
        return CodedSets(
            name=" + ".join(column.name for column in self.columns),
            role=Role.QUASI_SENSITIVE,
            items=items.astype(np.int32),
            start=start,
            labels=self._labels,
        )

    def split(self, kept: CodedSets, marker: str) -> dict[str, Labelled | CodedSets]:
        """Return what is published of each column when these terms are kept; `marker` is how a missing cell is shown.

        `kept` has the labels of `sets`.
        """
        if kept.name == self.columns[0].name and isinstance(self.columns[0], CodedSets):
            return {kept.name: kept}
        row_of = np.repeat(np.arange(kept.start.size - 1, dtype=np.int64), np.diff(kept.start))
        kept_keys = row_of * max(len(self._labels), 1) + kept.items
        published: dict[str, Labelled | CodedSets] = {}
        for column in self.columns:
            stays = _among(self._keys(column), kept_keys)
            if isinstance(column, CodedSets):
                published[column.name] = without(column, stays)
                continue
            shown = np.zeros(column.codes.size, dtype=np.bool_)
            shown[np.flatnonzero(self._term_of_code(column)[column.codes] >= 0)[stays]] = True
            if column.missing >= 0:
                codes = np.where(shown, column.codes, column.missing).astype(np.int32)
                published[column.name] = Labelled(codes, column.labels)
            else:
                nothing = len(column.labels)
                codes = np.where(shown, column.codes, nothing).astype(np.int32)
                published[column.name] = Labelled(codes, (*column.labels, marker), missing=nothing)
        return published

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return tuple(sorted({text for column in self.columns for text in self._texts(column) if text is not None}))

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self._labels)}

    def _present(self, column: Column) -> tuple[str, ...]:
        spec = self.specs.get(column.name)
        return (spec.present or ()) if spec is not None else ()

    def _texts(self, column: Column) -> list[str | None]:
        """Return the term of each code of a column; None where a code is none."""
        present, spec = self._present(column), self.specs.get(column.name)
        if present and not isinstance(column, CodedSets):
            term = (spec.term if spec is not None else None) or column.name
            return [term if label in present else None for label in column.labels]
        prefix = f"{column.name}=" if len(self.columns) > 1 else ""
        if isinstance(column, CodedSets):
            return [prefix + label for label in column.labels]
        nothing = {column.missing, *(code for code, label in enumerate(column.labels) if label.strip() in ("", ROOT))}
        return [None if code in nothing else prefix + label for code, label in enumerate(column.labels)]

    def _term_of_code(self, column: Column) -> Integers:
        texts = self._texts(column)
        return np.array([-1 if text is None else self._code_of[text] for text in texts], dtype=np.int64)

    def _keys(self, column: Column) -> Integers:
        """Return row * terms + term for every term in a column, in the order of its rows."""
        term_of = self._term_of_code(column)
        if isinstance(column, CodedSets):
            row = np.repeat(np.arange(_rows(column), dtype=np.int64), np.diff(column.start))
            term = term_of[column.items]
        else:
            term = term_of[column.codes]
            row = np.flatnonzero(term >= 0)
            term = term[row]
        return np.asarray(row * max(len(self._labels), 1) + term, dtype=np.int64)


def without(sets: CodedSets, keep: NDArray[np.bool_]) -> CodedSets:
    """Return a column of sets with only some of its items."""
    return replace(sets, items=sets.items[keep], start=starts_of(keep)[sets.start])


def _rows(column: Column) -> int:
    return int(column.start.size - 1 if isinstance(column, CodedSets) else column.codes.size)


def _among(keys: Integers, ascending: Integers) -> NDArray[np.bool_]:
    """Return which of the keys are in a list."""
    if not ascending.size:
        return np.zeros(keys.size, dtype=np.bool_)
    place = np.minimum(np.searchsorted(ascending, keys), ascending.size - 1)
    return np.asarray(ascending[place] == keys)
