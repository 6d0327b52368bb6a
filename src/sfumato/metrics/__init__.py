"""What a release is still good for, and how far it still points at people.

    from sfumato.metrics import measure_all
    for measurement in measure_all(dataset, release):
        print(measurement)

Every metric works from the original and the release alone; see `base` for the contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sfumato.data.dataset import Dataset
from sfumato.data.release import Release
from sfumato.metrics.average_class_size import AverageClassSize as AverageClassSize
from sfumato.metrics.base import About as About
from sfumato.metrics.base import Asked as Asked
from sfumato.metrics.base import Measurement as Measurement
from sfumato.metrics.base import Metric as Metric
from sfumato.metrics.belief import BeliefChange as BeliefChange
from sfumato.metrics.class_sizes import ClassSizes as ClassSizes
from sfumato.metrics.classification import Classification as Classification
from sfumato.metrics.column_distributions import ColumnDistributions as ColumnDistributions
from sfumato.metrics.comparison import Comparison as Comparison
from sfumato.metrics.cross_tables import CrossTables as CrossTables
from sfumato.metrics.discernibility import Discernibility as Discernibility
from sfumato.metrics.distortion import Distortion as Distortion
from sfumato.metrics.item_loss import ItemLoss as ItemLoss
from sfumato.metrics.kl_divergence import KlDivergence as KlDivergence
from sfumato.metrics.masked_detail import MaskedDetail as MaskedDetail
from sfumato.metrics.ncp import Ncp as Ncp
from sfumato.metrics.population_risk import PopulationRisk as PopulationRisk
from sfumato.metrics.query_error import QueryError as QueryError
from sfumato.metrics.risk import Risk as Risk
from sfumato.metrics.rule_retention import RuleRetention as RuleRetention
from sfumato.metrics.special_uniques import SpecialUniques as SpecialUniques
from sfumato.metrics.statistics import Statistics as Statistics
from sfumato.metrics.suppression import Suppression as Suppression
from sfumato.metrics.suppression_objective import SuppressionObjective as SuppressionObjective
from sfumato.metrics.term_loss import TermLoss as TermLoss
from sfumato.progress import SILENT, Progress

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (
        Ncp,
        MaskedDetail,
        TermLoss,
        ItemLoss,
        Distortion,
        Suppression,
        Discernibility,
        AverageClassSize,
        ClassSizes,
        Risk,
        PopulationRisk,
        SpecialUniques,
        BeliefChange,
        KlDivergence,
        ColumnDistributions,
        Statistics,
        RuleRetention,
        SuppressionObjective,
        QueryError,
        CrossTables,
        Classification,
    )
}


def measure_all(
    dataset: Dataset, release: Release, *, people: bool = False, progress: Progress = SILENT, **asked: Any
) -> tuple[Measurement, ...]:
    """Return all measurements of a release, in the order of `METRICS`; what is `asked` besides as in `Asked`.

    `target` is the column to predict (else the first sensitive one; without one nothing is predicted), `population` the
    table that a journalist would search (see `Risk`), `sampling` says what is known of the people outside the table,
    `seed` fixes the random queries and folds. A change of belief is measured when a knowledge table comes with the
    release, and cross tables (those named in `tables`, else random ones) when columns are randomized and `estimate`
    says how tables are computed back. `queries` and `rules` are parameters of `QueryError` and `RuleRetention`. With
    `people`, each row is a person, and is called so.

    >>> before, after = {"age": [20, 25, 30, 40]}, {"age": ["[20, 25]", "[20, 25]", "[30, 40]", "[30, 40]"]}
    >>> sides = Comparison.of_tables(before, after, age="quasi-identifier")
    >>> for measurement in measure_all(sides.dataset, sides.release)[:3]:
    ...     print(measurement)
    Detail lost: 37.5 % (original: 0 %)
    Rows dropped: 0 % (original: 0 %)
    Discernibility: 8 (original: 4)
    """
    comparison = Comparison(dataset, release, people)
    metrics = list(_suited(comparison, Asked(**asked)))
    stage = progress.stage("measure", len(metrics))
    found = []
    for metric, sides in metrics:
        found.append(_told(metric, sides))
        stage.advance()
    stage.done()
    return tuple(found)


def _told(metric: Metric, sides: Comparison) -> Measurement:
    """Return a measurement; where it goes by single rows, or by some of them, it says so and why."""
    measured = metric.of(sides)
    if sides.survey is not None and metric.by_rows:
        why = f"Rows count once each here, not by {sides.survey.column!r}: {metric.by_rows}."
        measured = replace(measured, explanation=f"{measured.explanation} {why}".strip())
    return measured if sides.drawn is None else measured.said_of(sides.drawn)


def _suited(comparison: Comparison, asked: Asked) -> Iterator[tuple[Metric, Comparison]]:
    """Yield metrics in order, each with what it is measured on: single rows only where it has to be."""
    rows = comparison.of_sample
    if rows is None:
        yield from (
            (metric, comparison) for member in METRICS.values() for metric in member.suited_to(comparison, asked)
        )
        return
    columns = comparison.dataset.columns
    counted = replace(
        asked,
        target=asked.target if asked.target in columns else None,
        tables=tuple(names for names in asked.tables if all(name in columns for name in names)),
    )
    for member in METRICS.values():
        by_count, by_row = list(member.suited_to(comparison, counted)), list(member.suited_to(rows, asked))
        if member.speaks_of_sets and rows.has_sets:
            by_count = []
        yield from ((metric, comparison) for metric in by_count if metric in by_row or not by_row)
        yield from ((metric, rows) for metric in by_row if metric not in by_count)
