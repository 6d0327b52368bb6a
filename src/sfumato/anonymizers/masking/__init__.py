"""Masking: generalize quasi-identifiers, and show sensitive values as labels where they would tell too much.

Classes are cut out of the hierarchies of the quasi-identifiers so that the loss of these labels and of the masks inside
the classes together is small. Masks are chosen row by row: of people with the same values in a class, some may be shown
as they are and others masked. The loops are in kernels/masks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Anonymizer, Phase, Workplace
from sfumato.anonymizers.masking import search as searching
from sfumato.anonymizers.masking.facts import facts_of
from sfumato.anonymizers.published.top_down import TopDown
from sfumato.data.base_rates import BaseRates
from sfumato.data.dataset import CodedColumn, Codes, Dataset, distinct_codes
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.kernels.masks.regions import Axes, Cells
from sfumato.kernels.masks.state import Secrets
from sfumato.models.alpha_diversity import AlphaDiversity
from sfumato.models.base import Policy, PrivacyModel, plain_number
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.multi_diversity import MultiDiversity
from sfumato.parameters import exact_fraction, one_of

SEARCHES = ("best", "fast", "paper")


@dataclass(frozen=True, kw_only=True)
class Masking(Anonymizer):
    """Publish labels instead of quasi-identifiers and of sensitive values; no row is dropped.

    `best` cuts classes in the cheapest way, masks row by row, and solves a linear program for each class; `fast` does
    without the program; `paper` is the published greedy search (one set of labels for the whole table, masks by value).
    """

    name: ClassVar[str] = "masking"
    phase: ClassVar[Phase] = Phase.MASKS
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (MultiDiversity, AlphaDiversity)
    also_meets: ClassVar[tuple[type[PrivacyModel], ...]] = (KAnonymity,)

    search: str = "best"
    weight: float = 1.0  # of a sensitive column's loss, where that of a quasi-identifier counts 1
    local_suppression: bool = False  # sensitive values are shown as they are or as *, nothing between
    avoid_vacuous: bool = False  # labels that hide a single value of their class are mixed with others where possible

    def __post_init__(self) -> None:
        one_of(self.search, "masking: search", SEARCHES)
        weight = exact_fraction(self.weight, "masking: weight")
        if not 0 < weight <= 1000:
            raise PolicyError(
                f"masking: weight must be above 0 and at most 1000, but was given as {self.weight!r}.\n"
                "1 counts the loss of sensitive values like that of quasi-identifiers."
            )
        for option in ("local_suppression", "avoid_vacuous"):
            if not isinstance(getattr(self, option), bool):
                raise PolicyError(
                    f"masking: {option} was given as {getattr(self, option)!r}.\nWrite true or false, without quotes."
                )
        if self.avoid_vacuous and self.search == "paper":
            raise PolicyError(
                'masking: avoid_vacuous was asked for with search = "paper", which masks whole values.\n'
                'Choose search = "best" or "fast", or leave avoid_vacuous out.'
            )

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return why it comes where it comes."""
        return "sensitive values are masked within classes of equal quasi-identifiers"

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return labels for quasi-identifiers (unless a step before made the classes) and sensitive columns."""
        models = self._models(policy)
        rows = None if before.keep_row is None else np.flatnonzero(before.keep_row)
        columns = [_Sensitive.of(dataset, name, models, workplace) for name in _columns(models)]
        n_rows = dataset.n_rows if rows is None else rows.size
        k = policy.k()
        if n_rows < k:
            raise Unsatisfiable(
                f"Classes of at least {k:,} rows are asked for; the table has {n_rows:,}.\n"
                "Lower k, or gather more rows."
            )
        if models[0].reading == "true":
            _refuse_below_the_largest_share(models, columns)
        secrets = searching.make_secrets(
            [column.for_kernels(models, self.weight / len(columns), flat=self.local_suppression) for column in columns]
        )
        quasi_identifiers = dataset.quasi_identifiers if before.class_of is None else ()
        _refuse_bare(quasi_identifiers)
        table, cell_of, class_of_cell = _cells(dataset, quasi_identifiers, columns, before.class_of, rows)
        if class_of_cell is not None:
            _refuse_small_classes(class_of_cell, table.rows, k)
            masked = searching.mask_within(table, class_of_cell, secrets, self._effort(secrets), workplace)
        else:
            axes = _axes(quasi_identifiers)
            masked = self._search(table, axes, secrets, k, workplace)
            if masked is None and models[0].reading == "true":
                masked = _everything_masked(table, axes, columns)
        if masked is None:
            raise Unsatisfiable(
                f"{_in_words(models)} cannot be met in {'these' if class_of_cell is not None else 'any'} classes: "
                f'with reading = "{models[0].reading}" a mask hides nothing of its own column.\n'
                'Raise alpha, or take reading = "prior".'
            )
        shown = searching.labels_of_rows(cell_of, table, masked)
        labelled = {
            column.coded.name: Labelled(codes=_spread(shown[i], rows, dataset.n_rows), labels=column.names)
            for i, column in enumerate(columns)
        }
        class_of = before.class_of
        if class_of_cell is None:
            class_of = _spread(masked.class_of[cell_of], rows, dataset.n_rows)
            for axis, column in enumerate(quasi_identifiers):
                assert column.tree is not None
                codes = masked.nodes[:, axis][masked.class_of][cell_of]
                labelled[column.name] = Labelled(codes=_spread(codes, rows, dataset.n_rows), labels=column.tree.labels)
        domains = [column.coded.name for column in columns], [column.first for column in columns]
        facts = {"search": self.search, **facts_of(masked, table, *domains, secrets)}
        tree = before.tree if class_of_cell is not None else None  # joined classes keep every bound: mixtures
        return before.with_columns(labelled, class_of=class_of, tree=tree, facts=facts)

    def _models(self, policy: Policy) -> tuple[MultiDiversity | AlphaDiversity, ...]:
        strange = sorted({model.name for model in policy if not isinstance(model, (*self.aims_at, *self.also_meets))})
        models: tuple[Any, ...] = policy.of(*self.aims_at)
        if strange or not models:
            raise PolicyError(
                f"masking cannot aim at {', '.join(strange) or 'nothing'}.\n"
                f"It aims at {', '.join(model.name for model in (*self.aims_at, *self.also_meets))}."
            )
        if len({model.reading for model in models}) > 1:
            raise PolicyError(
                "Requirements on sensitive columns read masked labels in different ways.\nGive all the same reading."
            )
        return models

    def _effort(self, secrets: Secrets) -> searching.Effort:
        columns = secrets.loss.shape[0]
        if self.search == "fast":
            return searching.Effort(1, min(columns, 2) if columns < 3 else 1, False, self.avoid_vacuous)
        return searching.Effort(8, columns, True, self.avoid_vacuous)

    def _search(
        self, table: Cells, axes: Axes, secrets: Secrets, k: int, workplace: Workplace
    ) -> searching.Masked | None:
        if self.search != "paper":
            return searching.mask(table, axes, secrets, k, self._effort(secrets), workplace)
        search = TopDown(table, axes, secrets, k)
        stage = workplace.stage(self.name)
        while search.specialize():
            stage.advance()
        stage.done()
        return search.masked()


# What is asked.


def _columns(models: Sequence[MultiDiversity | AlphaDiversity]) -> list[str]:
    return list(dict.fromkeys(name for model in models for name in model.judged_columns))


def _in_words(models: Sequence[MultiDiversity | AlphaDiversity]) -> str:
    return " and ".join(sorted({model.name for model in models}))


def _alphas(model: MultiDiversity | AlphaDiversity) -> tuple[Fraction | None, Fraction | None]:
    """Return the bounds in sensitive equivalence classes and in classes; None where the other one implies it."""
    if isinstance(model, AlphaDiversity):
        return None, model.exact_alpha
    whole = model.exact_alpha_qi
    return model.exact_alpha_sa, whole if whole < model.exact_alpha_sa else None


def _refuse_below_the_largest_share(
    models: Sequence[MultiDiversity | AlphaDiversity], columns: Sequence[_Sensitive]
) -> None:
    for model in models:
        alpha = min(bound for bound in _alphas(model) if bound is not None)
        largest = {
            column.coded.name: column.largest_share(missing=model.missing_is_sensitive)
            for column in columns
            if column.coded.name in model.judged_columns
        }
        name = max(largest, key=lambda name: largest[name])
        reachable = largest[name]
        if alpha < reachable:
            raise Unsatisfiable(
                f'{model.name} with reading = "true" asks that no value be more likely than {plain_number(alpha)}, but '
                f"one of column {name!r} has a share of {float(reachable):.4g} in the table: in some class it is that "
                f'likely.\nThe smallest alpha that can be reached is "{reachable}"; or take reading = "prior".'
            )


def _refuse_bare(quasi_identifiers: Sequence[CodedColumn]) -> None:
    bare = [column.name for column in quasi_identifiers if column.tree is None]
    if bare:
        raise DataError(
            f"masking publishes labels of hierarchies, but {len(bare)} quasi-identifier(s) have none: "
            f"{', '.join(repr(name) for name in bare)}.\n"
            "Give each a hierarchy: { widths = [5, 10, 20] } puts numbers into bins, { flat = true } is the simplest."
        )


def _refuse_small_classes(class_of_cell: Codes, rows: NDArray[np.int64], k: int) -> None:
    smallest = int(np.bincount(class_of_cell, weights=rows).min())
    if smallest < k:
        raise Unsatisfiable(
            f"Classes of at least {k:,} rows are asked for, but other requirements formed one of {smallest:,}.\n"
            f"Add k-anonymity with k = {k} to the plan, or give the requirement a smaller k."
        )


# Columns.


@dataclass(frozen=True, eq=False)
class _Sensitive:
    """A sensitive column over all leaves of its hierarchy: s leaves first, a missing value last of them, v labels."""

    coded: CodedColumn
    names: tuple[str, ...]  # (v,)
    up: Codes  # (v,)
    first: Codes  # (v,)
    last: Codes  # (v,)
    weight: NDArray[np.int64]  # (s,): base rates
    leaf_of_row: Codes  # (n,)
    has_missing: bool

    @property
    def n_leaves(self) -> int:
        return self.weight.size

    def largest_share(self, *, missing: bool) -> Fraction:
        """Return the share of the most frequent value in the table; a missing one counts if asked."""
        counts = np.bincount(self.leaf_of_row, minlength=self.n_leaves)
        if self.has_missing and not missing:
            counts[-1] = 0
        return Fraction(int(counts.max()), max(int(self.leaf_of_row.size), 1))

    @classmethod
    def of(
        cls, dataset: Dataset, name: str, models: Sequence[MultiDiversity | AlphaDiversity], workplace: Workplace
    ) -> _Sensitive:
        coded = dataset.column(name)
        hierarchy = coded.hierarchy
        if hierarchy is None:
            raise DataError(
                f"{_in_words(models)} masks column {name!r} along its hierarchy, but it has none.\n"
                "Give it one in the plan. { flat = true } works without any file, but its only mask is *, which loses "
                "the whole value."
            )
        rates = workplace.public.base_rates.get(name) or BaseRates.of(coded)
        missing = coded.missing >= 0 or rates.missing > 0
        at, shift = hierarchy.n_leaves, int(missing)
        size = len(hierarchy.labels) + shift
        root = size - 1
        up = np.array([above + shift if above >= 0 else -1 for above in hierarchy.parent], dtype=np.int32)
        up = np.concatenate([up[:at], [root] * shift, up[at:]]).astype(np.int32)
        first = np.full(size, size, dtype=np.int32)
        last = np.full(size, -1, dtype=np.int32)
        leaves = at + shift
        first[:leaves] = last[:leaves] = np.arange(leaves)
        for node in range(size - 1):
            first[up[node]], last[up[node]] = min(first[up[node]], first[node]), max(last[up[node]], last[node])
        weight = [rates.weight.get(leaf, 0) for leaf in hierarchy.leaves] + [rates.missing] * shift
        leaf_of = np.array(
            [at if code == coded.missing else hierarchy.node_of[label] for code, label in enumerate(coded.labels)],
            dtype=np.int32,
        )
        shown = "" if coded.missing < 0 else coded.labels[coded.missing]
        column = cls(
            coded=coded,
            names=(*hierarchy.labels[:at], *([shown] * shift), *hierarchy.labels[at:]),
            up=up,
            first=first,
            last=last,
            weight=np.array(weight, dtype=np.int64),
            leaf_of_row=leaf_of[coded.codes],
            has_missing=missing,
        )
        impossible = np.flatnonzero(column.weight[leaf_of] == 0).size
        if impossible and any(model.reading == "prior" for model in models):
            raise DataError(
                f"The base rates of column {name!r} say that {impossible:,} of the {len(coded.labels):,} values in the "
                "data never occur.\nGive every value that occurs a weight above 0."
            )
        return column

    def for_kernels(
        self, models: Sequence[MultiDiversity | AlphaDiversity], weight: float, *, flat: bool
    ) -> searching.Column:
        """Return the column with what is asked of it; the first leaf of a label says which labels are leaves."""
        reading = models[0].reading
        below = (self.last - self.first + 1).astype(np.int64)
        part = np.ones(self.n_leaves, dtype=np.int64)
        of = below if reading == "uniform" else np.ones_like(below)
        if reading == "prior":
            part = self.weight
            upto = np.concatenate([[0], np.cumsum(part)])
            of = np.maximum(upto[self.last + 1] - upto[self.first], 1)
        up = self.up.copy()
        if flat:
            up[: self.n_leaves] = up.size - 1
        bounds: list[list[Fraction] | None] = [None, None]
        for model in models:
            if self.coded.name not in model.judged_columns:
                continue
            for level, alpha in enumerate(_alphas(model)):
                if alpha is not None:
                    new = self._bounds(alpha, model)
                    old = bounds[level]
                    bounds[level] = new if old is None else [min(pair) for pair in zip(old, new, strict=True)]
        return searching.Column(
            up=up,
            first=self.first,
            last=self.last,
            loss=weight * (below - 1) / self.n_leaves,
            part=part,
            of=of,
            sub_bound=bounds[0],
            whole_bound=bounds[1],
        )

    def _bounds(self, alpha: Fraction, model: MultiDiversity | AlphaDiversity) -> list[Fraction]:
        total = int(self.weight.sum())
        bounds = [alpha] * self.n_leaves
        if model.reading == "uniform":
            bounds = [max(alpha, Fraction(1, self.n_leaves))] * self.n_leaves
        elif model.reading == "prior":
            bounds = [max(alpha, Fraction(int(weight), total)) for weight in self.weight]
        if self.has_missing and not model.missing_is_sensitive:
            bounds[-1] = Fraction(1)
        return bounds


def _axes(quasi_identifiers: Sequence[CodedColumn]) -> Axes:
    trees = [tree for column in quasi_identifiers if (tree := column.tree) is not None]
    return Axes(
        up=[tree.parent for tree in trees],
        loss=[(tree.leaves - 1) / (float(tree.leaves[-1]) * len(trees)) for tree in trees],
    )


def _cells(
    dataset: Dataset,
    quasi_identifiers: Sequence[CodedColumn],
    columns: Sequence[_Sensitive],
    class_of: Codes | None,
    rows: NDArray[np.int64] | None,
) -> tuple[Cells, Codes, Codes | None]:
    """Return the distinct rows, the one of each row, and its class where a step before made the classes."""
    keys: list[tuple[Codes, int]] = [(column.codes, len(column.labels)) for column in quasi_identifiers]
    if class_of is not None:
        keys = [(class_of, int(class_of.max()) + 1)]
    keys += [(column.leaf_of_row, column.n_leaves) for column in columns]
    if rows is not None:
        keys = [(codes[rows], size) for codes, size in keys]
    found = distinct_codes(keys, dataset.n_rows if rows is None else rows.size)
    m = len(columns)
    sensitive = np.ascontiguousarray(found.codes[:, -m:])
    tuples = distinct_codes([(sensitive[:, i], column.n_leaves) for i, column in enumerate(columns)], len(sensitive))
    table = Cells(
        codes=np.ascontiguousarray(found.codes[:, :-m]),
        tuple_of=tuples.cell_of,
        rows=found.weight,
        leaf_of=tuples.codes.astype(np.int64),
    )
    if class_of is None:
        return table, found.cell_of, None
    _, class_of_cell = np.unique(table.codes[:, 0], return_inverse=True)
    return table, found.cell_of, class_of_cell.astype(np.int32)


def _spread(codes: NDArray[Any], rows: NDArray[np.int64] | None, n_rows: int) -> Codes:
    """Return codes of some rows as codes of all, 0 where a row is not published."""
    if rows is None:
        return np.asarray(codes, dtype=np.int32)
    spread = np.zeros(n_rows, dtype=np.int32)
    spread[rows] = codes
    return spread


def _everything_masked(table: Cells, axes: Axes, columns: Sequence[_Sensitive]) -> searching.Masked:
    """Return one class in which nothing sensitive is shown: what is left when masks hide nothing by themselves."""
    rows = np.bincount(table.tuple_of, weights=table.rows).astype(np.int64)
    roots = np.array([column.up.size - 1 for column in columns], dtype=np.int64)
    return searching.Masked(
        class_of=np.zeros(table.tuple_of.size, dtype=np.int32),
        nodes=np.array([[parents.size - 1 for parents in axes.up]], dtype=np.int32),
        flow_class=np.zeros(rows.size, dtype=np.int64),
        flow_tuple=np.arange(rows.size),
        flow_labels=np.tile(roots, (rows.size, 1)),
        flow_rows=rows,
    )
