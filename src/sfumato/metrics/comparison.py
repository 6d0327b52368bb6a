"""The original beside its release: what several metrics need, prepared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.codebook import hierarchy_over
from sfumato.data.dataset import (
    CodedColumn,
    CodedSets,
    Dataset,
    DistinctRows,
    as_numpy,
    counted,
    distinct_codes,
    visible_labels,
)
from sfumato.data.distinct import text_codes
from sfumato.data.drawing import Drawn
from sfumato.data.encoding import encode, encode_column
from sfumato.data.figures import Spans
from sfumato.data.hierarchy import ROOT
from sfumato.data.release import Release, ReleasedColumn
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.terms import TermColumns
from sfumato.data.weighting import weights_in_column
from sfumato.errors import DataError, HierarchyError
from sfumato.metrics.cover import Cover, cover
from sfumato.metrics.extent import Extent

Weights: TypeAlias = NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class Pair:
    """A column of single values, as it was and as it is published."""

    original: CodedColumn
    released: ReleasedColumn
    cover: Cover  # of the released labels
    weights: tuple[Weights, Weights] = (None, None)  # how many rows, or people, each row of the two tables stands for
    rows: tuple[Weights, Weights] = (None, None)  # how many rows
    # What a recipient knows of the values, as `Extent.of` takes it.
    known: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def extent(self) -> Extent:
        """Which part of the domain the released labels leave open."""
        return Extent.of(self.released, self.original, self.cover, **self.known)

    @cached_property
    def before(self) -> NDArray[Any]:
        """How often each value occurs in the original, shape (v,)."""
        return _counted(self.original, self.weights[0])

    @cached_property
    def shown_by(self) -> NDArray[Any]:
        """How many rows show each label, shape (m,)."""
        return _counted(self.released, self.weights[1])

    @cached_property
    def by_rows(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The same two, of rows whatever they stand for in a survey."""
        return _counted(self.original, self.rows[0]), _counted(self.released, self.rows[1])


def _counted(column: CodedColumn | ReleasedColumn, weights: Weights) -> NDArray[Any]:
    if weights is not None and weights.dtype.kind == "f":
        return np.bincount(column.codes, weights, minlength=len(column.labels))
    return counted(column.codes, len(column.labels), weights)


@dataclass(frozen=True, eq=False)
class Survey:
    """How many people each row stands for, as a survey has it."""

    before: NDArray[np.float64]  # (n,)
    after: NDArray[np.float64]  # rows of the release
    column: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """The original and its release, side by side.

    Released labels are put in the order of the values that they cover, so nothing that is measured depends on the order
    of rows, and an unchanged column has the codes that it had. Either may hold equal rows once, with weights.
    """

    dataset: Dataset
    release: Release
    people: bool = False  # whether each row is all that there is of a person, because rows were put together
    _pairs: dict[str, Pair] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_tables(
        cls, before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]], **columns: str | Mapping[str, Any]
    ) -> Comparison:
        """Take two small tables, to try a metric: of their columns is said what `Schema.of` takes."""
        schema = Schema.of(**columns)
        return cls(encode(pa.table(dict(before)), schema), Release.from_table(pa.table(dict(after)), schema))

    @property
    def sides(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The columns before and after, by name."""
        return self.dataset.columns, self.release.columns

    @property
    def counted(self) -> str:
        """What is counted, for people."""
        return "people" if self.people else "rows"

    @property
    def those(self) -> str:
        """The same, for what is told of the table itself."""
        return "people" if self.people else "records"

    @property
    def drawn(self) -> Drawn | None:
        """What both are random parts of, where they are."""
        return self.release.drawn

    @property
    def of_sample(self) -> Comparison | None:
        """The same of single rows of both, where those here lack columns: whatever is of single rows is asked there."""
        if self.dataset.sample is None or self.release.sample is None:
            return None
        return Comparison(self.dataset.sample, replace(self.release.sample, public=self.release.public))

    @property
    def has_sets(self) -> bool:
        """Whether a column holds sets, before or after."""
        return any(isinstance(column, CodedSets) for side in self.sides for column in side.values())

    @property
    def n_rows(self) -> int:
        """Rows to account for: those of the original (of the release, should it have more)."""
        if self.drawn is not None:
            return self.release.total + self.n_dropped
        return max(self.dataset.total, self.release.total)

    @property
    def n_dropped(self) -> int:
        """Rows of the original that the release does not have; of samples, as large a share as of the whole tables."""
        if self.dataset.drawn is not None and self.drawn is not None:
            lacking = max(0, self.dataset.drawn.of - self.drawn.of)
            return round(self.release.total * lacking / max(self.drawn.of, 1))
        return max(0, self.dataset.total - self.release.total)

    @cached_property
    def survey(self) -> Survey | None:
        """Survey weights, where the release names their column and both sides have it.

        Losses and counts go by them. What is at risk is counted in people of the table, so it does not.
        """
        name, sides = self.release.description.get("weight"), (self.dataset.carried, self.release.carried)
        if name is None or any(side is None or name not in side.column_names for side in sides):
            return None
        before, after = (weights_in_column(side.column(name), str(name)) for side in sides if side is not None)
        rows = [1 if side.weights is None else side.weights for side in (self.dataset, self.release)]
        return Survey(before * rows[0], after * rows[1], str(name))

    @property
    def weighted_by(self) -> dict[str, str]:
        """The column of weights, as a fact, where there is one."""
        return {"weight": self.survey.column} if self.survey is not None else {}

    @property
    def mass(self) -> tuple[float, float, float]:
        """What rows to account for, rows of the release and dropped rows count, by their weights."""
        if self.survey is None:
            return self.n_rows, self.release.total, self.n_dropped
        before, after = float(self.survey.before.sum()), float(self.survey.after.sum())
        return max(before, after), after, max(0.0, before - after)

    def by_weight(self, distinct: DistinctRows, *, before: bool) -> DistinctRows:
        """Return distinct rows of one side with what their rows count."""
        if self.survey is None:
            return distinct
        weights = self.survey.before if before else self.survey.after
        return replace(distinct, weight=np.bincount(distinct.distinct_of, weights, minlength=distinct.weight.size))

    def of_records(self, before: bool) -> NDArray[np.float64] | None:
        """Return what each record of one side counts by a survey, (n,), or None where all count the same."""
        return None if self.survey is None else self.survey.before if before else self.survey.after

    def occurrences(self, sets: CodedSets, size: int, *, before: bool) -> NDArray[Any]:
        """Return how often each of `size` members occurs in the sets of one side, by the weights of their records."""
        weights = self.of_records(before)
        if weights is None:
            return np.bincount(sets.items, minlength=size)
        return np.bincount(sets.items, np.repeat(weights, np.diff(sets.start)), minlength=size)

    @cached_property
    def quasi_identifiers(self) -> tuple[Pair, ...]:
        """The quasi-identifiers, in order."""
        return tuple(self.pair(column.name) for column in self.dataset.quasi_identifiers)

    @cached_property
    def distinct_before(self) -> DistinctRows:
        """The distinct combinations of quasi-identifiers in the original; without quasi-identifiers there is one."""
        columns = [(column.codes, len(column.labels)) for column in self.dataset.quasi_identifiers]
        return distinct_codes(columns, self.dataset.n_rows, self.dataset.weights)

    @cached_property
    def distinct_after(self) -> DistinctRows:
        """The classes of the release: rows with equal labels of all quasi-identifiers."""
        columns = [(pair.released.codes, len(pair.released.labels)) for pair in self.quasi_identifiers]
        return distinct_codes(columns, self.release.n_rows, self.release.weights)

    @cached_property
    def terms(self) -> tuple[CodedSets, CodedSets] | None:
        """The terms of all quasi-sensitive columns, read together, before and after; None when there are none."""
        names = [column.name for column in self.dataset.with_role(Role.QUASI_SENSITIVE)]
        if not names or any(name not in self.release.columns for name in names):
            return None
        sides = TermColumns.of_dataset(self.dataset, names), TermColumns.of_release(self.release, names)
        return None if any(side.not_sets for side in sides) else (sides[0].sets, sides[1].sets)

    def pair(self, name: str) -> Pair:
        """Return a column of single values beside what is published of it, one label a row.

        A column that the release does not have says as much as `*` in every row. Carried columns can be asked for too.
        """
        if name not in self._pairs:
            original = self._original(name)
            released = _occurring(self._released(original))
            markers = self.dataset.schema.missing
            covered = cover(released, original, domain=self.domain(name), markers=markers, spans=self.spans(name))
            settled = _settled(released, original, covered)
            survey, rows = self.survey, (self.dataset.weights, self.release.weights)
            weights = rows if survey is None else (survey.before, survey.after)
            self._pairs[name] = replace(settled, weights=weights, rows=rows, known=self._known(original))
        return self._pairs[name]

    def _known(self, column: CodedColumn) -> dict[str, Any]:
        """Return what a recipient knows of the values of a column: declared ones, public ones, the whole hierarchy."""
        rates = self.release.public.base_rates.get(column.name)
        public = () if rates is None or rates.counted else rates.weight
        domain = tuple(dict.fromkeys((*self.domain(column.name), *public)))
        hierarchy, spec = column.hierarchy, self.dataset.schema.spec(column.name)
        by_range = column.values is not None or column.dates
        if hierarchy is not None and spec is not None and not by_range and not set(domain) <= set(hierarchy.leaves):
            known = [label for code, label in enumerate(column.labels) if code != column.missing]
            with suppress(HierarchyError):  # a rule need not fit values that do not occur
                hierarchy, _ = hierarchy_over(spec, column.kind, list(dict.fromkeys((*known, *domain))))
        return {
            "domain": domain,
            "hierarchy": hierarchy,
            "markers": self.dataset.schema.missing,
            "spans": self.spans(column.name),
        }

    def domain(self, name: str) -> tuple[str, ...]:
        """Return the values that the plan declares for a column, in order; nothing when it declares none."""
        spec = self.dataset.schema.spec(name)
        return (spec.domain if spec is not None else None) or ()

    def spans(self, name: str) -> Spans:
        """Return what figures of classes stand for, as the release says it."""
        found: Spans = self.release.description.get("columns", {}).get(name, {}).get("spans", {})
        return found

    def _original(self, name: str) -> CodedColumn:
        carried = self.dataset.carried
        if name not in self.dataset.columns and carried is not None and name in carried.column_names:
            spec = ColumnSpec(name=name, role=Role.OTHER)
            column = encode_column(carried.column(name), spec, self.dataset.schema.missing)
            if isinstance(column, CodedColumn):
                return column
        return self.dataset.column(name)

    def _released(self, original: CodedColumn) -> ReleasedColumn:
        name = original.name
        column = self.release.columns.get(name)
        if isinstance(column, ReleasedColumn):
            if column.role is Role.SENSITIVE_QUASI_IDENTIFIER and original.missing >= 0 and column.missing < 0:
                marker = visible_labels(original, self.dataset.schema.missing)[original.missing]
                if marker in column.labels:  # where cells are drawn, what is missing is a value of its own
                    return replace(column, missing=column.labels.index(marker))
            return column
        if isinstance(column, CodedSets):
            raise DataError(
                f"Column {name!r} is published as sets, but was asked for as one label a row.\n"
                "Measures of single labels do not apply to it."
            )
        carried = self.release.carried
        if carried is not None and name in carried.column_names:
            codes, labels, has_missing = text_codes(carried.column(name), self.dataset.schema.missing)
            marker = self.dataset.schema.missing[0] if self.dataset.schema.missing else ""
            return ReleasedColumn(
                name=name,
                role=original.role,
                kind=original.kind,
                codes=codes,
                labels=(*labels, marker) if has_missing else tuple(labels),
                missing=len(labels) if has_missing else -1,
            )
        nothing = np.zeros(self.release.n_rows, dtype=np.int32)
        return ReleasedColumn(name=name, role=original.role, kind=Kind.CATEGORY, codes=nothing, labels=(ROOT,))


def _occurring(column: ReleasedColumn) -> ReleasedColumn:
    """Return the same column without labels that no row shows."""
    shown = np.bincount(column.codes, minlength=len(column.labels)) > 0
    return column if shown.all() else _renumbered(column, np.flatnonzero(shown))


def _settled(released: ReleasedColumn, original: CodedColumn, covered: Cover) -> Pair:
    """Return the pair with labels in the order of what they cover; labels that cover the same by alphabet."""
    if not covered.n_codes or not covered.n_labels:
        return Pair(original, released, covered)
    by_text = as_numpy(pc.sort_indices(pa.array(released.labels, pa.string()))).astype(np.int64)
    first, last = covered.first[covered.start[:-1]], covered.last[covered.start[1:] - 1]
    order = by_text[np.lexsort((last[by_text], first[by_text]))]
    if (order[1:] > order[:-1]).all():
        return Pair(original, released, covered)
    return Pair(original, _renumbered(released, order), covered.take(order))


def _renumbered(column: ReleasedColumn, order: NDArray[np.int64]) -> ReleasedColumn:
    """Return the same column with these labels, in this order, only."""
    rank = np.full(len(column.labels), -1, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return replace(
        column,
        codes=rank[column.codes],
        labels=tuple(column.labels[code] for code in order),
        missing=int(rank[column.missing]) if column.missing >= 0 else -1,
    )
