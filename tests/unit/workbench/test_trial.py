"""What a plan would cost: on the whole table, or on a sample that is said to be one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.workbench.trial import Trial, sampled


def test_a_large_table_is_tried_on_some_rows_in_their_order():
    table = pa.table({"n": range(50)})

    few = sampled(table, np.random.default_rng(1), whole=40, few=10)

    assert few.num_rows == 10
    assert few["n"].to_pylist() == sorted(set(few["n"].to_pylist()))
    assert sampled(table, np.random.default_rng(1), whole=50, few=10) is table


def test_a_sample_is_said_to_be_one():
    assert Trial(True, 10, 50, "").as_dict()["sampled"]
    assert not Trial(True, 50, 50, "").as_dict()["sampled"]
