"""What tests of several rooms need."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf


@pytest.fixture(scope="session")
def dependent():
    """A table with two columns that determine each other, its plan, and a randomized release."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 6, 8000)
    table = pa.table(
        {"one": [f"o{v}" for v in x], "two": [f"t{v}" for v in (x + 1) % 6], "z": rng.choice(list("uvw"), 8000)}
    )
    plan = sf.Plan.from_dict(
        {
            "columns": {name: {"role": "sensitive-quasi-identifier"} for name in table.column_names},
            "require": [{"model": "sensitive-qid-diversity", "l": {"one": 2, "two": 2, "z": 2}}],
            "anonymizers": {"randomization": {"dependence": "allow"}},
        }
    )
    return table, plan, sf.anonymize(table, plan)
