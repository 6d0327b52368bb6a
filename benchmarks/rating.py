"""Columns of a benchmark as Rating publishes them, small domains by the paper's rule, and what is true of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from made_up_census import CensusColumn
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.published.rating import Groups, Rating
from sfumato.anonymizers.randomization.domains import Hiding
from sfumato.data.dataset import CodedColumn, Dataset
from sfumato.data.keystream import system_keys
from sfumato.data.recoding import Recoding
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.estimators import Axis
from sfumato.estimators.records import Cells
from sfumato.models import SensitiveQidDiversity
from sfumato.models.base import Policy


def truth(columns: Sequence[CensusColumn]) -> Any:
    """Return how often each combination of values occurs."""
    place = np.zeros(columns[0].codes.size, dtype=np.int64)
    for column in columns:
        place = place * column.d + column.codes
    shape = [column.d for column in columns]
    return np.bincount(place, minlength=math.prod(shape)).reshape(shape).astype(float)


def dataset_of(columns: Sequence[CensusColumn]) -> Dataset:
    """Return columns as a table of sensitive quasi-identifiers with declared domains."""
    role, kind = Role.SENSITIVE_QUASI_IDENTIFIER, Kind.CATEGORY
    labels = {column.name: tuple(f"{value:03d}" for value in range(column.d)) for column in columns}
    coded = {
        column.name: CodedColumn(name=column.name, role=role, kind=kind, codes=column.codes, labels=labels[column.name])
        for column in columns
    }
    specs = {name: ColumnSpec(name=name, role=role, kind=kind, domain=domain) for name, domain in labels.items()}
    return Dataset(Schema(specs), coded, None, columns[0].codes.size, tuple(coded))


def grouped(dataset: Dataset, l: int) -> Hiding[Groups]:
    """Return the groups that Rating shows."""
    policy = Policy((SensitiveQidDiversity(l=dict.fromkeys(dataset.columns, l), small_domain="lower"),))
    return Rating(dependence="allow").decide(dataset, policy, dataset, Recoding(), Workplace())


def rated(columns: Sequence[CensusColumn], l: int) -> dict[str, Cells]:
    """Return all columns as Rating publishes them, as an analyst reads them."""
    dataset = dataset_of(columns)
    shown, found = grouped(dataset, l).draw(dataset, system_keys, Workplace()), {}
    for column in columns:
        labels = tuple(f"{value:03d}" for value in range(column.d))
        sets = shown.get(column.name)
        if sets is not None:
            axis = Axis(column.name, labels, min(l, column.d - 1), grouped=True)
            found[column.name] = Cells.of_sets(axis, sets)
        else:  # of two values: published as they are
            found[column.name] = Cells.of_values(Axis(column.name, labels), column.codes)
    return found
