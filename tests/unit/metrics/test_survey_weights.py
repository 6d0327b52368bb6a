"""Survey weights: a row of weight 3 counts as three equal rows do, in every measure that goes by weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.metrics.base import Metric
from sfumato.metrics.column_distributions import ColumnDistributions
from sfumato.metrics.kl_divergence import KlDivergence
from sfumato.metrics.ncp import Ncp
from sfumato.metrics.query_error import QueryError
from sfumato.metrics.risk import Risk

ROLES = {"age": Role.QUASI_IDENTIFIER, "sex": Role.QUASI_IDENTIFIER, "illness": Role.SENSITIVE, "w": Role.OTHER}
SCHEMA = Schema({name: ColumnSpec(name=name, role=role) for name, role in ROLES.items()})
DESCRIBED = {name: {"role": role.value} for name, role in ROLES.items()}
METRICS = (Ncp(), KlDivergence(), ColumnDistributions(), QueryError(queries=60))


def tables(seed: int, *, dropped: bool) -> tuple[pa.Table, pa.Table]:
    """An original with whole weights, and a release of it; rows that are dropped are the last ones."""
    chance = np.random.default_rng(seed)
    n = 60
    original = pa.table(
        {
            "age": chance.integers(20, 40, n),
            "sex": chance.choice(["f", "m"], n),
            "illness": chance.choice(["flu", "gout"], n),
            "w": chance.integers(1, 5, n),
        }
    )
    rows = original.slice(0, n - 10 if dropped else n)
    coarse = [
        "*" if chance.random() < 0.2 else f"[{age // 10 * 10}, {age // 10 * 10 + 9}]" for age in rows["age"].to_pylist()
    ]
    return original, rows.set_column(0, "age", pa.array(coarse))


def repeated(table: pa.Table) -> pa.Table:
    rows = np.repeat(np.arange(table.num_rows), table.column("w").to_numpy())
    return table.take(pa.array(rows)).set_column(3, "w", pa.array([1] * rows.size))


def measured(metric: Metric, original: pa.Table, released: pa.Table, **description: Any) -> Any:
    return metric.measure(encode(original, SCHEMA), Release.from_table(released, SCHEMA, description))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("dropped", [False, True])
def test_weights_count_as_equal_rows_do(metric: Metric, dropped: bool) -> None:
    described = {"columns": DESCRIBED}
    for seed in range(4):
        original, released = tables(seed, dropped=dropped)
        by_weight = measured(metric, original, released, weight="w", **described)
        by_rows = measured(metric, repeated(original), repeated(released), **described)
        plainly = measured(metric, original, released, **described)
        assert by_weight.value == pytest.approx(by_rows.value, rel=1e-9)
        assert by_weight.value != pytest.approx(plainly.value, rel=1e-6)
        assert by_weight.facts["weight"] == "w"
        assert "weight" not in plainly.facts


def test_what_is_at_risk_is_counted_in_people_of_the_table() -> None:
    original, released = tables(1, dropped=False)
    described = {"columns": DESCRIBED}
    weighted, plain = (measured(Risk(), original, released, **described, **more) for more in ({"weight": "w"}, {}))
    assert weighted.value == plain.value


def test_weights_that_are_no_numbers_are_refused() -> None:
    original, released = tables(1, dropped=False)
    bad = original.set_column(3, "w", pa.array(["x"] * original.num_rows))
    with pytest.raises(Exception, match="needs a number"):
        measured(Ncp(), bad, released, weight="w", columns=DESCRIBED)
