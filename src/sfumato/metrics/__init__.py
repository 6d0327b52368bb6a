"""What a release is still good for, and how far it still points at people.

    from sfumato.metrics import measure_all
    for measurement in measure_all(dataset, release):
        print(measurement)

Every metric works from the original and the release alone; see `base` for the contract.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.data.dataset import CodedSets, Dataset
from sfumato.data.release import Release
from sfumato.data.schema import Role
from sfumato.metrics.average_class_size import AverageClassSize
from sfumato.metrics.base import Measurement, Metric
from sfumato.metrics.belief import BeliefChange
from sfumato.metrics.class_sizes import ClassSizes
from sfumato.metrics.classification import Classification, default_target
from sfumato.metrics.column_distributions import ColumnDistributions
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.cross_tables import CrossTables, Estimate, randomized_columns
from sfumato.metrics.discernibility import Discernibility
from sfumato.metrics.distortion import Distortion
from sfumato.metrics.item_loss import ItemLoss
from sfumato.metrics.kl_divergence import KlDivergence
from sfumato.metrics.ncp import Ncp
from sfumato.metrics.query_error import QueryError
from sfumato.metrics.risk import Risk
from sfumato.metrics.rule_retention import RuleRetention
from sfumato.metrics.suppression import Suppression
from sfumato.metrics.term_loss import TermLoss
from sfumato.models.judging.linking import public_inputs
from sfumato.progress import SILENT, Progress

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (
        Ncp,
        Suppression,
        Distortion,
        Discernibility,
        AverageClassSize,
        ClassSizes,
        Risk,
        BeliefChange,
        TermLoss,
        KlDivergence,
        ColumnDistributions,
        ItemLoss,
        RuleRetention,
        QueryError,
        CrossTables,
        Classification,
    )
}

# These speak of classes of equal quasi-identifiers, and have nothing to say without any.
_OF_CLASSES = (Ncp, Discernibility, AverageClassSize, ClassSizes, Risk, KlDivergence, QueryError)

__all__ = [
    "METRICS",
    "AverageClassSize",
    "BeliefChange",
    "ClassSizes",
    "Classification",
    "ColumnDistributions",
    "Comparison",
    "CrossTables",
    "Discernibility",
    "Distortion",
    "ItemLoss",
    "KlDivergence",
    "Measurement",
    "Metric",
    "Ncp",
    "QueryError",
    "Risk",
    "RuleRetention",
    "Suppression",
    "TermLoss",
    "measure_all",
]


def measure_all(
    dataset: Dataset,
    release: Release,
    *,
    target: str | None = None,
    population: Dataset | None = None,
    seed: int = 0,
    estimate: Estimate | None = None,
    tables: tuple[tuple[str, ...], ...] = (),
    progress: Progress = SILENT,
) -> tuple[Measurement, ...]:
    """Return all measurements of a release, in the order of `METRICS`.

    `target` is the column to predict (else the first sensitive one; without one nothing is predicted), `population` the
    table that a journalist would search (see `Risk`), `seed` fixes the random queries and folds. A change of belief is
    measured when a knowledge table comes with the release, and cross tables (those named in `tables`, else random ones)
    when columns are randomized and `estimate` says how tables are computed back.

    >>> import pyarrow as pa
    >>> from sfumato.data.encoding import encode
    >>> from sfumato.data.schema import ColumnSpec, Role, Schema
    >>> schema = Schema({"age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER)})
    >>> original = encode(pa.table({"age": [20, 25, 30, 40]}), schema)
    >>> release = Release.from_table(pa.table({"age": ["[20, 25]", "[20, 25]", "[30, 40]", "[30, 40]"]}), schema)
    >>> for measurement in measure_all(original, release)[:3]:
    ...     print(measurement)
    Detail lost: 37.5 % (original: 0 %)
    Rows dropped: 0 % (original: 0 %)
    Discernibility: 8 (original: 4)
    """
    comparison = Comparison(dataset, release)
    metrics = [
        metric
        for member in METRICS.values()
        for metric in _applicable(
            member, comparison, target=target, population=population, seed=seed, estimate=estimate, tables=tables
        )
    ]
    stage = progress.stage("measure", len(metrics))
    found = []
    for metric in metrics:
        found.append(metric.of(comparison))
        stage.advance()
    stage.done()
    return tuple(found)


def _applicable(
    member: type[Metric],
    comparison: Comparison,
    *,
    target: str | None,
    population: Dataset | None,
    seed: int,
    estimate: Estimate | None,
    tables: tuple[tuple[str, ...], ...],
) -> Iterator[Metric]:
    """Yield a metric as it applies to a release: once for each column that it is about, never when there is none."""
    if member in _OF_CLASSES and not comparison.dataset.quasi_identifiers:
        return
    if member is Classification:
        if target is not None or default_target(comparison) is not None:
            yield Classification(target=target, seed=seed)
    elif member is BeliefChange:
        if public_inputs(comparison.release).knowledge is not None and comparison.terms is not None:
            yield BeliefChange()
    elif member is TermLoss:
        if comparison.terms is not None:
            yield TermLoss()
    elif member is CrossTables:
        if estimate is not None and (tables or randomized_columns(comparison.release)):
            yield CrossTables(estimate=estimate, tables=tables, seed=seed)
    elif member is Distortion:
        if comparison.release.masked_columns:
            yield Distortion()
    elif member in (ItemLoss, RuleRetention):
        for column in comparison.dataset.with_role(Role.ITEMS):
            if isinstance(comparison.release.columns.get(column.name), CodedSets) and _has_secrets(column):
                yield ItemLoss(column=column.name) if member is ItemLoss else RuleRetention(column=column.name)
    elif member is QueryError:
        yield QueryError(seed=seed)
    elif member is Risk:
        yield Risk(population=population)
    else:
        yield member()


def _has_secrets(column: object) -> bool:
    return isinstance(column, CodedSets) and column.sensitive is not None
