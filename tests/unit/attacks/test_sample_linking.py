from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.attacks import Asked, SampleLinking
from sfumato.data.release import Release
from sfumato.data.sampling import UNKNOWN, Sampling
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.individual_risk import individual_risk

SCHEMA = Schema({"age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER), "w": ColumnSpec(name="w", role=Role.OTHER)})
TABLE = Release.from_table(pa.table({"age": [20, 20, 25, 30], "w": ["4", "6", "1", "2"]}), SCHEMA)


def test_it_runs_where_the_population_is_known():
    assert list(SampleLinking.suited_to(TABLE, Asked())) == []
    (found,) = SampleLinking.suited_to(TABLE, Asked(sampling=Sampling(weight="w"), threshold=0.4))
    assert found == SampleLinking(sampling=Sampling(weight="w"), threshold=0.4)


def test_confidence_is_the_individual_risk():
    found = SampleLinking(sampling=Sampling(weight="w")).on(TABLE)

    risk = individual_risk(np.array([2, 1, 1]), np.array([10.0, 1.0, 2.0]))
    assert found.worst == risk.max() == 1.0
    assert found.mean == pytest.approx((2 * risk[0] + risk[1] + risk[2]) / 4)
    assert found.exposed == 2  # 25 and, with a chance of 0.69, 30
    assert (found.people, found.facts["population"]) == (4, 13)


def test_rows_that_are_held_once_count_as_often_as_they_stand_for():
    once = TABLE.weighted()
    twice = replace(once, weights=once.weights * 2)
    attack = SampleLinking(sampling=Sampling(weight="w"))

    assert attack.on(once).as_dict() == attack.on(TABLE).as_dict()
    assert attack.on(twice).people == 8


def test_a_guess_is_right_about_one_of_all_people():
    assert SampleLinking(sampling=Sampling(fraction=0.1)).guess(TABLE).worst == 1 / 40
    assert SampleLinking(sampling=UNKNOWN).guess(TABLE).worst == 1 / 4


def test_without_weights_rows_stand_for_themselves():
    bare = Release.from_table(pa.table({"age": [20, 20, 25]}), SCHEMA)

    assert SampleLinking(sampling=Sampling(weight="w")).on(bare).worst == 1.0
