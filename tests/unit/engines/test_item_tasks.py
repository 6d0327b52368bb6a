"""Items withheld in parts of the records: each record in one part, whole classes where these are to be safe."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from anonymizing import JOBS
from in_parts import in_parts, may_publish, plan_for
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.base import Divides
from sfumato.engines.item_tasks import ItemParts

DIVIDED = [job for job in JOBS if ANONYMIZERS[job.anonymizer].divides is Divides.ANYHOW and may_publish(job)]


@pytest.mark.slow
@pytest.mark.parametrize("job", DIVIDED, ids=str)
def test_items_in_many_parts_hold_what_is_required_in_the_table_and_in_classes(job, tmp_path):
    plan = plan_for(job, tmp_path)
    engine = in_parts(160, occurrences=60)
    sf.run(plan, tmp_path / "run", seed=5, engine=engine, measure=False, attack=False)
    assert engine.item_parts > 2
    assert all(verdict.satisfied for verdict in sf.audit(tmp_path / "run", plan))
    assert pa_parquet.read_table(tmp_path / "run" / "release" / "data.parquet").num_rows == 160


def test_alike_records_go_to_the_same_part():
    class Sets:
        start = np.array([0, 2, 3, 3, 5])
        items = np.array([0, 2, 1, 0, 2])

    parts = ItemParts(("items",), np.array([1, 0, 2]), ((0, 0), (1, 0), (3, 0)), (1, 2, 1))
    assert parts.of(Sets(), np.arange(10, 14)).tolist() == [1, 0, 3, 2]
