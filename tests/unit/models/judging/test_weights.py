from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.errors import DataError
from sfumato.models.judging.weights import row_weights, rows_in, tally, tally_keys

RELEASE = Release.from_table(
    pa.table({"age": ["1", "2", "2"]}), Schema({"age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER)})
)
WEIGHTS = np.array([2, 1, 3], dtype=np.int64)


def test_a_release_without_weights_has_none():
    assert row_weights(RELEASE) is None
    assert row_weights(replace(RELEASE, weights=WEIGHTS)) is WEIGHTS


@pytest.mark.parametrize(
    "weights",
    [WEIGHTS[:2], np.array([1, 0, 2]), np.array([1, -1, 2]), WEIGHTS.astype(np.int32), WEIGHTS.astype(float)],
    ids=["too few", "zero", "negative", "narrow", "no whole numbers"],
)
def test_weights_that_cannot_be_counted_with_are_refused(weights):
    with pytest.raises(DataError, match="whole number of at least 1"):
        row_weights(replace(RELEASE, weights=weights))


def test_weighted_counts_are_those_of_repeated_rows():
    keys = np.array([7, 0, 7, 3])
    weights = np.array([2, 5, 1, 4])
    repeated = np.repeat(keys, weights)

    assert tally(keys, 9, weights).tolist() == tally(repeated, 9, None).tolist()
    for one, other in zip(tally_keys(keys, weights), tally_keys(repeated, None), strict=True):
        assert one.tolist() == other.tolist()
    assert rows_in(keys == 7, weights) == rows_in(repeated == 7, None) == 3


def test_no_rows_are_no_keys():
    for weights in (None, np.array([], dtype=np.int64)):
        assert [found.tolist() for found in tally_keys(np.array([], dtype=np.int64), weights)] == [[], []]
