"""Sensitive columns over the leaves of their hierarchies, with what is asked of them, and distinct rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.masking.search import Column
from sfumato.data.base_rates import BaseRates
from sfumato.data.codebook import hierarchy_for
from sfumato.data.dataset import CodedColumn, Codes, Dataset, distinct_codes, starts_of, weights_of
from sfumato.data.hierarchy import Hierarchy, Tree
from sfumato.errors import DataError
from sfumato.kernels.masks.regions import Axes, Distinct
from sfumato.models.alpha_diversity import AlphaDiversity
from sfumato.models.multi_diversity import MultiDiversity

MaskingModel: TypeAlias = MultiDiversity | AlphaDiversity


def in_words(models: Sequence[MaskingModel]) -> str:
    """Return the names of models, for people."""
    return " and ".join(sorted({model.name for model in models}))


def alphas(model: MaskingModel) -> tuple[Fraction | None, Fraction | None]:
    """Return the bounds in sensitive equivalence classes and in classes; None where the other one implies it."""
    if isinstance(model, AlphaDiversity):
        return None, model.exact_alpha
    whole = model.exact_alpha_qi
    return model.exact_alpha_sa, whole if whole < model.exact_alpha_sa else None


def _with_known_values(hierarchy: Hierarchy, dataset: Dataset, coded: CodedColumn, rates: BaseRates) -> Hierarchy:
    """Return a column's hierarchy with all values that base rates list: one made from the data has only those in it."""
    absent = [value for value in rates.weight if hierarchy.node_of.get(value, hierarchy.n_leaves) >= hierarchy.n_leaves]
    spec = dataset.schema.spec(coded.name)
    if not absent or spec is None:
        return hierarchy
    known = [label for code, label in enumerate(coded.labels) if code != coded.missing]
    return hierarchy_for(spec, coded.kind, [*known, *absent]) or hierarchy


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column over all leaves of its hierarchy: s leaves first, a missing value last of them, v labels."""

    coded: CodedColumn
    names: tuple[str, ...]  # (v,)
    up: Codes  # (v,)
    first: Codes  # (v,)
    last: Codes  # (v,)
    weight: NDArray[np.int64]  # (s,): base rates
    leaf_of: Codes  # (codes,)
    leaf_of_row: Codes  # (n,)
    has_missing: bool
    counted: bool  # whether base rates are the rows of this table, counted

    @property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return self.weight.size

    def largest_share(self, *, missing: bool) -> Fraction:
        """Return the share of the most frequent value in the table; a missing one counts if asked."""
        counts = np.zeros(self.n_leaves, dtype=np.int64)
        np.add.at(counts, self.leaf_of, self.coded.occurrences)
        total = int(counts.sum())
        if self.has_missing and not missing:
            counts[-1] = 0
        return Fraction(int(counts.max()), max(total, 1))

    @classmethod
    def of(cls, dataset: Dataset, name: str, models: Sequence[MaskingModel], workplace: Workplace) -> Sensitive:
        """Return a column of a dataset, or raise when it cannot be masked."""
        coded = dataset.column(name)
        hierarchy = coded.hierarchy
        if hierarchy is None:
            raise DataError(
                f"{in_words(models)} masks column {name!r} along its hierarchy, but it has none.\n"
                "Give it one in the plan. { flat = true } works without any file, but its only mask is *, which loses "
                "the whole value."
            )
        rates = workplace.public.base_rates.get(name) or BaseRates.of(coded)
        hierarchy = _with_known_values(hierarchy, dataset, coded, rates)
        missing, at = coded.missing >= 0 or rates.missing > 0, hierarchy.n_leaves
        shown = "" if coded.missing < 0 else coded.labels[coded.missing]
        tree = Tree.over(hierarchy, (*hierarchy.leaves, *[shown] * missing), at if missing else -1)
        weight = [rates.weight.get(leaf, 0) for leaf in hierarchy.leaves] + [rates.missing] * missing
        leaf_of = np.array(
            [at if code == coded.missing else hierarchy.node_of[label] for code, label in enumerate(coded.labels)],
            dtype=np.int32,
        )
        column = cls(
            coded=coded,
            names=tree.labels,
            up=tree.parent,
            first=tree.first,
            last=tree.last,
            weight=np.array(weight, dtype=np.int64),
            leaf_of=leaf_of,
            leaf_of_row=leaf_of[coded.codes],
            has_missing=missing,
            counted=rates.counted and rates.total == dataset.total,
        )
        impossible = np.flatnonzero(column.weight[leaf_of] == 0).size
        if impossible and any(model.reading == "prior" for model in models):
            raise DataError(
                f"The base rates of column {name!r} say that {impossible:,} of the {len(coded.labels):,} values in the "
                "data never occur.\nGive every value that occurs a weight above 0."
            )
        return column

    def for_kernels(self, models: Sequence[MaskingModel], weight: float, *, flat: bool) -> Column:
        """Return the column with what is asked of it; the first leaf of a label says which labels are leaves."""
        reading = models[0].reading
        below = (self.last - self.first + 1).astype(np.int64)
        part = np.ones(self.n_leaves, dtype=np.int64)
        of = below if reading == "uniform" else np.ones_like(below)
        if reading == "prior":
            part = self.weight
            upto = starts_of(part)
            of = np.maximum(upto[self.last + 1] - upto[self.first], 1)
        up = self.up.copy()
        if flat:
            up[: self.n_leaves] = up.size - 1
        bounds: list[list[Fraction] | None] = [None, None]
        for model in models:
            if self.coded.name not in model.judged_columns:
                continue
            for level, alpha in enumerate(alphas(model)):
                if alpha is not None:
                    new = self._bounds(alpha, model)
                    old = bounds[level]
                    bounds[level] = new if old is None else [min(pair) for pair in zip(old, new, strict=True)]
        return Column(
            up=up,
            first=self.first,
            last=self.last,
            loss=weight * (below - 1) / self.n_leaves,
            part=part,
            of=of,
            sub_bound=bounds[0],
            whole_bound=bounds[1],
        )

    def _bounds(self, alpha: Fraction, model: MaskingModel) -> list[Fraction]:
        total = int(self.weight.sum())
        bounds = [alpha] * self.n_leaves
        if model.reading == "uniform":
            bounds = [max(alpha, Fraction(1, self.n_leaves))] * self.n_leaves
        elif model.reading == "prior":
            bounds = [max(alpha, Fraction(int(weight), total)) for weight in self.weight]
        if self.has_missing and not model.missing_is_sensitive:
            bounds[-1] = Fraction(1)
        return bounds


def axes_of(quasi_identifiers: Sequence[CodedColumn]) -> Axes:
    """Return the hierarchies of the quasi-identifiers."""
    trees = [tree for column in quasi_identifiers if (tree := column.tree) is not None]
    weights = weights_of([column for column in quasi_identifiers if column.tree is not None])
    return Axes(
        up=[tree.parent for tree in trees],
        loss=[
            weight * (tree.leaves - 1) / (float(tree.leaves[-1]) * len(trees))
            for weight, tree in zip(weights, trees, strict=True)
        ],
    )


def distinct_of_rows(
    dataset: Dataset,
    quasi_identifiers: Sequence[CodedColumn],
    columns: Sequence[Sensitive],
    class_of: Codes | None,
    rows: NDArray[np.int64] | None,
) -> tuple[Distinct, Codes, Codes | None]:
    """Return the distinct rows, the one of each row, and its class where a step before made the classes."""
    keys: list[tuple[Codes, int]] = [(column.codes, len(column.labels)) for column in quasi_identifiers]
    if class_of is not None:
        keys = [(class_of, int(class_of.max()) + 1)]
    keys += [(column.leaf_of_row, column.n_leaves) for column in columns]
    if rows is not None:
        keys = [(codes[rows], size) for codes, size in keys]
    found = distinct_codes(keys, dataset.n_rows if rows is None else rows.size, dataset.weights_in(rows))
    m = len(columns)
    sensitive = np.ascontiguousarray(found.codes[:, -m:])
    tuples = distinct_codes([(sensitive[:, i], column.n_leaves) for i, column in enumerate(columns)], len(sensitive))
    table = Distinct(
        codes=np.ascontiguousarray(found.codes[:, :-m]),
        tuple_of=tuples.distinct_of,
        rows=found.weight,
        leaf_of=tuples.codes.astype(np.int64),
    )
    if class_of is None:
        return table, found.distinct_of, None
    _, class_of_distinct = np.unique(table.codes[:, 0], return_inverse=True)
    return table, found.distinct_of, class_of_distinct.astype(np.int32)
