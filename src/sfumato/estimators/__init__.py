"""The analyst's side: from a randomized release to tables with errors. The release folder is all that is needed.

from sfumato.estimators import query
answer = query(release, ["age", "job"]).estimate()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.data.release import Release
from sfumato.estimators.auto import Auto as Auto
from sfumato.estimators.base import Axis as Axis
from sfumato.estimators.base import CrossTable as CrossTable
from sfumato.estimators.base import Estimator as Estimator
from sfumato.estimators.base import Expectation as Expectation
from sfumato.estimators.inverse import Inverse as Inverse
from sfumato.estimators.mle import Mle as Mle
from sfumato.estimators.paper import Paper as Paper
from sfumato.estimators.queries import BUDGET as BUDGET
from sfumato.estimators.queries import MOST_CELLS as MOST_CELLS
from sfumato.estimators.queries import Query as Query
from sfumato.estimators.queries import query as query
from sfumato.estimators.value_adding import ValueAdding as ValueAdding
from sfumato.parameters import one_of

ESTIMATORS: dict[str, type[Estimator]] = {
    estimator.name: estimator for estimator in (Auto, Paper, ValueAdding, Inverse, Mle)
}


def reconstruct(
    release: Release,
    columns: Sequence[str],
    *,
    where: Mapping[str, str] | None = None,
    method: str | Estimator = "auto",
    budget: float = BUDGET,
) -> CrossTable:
    """Return the table of some columns as it seems to have been, with standard errors.

    `method` is the name of an estimator or one with options of its own, such as `Paper(tolerance=1e-6)`.
    """
    estimator = (
        ESTIMATORS[one_of(method, "The method of reconstruction", ESTIMATORS)]() if isinstance(method, str) else method
    )
    return query(release, columns, where).estimate(estimator, budget)
