"""Finding somebody's exact figure in a table that claims to show ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, Attack, Finding
from sfumato.data.dates import day_of
from sfumato.data.kinds import as_number, exact_number
from sfumato.data.labels import parse_set, range_ends
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import Kind
from sfumato.models.judging.weights import row_weights, tally


@dataclass(frozen=True, kw_only=True)
class PrintedFigures(Attack):
    """Whoever knows a person's exact figure (an income, a date of birth) looks whether the table prints it.

    A range from the smallest to the largest value of a class does. The intruder is the surer that it is about this
    person the fewer people have the figure. Labels of a hierarchy say nothing here: they were known before.
    """

    name: ClassVar[str] = "printed-figures"
    intruder: ClassVar[str] = (
        "Knows a person's exact figure and looks whether the table prints it: as a bound, or alone."
    )

    people: Release  # the original: what somebody may know of each person
    columns: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is attacked."""
        return f"Finding an exact figure in print: {', '.join(map(repr, self.columns))}"

    @property
    def about(self) -> tuple[str, ...]:
        """The columns of figures."""
        return self.columns

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield it where the original is at hand and a quasi-identifier holds numbers or dates."""
        if asked.original is None:
            return
        shown = {column.name for column in release.quasi_identifiers}
        columns = tuple(
            column.name
            for column in asked.original.quasi_identifiers
            if column.kind in (Kind.NUMBER, Kind.DATE) and column.name in shown
        )
        if columns:
            yield cls(people=asked.original, columns=columns, threshold=asked.threshold)

    @classmethod
    def lacks(cls, release: Release, asked: Asked) -> str:
        """Return that it takes the original to know people's figures, where quasi-identifiers may have been such."""
        return "the original" if asked.original is None and release.quasi_identifiers else ""

    def on(self, table: Release) -> Finding:
        """Count the people whose figure is printed."""
        weights = row_weights(self.people)
        sure = np.zeros(self.people.n_rows)
        in_print = {}
        for name in self.columns:
            known = self.people.column(name)
            count = tally(known.codes, len(known.labels), weights)
            printed = _printed(known, table.column(name)) if name in table.columns else np.zeros(count.size, np.bool_)
            in_print[name] = int(count[printed].sum())
            sure = np.maximum(sure, np.where(printed, 1 / np.maximum(count, 1), 0.0)[known.codes])
        return Finding.of(sure, sure > self.threshold, weights, in_print=in_print)

    def guess(self, table: Release) -> Finding | None:
        """Name anybody's figure."""
        return super().guess(self.people)


def _printed(known: ReleasedColumn, shown: ReleasedColumn) -> NDArray[np.bool_]:
    """Return which labels of the original are figures that the table prints, (v,)."""
    known_before = _labels_of_hierarchy(known)
    texts: set[str] = set()
    for code, label in enumerate(shown.labels):
        if code == shown.missing or label in known_before:
            continue
        ends = range_ends(label)
        texts.update(ends[:2] if ends is not None else parse_set(label) or (label,))
    read = day_of if known.kind is Kind.DATE else _exact
    figures: set[Any] = {read(text) for text in texts} - {None}
    floats = {as_number(text) for text in texts}  # what differs as a float differs: few are read digit by digit
    printed = np.zeros(len(known.labels), dtype=np.bool_)
    for code, label in enumerate(known.labels):
        if code != known.missing and (known.kind is Kind.DATE or as_number(label) in floats):
            printed[code] = read(label) in figures
    return printed


def _labels_of_hierarchy(column: ReleasedColumn) -> frozenset[str]:
    """Return the labels above the values of a column."""
    source = column.spec.hierarchy if column.spec is not None else None
    if source is None:
        return frozenset()
    values = [label for code, label in enumerate(column.labels) if code != column.missing]
    hierarchy = source.build(values, f"The hierarchy of column {column.name!r}", secret=True)
    return frozenset((*hierarchy.labels[hierarchy.n_leaves :], *hierarchy.same))


def _exact(text: str) -> Any:
    return exact_number(text) if as_number(text) == as_number(text) else None  # not-a-number differs from itself
