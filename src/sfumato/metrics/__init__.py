"""What a release is still good for, and how far it still points at people.

    from sfumato.metrics import measure_all
    for measurement in measure_all(dataset, release):
        print(measurement)

Every metric works from the original and the release alone; see `base` for the contract.
"""

from __future__ import annotations

from sfumato.data.dataset import Dataset
from sfumato.data.release import Release
from sfumato.metrics.average_class_size import AverageClassSize
from sfumato.metrics.base import Measurement, Metric
from sfumato.metrics.class_sizes import ClassSizes
from sfumato.metrics.classification import Classification, default_target
from sfumato.metrics.column_distributions import ColumnDistributions
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.discernibility import Discernibility
from sfumato.metrics.kl_divergence import KlDivergence
from sfumato.metrics.ncp import Ncp
from sfumato.metrics.query_error import QueryError
from sfumato.metrics.risk import Risk
from sfumato.metrics.suppression import Suppression
from sfumato.progress import SILENT, Progress

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (
        Ncp,
        Suppression,
        Discernibility,
        AverageClassSize,
        ClassSizes,
        Risk,
        KlDivergence,
        ColumnDistributions,
        QueryError,
        Classification,
    )
}

__all__ = [
    "METRICS",
    "AverageClassSize",
    "ClassSizes",
    "Classification",
    "ColumnDistributions",
    "Comparison",
    "Discernibility",
    "KlDivergence",
    "Measurement",
    "Metric",
    "Ncp",
    "QueryError",
    "Risk",
    "Suppression",
    "measure_all",
]


def measure_all(
    dataset: Dataset,
    release: Release,
    *,
    target: str | None = None,
    population: Dataset | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> tuple[Measurement, ...]:
    """Return all measurements of a release, in the order of `METRICS`; no prediction without a column to predict.

    `target` is the column to predict (else the first sensitive one), `population` the table that a journalist would
    search (see `Risk`), `seed` fixes the random queries and folds.

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
    metrics: list[Metric] = []
    for member in METRICS.values():
        if member is Classification:
            if target is not None or default_target(comparison) is not None:
                metrics.append(Classification(target=target, seed=seed))
        elif member is QueryError:
            metrics.append(QueryError(seed=seed))
        elif member is Risk:
            metrics.append(Risk(population=population))
        else:
            metrics.append(member())
    stage = progress.stage("Measuring what is left", len(metrics))
    found = []
    for metric in metrics:
        found.append(metric.of(comparison))
        stage.advance()
    stage.done()
    return tuple(found)
