"""Microaggregation: like rows with like, in groups as small as the requirements allow, and publish what groups have.

Of numbers that is their mean or median, which analysts can compute with, instead of a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from sfumato.anonymizers.base import LABELS, Anonymizer, Divides, Phase, Workplace
from sfumato.anonymizers.boxes import Integers, grids_of, groups_of, label_boxes, of_all_rows, quasi_identifiers
from sfumato.anonymizers.conditions import CLASS_MODELS, Asked, conditions_for, refuse_hopeless
from sfumato.anonymizers.microaggregation.mdav import Floats, Groups, Units, mdav_groups
from sfumato.anonymizers.microaggregation.univariate import best_groups
from sfumato.data.dataset import CodedColumn, Dataset, DistinctRows, distinct_rows, weights_of
from sfumato.data.figures import FEW, SHOWS, with_figures
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Kind
from sfumato.errors import DataError
from sfumato.models.base import Policy, PrivacyModel
from sfumato.parameters import Takes, parameter, parametrized

MISSING = 3.0  # standard deviations between a missing value and all others


@parametrized
class Microaggregation(Anonymizer):
    """Put rows that are alike into groups, and publish the mean or the median of each group's numbers.

    Groups are found by MDAV (Domingo-Ferrer and Mateo-Sanz 2002, Domingo-Ferrer and Torra 2005): those farthest from
    the centre first, each with its nearest neighbours. A group grows until it has what is asked of every class: k rows,
    p different sensitive values (p-sensitive: Truta and Vinay 2006), t-closeness (Soria-Comas et al. 2015). Of one
    column of numbers, the groups with the least squared error of all are found (Hansen and Mukherjee 2003). Columns of
    words show the lowest label, or the set of values, of their group.
    """

    name: ClassVar[str] = "microaggregation"
    phase: ClassVar[Phase] = Phase.CLASSES
    divides: ClassVar[Divides] = Divides.NOT
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]] = CLASS_MODELS

    method: str = parameter(
        Takes.CHOICE,
        "How groups are found",
        "mdav: neighbours of the farthest; univariate: the best of all, of one column of numbers and for "
        "k-anonymity alone; auto: the best where it can be found.",
        default="auto",
        choices=("auto", "mdav", "univariate"),
    )
    shown: str = parameter(
        Takes.CHOICE, "Figure", "What groups show of their numbers.", default="mean", choices=SHOWS[1:]
    )

    def shows(self, kind: Kind | None, *, hierarchy: bool) -> str | None:
        """Return what is published of a quasi-identifier."""
        if kind is Kind.NUMBER:
            return f"replaced by the {self.shown} of its group, rounded"
        return LABELS if hierarchy else "generalized to ranges or sets of values"

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where what is asked of classes cannot be judged, or the best groups of all cannot be found."""
        self._univariate(quasi_identifiers(dataset), conditions_for(dataset, policy))

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return figures and labels for the quasi-identifiers, or raise Unsatisfiable."""
        columns = quasi_identifiers(dataset)
        rows = np.arange(dataset.n_rows) if before.keep_row is None else np.flatnonzero(before.keep_row)
        asked = conditions_for(dataset, policy, rows)
        refuse_hopeless(dataset, asked)
        distinct = distinct_rows([replace(column, codes=column.codes[rows]) for column in columns], rows.size)
        stage = workplace.stage(self.name, total=len(distinct.weight))
        try:
            if self._univariate(columns, asked):
                values = columns[0].values
                assert values is not None
                found = best_groups(values[distinct.codes[:, 0]], distinct.weight, asked.conditions.k, stage.advance)
            else:
                units = Units.of(_points(columns, distinct), distinct, asked)
                found = mdav_groups(units, asked.conditions, stage.advance)
        finally:
            stage.done()
        return self._decision(dataset, found, distinct, rows, asked, before)

    def _univariate(self, columns: tuple[CodedColumn, ...], asked: Asked) -> bool:
        """Whether the best groups of all can be found, or raise where they are asked for and cannot."""
        able = len(columns) == 1 and columns[0].values is not None and columns[0].missing < 0
        if self.method == "univariate" and not (able and asked.conditions.size_only):
            raise DataError(
                "The best groups of all were asked for (univariate), which are found of one quasi-identifier of "
                'numbers without gaps, and for k-anonymity alone.\nWrite method = "mdav".'
            )
        return able and asked.conditions.size_only and self.method != "mdav"

    def _decision(
        self, dataset: Dataset, found: Groups, distinct: DistinctRows, rows: Integers, asked: Asked, before: Recoding
    ) -> Recoding:
        """Return what is published of the groups."""
        least = max(asked.conditions.k, FEW)
        groups = groups_of(of_all_rows(found[distinct.distinct_of], rows, dataset.n_rows))
        groups = replace(groups, grids=grids_of(dataset.quasi_identifiers, least, asked.weights))
        labelled, _ = label_boxes(dataset, groups)
        group_of, facts = groups.group_of, {"classes": groups.n_groups}
        recoding = before.with_columns(labelled, class_of=group_of, facts=facts)
        # The dataset has a row for each piece already; what is said of pieces is about the table before.
        shown = with_figures(dataset, replace(recoding, pieces=None), self.shown, least, group_of=group_of)
        return replace(shown, pieces=recoding.pieces)


def _points(columns: tuple[CodedColumn, ...], distinct: DistinctRows) -> Floats:
    """Return each distinct row as a point: numbers by value, words by their place in the hierarchy; (u, dimensions)."""
    found = [] if columns else [np.zeros(len(distinct.weight))]
    for position, (column, weight) in enumerate(zip(columns, weights_of(columns), strict=True)):
        codes = distinct.codes[:, position]
        at = column.values[codes] if column.values is not None else codes.astype(np.float64)
        absent = codes == column.missing
        if absent.any():
            known = ~absent
            at = np.where(absent, np.average(at[known], weights=distinct.weight[known]) if known.any() else 0.0, at)
            found.append(np.sqrt(weight) * MISSING * absent)
        centre = np.average(at, weights=distinct.weight)
        deviation = np.sqrt(np.average((at - centre) ** 2, weights=distinct.weight))
        found.append(np.sqrt(weight) * (at - centre) / (deviation or 1.0))
    return np.column_stack(found)
