"""Laws over anonymizers that form classes: equal rows may be held once, with weights, and the release is the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from anonymizing import JOBS, Job
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Divides, Phase
from sfumato.data.base_rates import BaseRates
from sfumato.data.dataset import Dataset, distinct_rows
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.engines.dividing import carry_out_on_distinct
from sfumato.models.base import Need

OF_CLASSES = [
    job
    for job in JOBS
    if all(step.anonymizer.phase <= Phase.MASKS for step in job.steps)
    and not any(Need.KNOWLEDGE in model.needs for model in job.models)  # sets are of single rows
]


def repeated(dataset: Dataset) -> Dataset:
    """Some rows more than once, in no order."""
    row_of = np.repeat(np.arange(dataset.n_rows), 1 + (np.arange(dataset.n_rows) % 10 == 0))
    np.random.default_rng(3).shuffle(row_of)
    found = dataset.standing_for(row_of, None)
    return replace(found, columns={name: replace(column, counts=None) for name, column in found.columns.items()})


def weighted(dataset: Dataset) -> Dataset:
    distinct = distinct_rows(list(dataset.columns.values()), dataset.n_rows)
    first = np.zeros(distinct.weight.size, dtype=np.int64)
    first[distinct.distinct_of[::-1]] = np.arange(dataset.n_rows)[::-1]
    return dataset.standing_for(first, distinct.weight)


def shown(dataset: Dataset, recoding: Recoding) -> Counter:
    """Every published row, as often as it is published."""
    pieces = recoding.pieces
    if pieces is not None:
        dataset = dataset.standing_for(pieces.row_of, pieces.count)
    weights = dataset.weights if dataset.weights is not None else np.ones(dataset.n_rows, dtype=np.int64)
    kept = weights if recoding.keep_row is None else weights[recoding.keep_row]
    rows = zip(*publish(dataset, recoding, []).table().to_pydict().values(), strict=True)
    found = Counter()
    for row, count in zip(rows, kept.tolist(), strict=True):
        found[row] += count
    return found


@pytest.mark.slow
@pytest.mark.parametrize("job", OF_CLASSES, ids=str)
def test_equal_rows_held_once_give_the_same_release(job: Job):
    table = repeated(job.dataset)
    held = weighted(table)
    assert held.n_rows < held.total == table.n_rows
    rates = {name: BaseRates.of(table.column(name)) for name in job.public.base_rates}
    workplace = replace(job.workplace(), public=replace(job.public, base_rates=rates))
    once, each = Recoding(), Recoding()
    for step in job.steps:
        once = carry_out_on_distinct(step, held, once, workplace)
        each = step.carry_out(table, each, workplace)

    assert shown(held, once) == shown(table, each)
    assert once.facts == each.facts


@pytest.mark.parametrize("name", ANONYMIZERS)
def test_every_anonymizer_says_how_its_work_divides(name):
    assert isinstance(ANONYMIZERS[name].divides, Divides)
