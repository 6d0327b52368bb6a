"""Masking: generalize quasi-identifiers, and show sensitive values as labels where they would tell too much.

Classes are cut out of the hierarchies of the quasi-identifiers so that the loss of these labels and of the masks inside
the classes together is small. Masks are chosen row by row: of people with the same values in a class, some may be shown
as they are and others masked. The loops are in kernels/masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import LABELS, Anonymizer, Divides, Phase, Workplace
from sfumato.anonymizers.boxes import of_all_rows
from sfumato.anonymizers.conditions import refuse_bare
from sfumato.anonymizers.dependence import HidesCells
from sfumato.anonymizers.joining import coarser
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.masking import search as searching
from sfumato.anonymizers.masking.columns import MaskingModel, Sensitive, alphas, axes_of, distinct_of_rows, in_words
from sfumato.anonymizers.masking.facts import facts_of
from sfumato.anonymizers.published.top_down import TopDown
from sfumato.data.dataset import Codes, Dataset
from sfumato.data.recoding import Labelled, Recoding
from sfumato.errors import PolicyError, Unsatisfiable
from sfumato.kernels.masks.regions import Axes, Distinct
from sfumato.kernels.masks.state import Secrets
from sfumato.models.alpha_diversity import AlphaDiversity
from sfumato.models.base import Policy, PrivacyModel, plain_number
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.multi_diversity import MultiDiversity
from sfumato.parameters import Takes, parameter, parametrized

SEARCHES = ("best", "fast", "paper")


@parametrized
class Masking(HidesCells):
    """Publish labels instead of quasi-identifiers and of sensitive values; no row is dropped.

    `best` cuts classes in the cheapest way, masks row by row, and solves a linear program for each class (for those
    that lose most, where all programs have more than 4,500,000 variables); `fast` does without programs; `paper` is the
    published greedy search (one set of labels for the whole table, masks by value).
    """

    name: ClassVar[str] = "masking"
    phase: ClassVar[Phase] = Phase.MASKS
    divides: ClassVar[Divides] = Divides.REGIONS
    shows_labels: ClassVar[str | None] = LABELS
    reason: ClassVar[str | None] = "sensitive values are masked within classes of equal quasi-identifiers"
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = (MultiDiversity, AlphaDiversity)
    also_meets: ClassVar[tuple[type[PrivacyModel], ...]] = (KAnonymity,)

    search: str = parameter(
        Takes.CHOICE,
        "Search",
        "The cheapest classes, masks row by row and a linear program; fast: without it; paper: the published one.",
        default="best",
        choices=SEARCHES,
    )
    weight: float = parameter(
        Takes.NUMBER,
        "Weight of sensitive columns",
        "What the loss of a sensitive column counts, where that of a quasi-identifier counts 1.",
        default=1.0,
        above=0,
        most=1000,
    )
    local_suppression: bool = parameter(
        Takes.FLAG, "Nothing between", "Sensitive values are shown as they are or as *, nothing between.", default=False
    )
    avoid_vacuous: bool = parameter(
        Takes.FLAG,
        "No vacuous masks",
        "Labels that hide a single value of their class are mixed with others where possible.",
        default=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.avoid_vacuous and self.search == "paper":
            raise PolicyError(
                'avoid_vacuous of masking was asked for with search = "paper", which masks whole values.\n'
                'Choose search = "best" or "fast", or leave avoid_vacuous out.',
                at="avoid_vacuous",
            )

    def bound(self, policy: Policy) -> Fraction:
        """Return the smallest alpha."""
        models: tuple[MaskingModel, ...] = (*policy.of(MultiDiversity), *policy.of(AlphaDiversity))
        return min(alpha for model in models for alpha in alphas(model) if alpha is not None)

    def counts_with(self, policy: Policy) -> bool:
        """Whether equal rows may be held once."""
        return True

    def whole_only(self, policy: Policy) -> str | None:
        """Return why regions of the table cannot be masked apart; None: they can."""
        if self.search == "paper":
            return 'with search = "paper" the whole table has one set of labels'
        if any(getattr(model, "reading", None) == "true" for model in policy):
            return 'with reading = "true" a region alone may have no masks that are enough'
        return super().whole_only(policy)

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where a quasi-identifier has no hierarchy, and no step before makes the classes."""
        if not any(each.phase is Phase.CLASSES for each in before):
            refuse_bare(self.name, dataset.quasi_identifiers)

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return labels for quasi-identifiers (unless a step before made the classes) and sensitive columns.

        Where no masks are enough in the classes of a step before, these are joined until some are.
        """
        models = self._models(policy)
        columns = [Sensitive.of(dataset, name, models, workplace) for name in Policy(models).judged_columns]
        n_rows = dataset.total if before.keep_row is None else _kept(dataset, before.keep_row)
        k = policy.k()
        if n_rows < k:
            raise Unsatisfiable(
                f"Classes of at least {k:,} rows are asked for; the table has {n_rows:,}.\n"
                "Lower k, or gather more rows."
            )
        if models[0].reading == "true":
            _refuse_below_the_largest_share(models, columns)
        for earlier in chain([before], coarser(dataset, before)):
            made = self._mask(dataset, models, columns, k, earlier, workplace)
            if made is not None:
                return made
        raise Unsatisfiable(
            f"{in_words(models)} cannot be met in any classes: "
            f'with reading = "{models[0].reading}" a mask hides nothing of its own column.\n'
            f'Raise alpha, or take reading = "prior"{_or_count(columns)}.'
        )

    def _mask(
        self,
        dataset: Dataset,
        models: Sequence[MaskingModel],
        columns: Sequence[Sensitive],
        k: int,
        before: Recoding,
        workplace: Workplace,
    ) -> Recoding | None:
        """Return what masks make of the classes of a step before, or of the table; None when they are not enough."""
        rows = None if before.keep_row is None else np.flatnonzero(before.keep_row)
        secrets = searching.make_secrets(
            [column.for_kernels(models, self.weight / len(columns), flat=self.local_suppression) for column in columns]
        )
        quasi_identifiers = dataset.quasi_identifiers if before.class_of is None else ()
        refuse_bare(self.name, quasi_identifiers)
        table, distinct_of, class_of_distinct = distinct_of_rows(
            dataset, quasi_identifiers, columns, before.class_of, rows
        )
        axes = axes_of(quasi_identifiers)
        if class_of_distinct is not None:
            _refuse_small_classes(class_of_distinct, table.rows, k)
            masked = searching.mask_within(table, class_of_distinct, secrets, self._effort(secrets), workplace)
        else:
            rival = None
            if k > 1 and quasi_identifiers and self.search != "paper":
                rival = _recoded(dataset, k, before, rows, distinct_of, workplace)
            masked = self._search(table, axes, secrets, k, rival, workplace)
        one_class = class_of_distinct is None or not class_of_distinct.any()
        counted = all(column.counted for column in columns) and rows is None
        if masked is None and one_class and models[0].reading == "true" and counted:
            masked = _everything_masked(table, axes, columns)
        if masked is None:
            return None
        shown, pieces = searching.labels_of_rows(distinct_of, table, masked, dataset.weights_in(rows))
        n_rows, place = dataset.n_rows, rows
        if pieces is not None:
            assert dataset.weights is not None
            distinct_of = distinct_of[pieces.row_of]
            pieces, place = pieces.beside(rows, dataset.weights)
            before, n_rows = before.divided(pieces), pieces.count.size
        labelled = {
            column.coded.name: Labelled(codes=of_all_rows(shown[i], place, n_rows, 0), labels=column.names)
            for i, column in enumerate(columns)
        }
        class_of = before.class_of
        if class_of_distinct is None:
            class_of = of_all_rows(masked.class_of[distinct_of], place, n_rows, 0)
            for axis, column in enumerate(quasi_identifiers):
                assert column.tree is not None
                codes = masked.nodes[:, axis][masked.class_of][distinct_of]
                labelled[column.name] = Labelled(codes=of_all_rows(codes, place, n_rows, 0), labels=column.tree.labels)
        domains = [column.coded.name for column in columns], [column.first for column in columns]
        facts = {"search": self.search, **facts_of(masked, table, *domains, secrets)}
        tree = before.tree if class_of_distinct is not None else None  # joined classes keep every bound: mixtures
        return before.with_columns(labelled, class_of=class_of, tree=tree, facts=facts)

    def _models(self, policy: Policy) -> tuple[MaskingModel, ...]:
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
        self,
        table: Distinct,
        axes: Axes,
        secrets: Secrets,
        k: int,
        rival: searching.Classes | None,
        workplace: Workplace,
    ) -> searching.Masked | None:
        if self.search != "paper":
            return searching.mask(table, axes, secrets, k, self._effort(secrets), workplace, rival)
        search = TopDown(table, axes, secrets, k)
        stage = workplace.stage(self.name)
        while search.specialize():
            stage.advance()
        stage.done()
        return search.masked()


def _recoded(
    dataset: Dataset,
    k: int,
    before: Recoding,
    rows: NDArray[np.int64] | None,
    distinct_of: NDArray[np.int32],
    workplace: Workplace,
) -> searching.Classes:
    """Return the classes of local recoding for k-anonymity, as classes of distinct rows.

    Regions are divided into all children of a label or not at all, so one rare value can keep a whole table together.
    """
    recoder = LocalRecoding(keep_equal_together=True)  # so rows that stand for several stay whole
    made = recoder.anonymize(dataset, Policy((KAnonymity(k=k),)), before, workplace)
    assert made.class_of is not None
    class_of_row = made.class_of if rows is None else made.class_of[rows]
    class_of = np.empty(int(distinct_of.max(initial=-1)) + 1, dtype=np.int32)
    class_of[distinct_of] = class_of_row
    nodes = np.empty((int(class_of.max(initial=-1)) + 1, len(dataset.quasi_identifiers)), dtype=np.int32)
    for axis, column in enumerate(dataset.quasi_identifiers):
        shown = made.columns[column.name]
        assert isinstance(shown, Labelled)
        nodes[class_of_row, axis] = shown.codes if rows is None else shown.codes[rows]
    return class_of, nodes


def _or_count(columns: Sequence[Sensitive]) -> str:
    """Return what else helps where the base rates of columns were given: counted, they bound what masks can hide."""
    given = [repr(column.coded.name) for column in columns if not column.counted]
    return f", or leave out base_rates of {', '.join(given)}, which are counted in the data then" if given else ""


def _refuse_below_the_largest_share(models: Sequence[MaskingModel], columns: Sequence[Sensitive]) -> None:
    for model in models:
        alpha = min(bound for bound in alphas(model) if bound is not None)
        largest = {
            column.coded.name: column.largest_share(missing=model.missing_is_sensitive)
            for column in columns
            if column.coded.name in model.judged_columns
        }
        name = max(largest, key=lambda name: largest[name])
        reachable = largest[name]
        counted = all(each.counted for each in columns)
        least = "The smallest alpha that can be reached is" if counted else "No alpha can be reached below"
        if alpha < reachable:
            raise Unsatisfiable(
                f'{model.name} with reading = "true" asks that no value be more likely than {plain_number(alpha)}, but '
                f"one of column {name!r} has a share of {float(reachable):.4g} in the table: in some class it is that "
                f'likely.\n{least} "{reachable}"; or take reading = "prior".'
            )


def _refuse_small_classes(class_of_distinct: Codes, rows: NDArray[np.int64], k: int) -> None:
    smallest = int(np.bincount(class_of_distinct, weights=rows).min())
    if smallest < k:
        raise Unsatisfiable(
            f"Classes of at least {k:,} rows are asked for, but other requirements formed one of {smallest:,}.\n"
            f"Add k-anonymity with k = {k} to the plan, or give the requirement a smaller k."
        )


def _kept(dataset: Dataset, keep_row: NDArray[np.bool_]) -> int:
    return int(keep_row.sum() if dataset.weights is None else dataset.weights[keep_row].sum())


def _everything_masked(table: Distinct, axes: Axes, columns: Sequence[Sensitive]) -> searching.Masked:
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
