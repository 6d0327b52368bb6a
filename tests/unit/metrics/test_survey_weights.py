"""Survey weights: a row of weight 3 counts as three equal rows do, in every measure that goes by weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.encoding import encode
from sfumato.data.release import Release
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError
from sfumato.metrics import METRICS as ALL
from sfumato.metrics import measure_all
from sfumato.metrics.base import Metric
from sfumato.metrics.classification import Classification
from sfumato.metrics.column_distributions import ColumnDistributions
from sfumato.metrics.distortion import Distortion
from sfumato.metrics.item_loss import ItemLoss
from sfumato.metrics.kl_divergence import KlDivergence
from sfumato.metrics.ncp import Ncp
from sfumato.metrics.query_error import QueryError
from sfumato.metrics.risk import Risk
from sfumato.metrics.suppression import Suppression
from sfumato.metrics.term_loss import TermLoss

ROLES = {"age": Role.QUASI_IDENTIFIER, "sex": Role.QUASI_IDENTIFIER, "illness": Role.SENSITIVE, "w": Role.OTHER}
SCHEMA = Schema({name: ColumnSpec(name=name, role=role) for name, role in ROLES.items()})
DESCRIBED = {name: {"role": role.value} for name, role in ROLES.items()}
METRICS = (Ncp(), KlDivergence(), ColumnDistributions(), QueryError(queries=60), Distortion())


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


@pytest.mark.slow
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
    with pytest.raises(DataError, match="needs a number"):
        measured(Ncp(), bad, released, weight="w", columns=DESCRIBED)


def of_sets(role: Role) -> tuple[Schema, pa.Table, pa.Table]:
    spec = ColumnSpec(name="s", role=role, kind=Kind.SET, sensitive_items=("c",) if role is Role.ITEMS else ())
    age, weight = (ColumnSpec(name=name, role=kind) for name, kind in (("age", ROLES["age"]), ("w", ROLES["w"])))
    chance = np.random.default_rng(5)
    before = ["|".join(sorted(set(chance.choice(list("abcd"), 3)))) for _ in range(40)]
    after = [cell.replace("c", "").strip("|").replace("||", "|") if chance.random() < 0.4 else cell for cell in before]
    ages, weights = chance.integers(20, 23, 40), chance.integers(1, 6, 40)
    made = [pa.table({"age": ages, "s": cells, "x": ages, "w": weights}).drop(["x"]) for cells in (before, after)]
    return Schema({"age": age, "s": spec, "w": weight}), *made


@pytest.mark.parametrize(
    ("metric", "role"),
    [
        (ItemLoss(column="s"), Role.ITEMS),
        (ColumnDistributions(), Role.ITEMS),
        (TermLoss(), Role.QUASI_SENSITIVE),
        (ColumnDistributions(), Role.QUASI_SENSITIVE),
    ],
)
def test_members_of_sets_count_as_often_as_their_records_do(metric: Metric, role: Role) -> None:
    schema, original, released = of_sets(role)

    def found(before: pa.Table, after: pa.Table, **described: Any) -> Any:
        return metric.measure(encode(before, schema), Release.from_table(after, schema, described))

    def often(table: pa.Table) -> pa.Table:
        return table.take(pa.array(np.repeat(np.arange(table.num_rows), table.column("w").to_numpy())))

    by_weight = found(original, released, weight="w")
    assert by_weight.value == pytest.approx(found(often(original), often(released)).value, rel=1e-9)
    assert by_weight.value != pytest.approx(found(original, released).value, rel=1e-6)
    assert by_weight.facts["weight"] == "w"


def test_a_prediction_is_right_for_as_many_people_as_its_rows_stand_for() -> None:
    """The majority of rows says "flu", that of people "gout", and nothing tells them apart."""
    n = 60
    original = pa.table(
        {
            "age": [30] * n,
            "sex": ["f"] * n,
            "illness": ["flu" if row % 3 else "gout" for row in range(n)],
            "w": [1 if row % 3 else 8 for row in range(n)],
        }
    )
    weighted = measured(Classification(), original, original, weight="w", columns=DESCRIBED)
    plain = measured(Classification(), original, original, columns=DESCRIBED)

    assert plain.value == pytest.approx(2 / 3)
    assert weighted.value == weighted.before == pytest.approx(8 / 10)
    assert weighted.facts["after"]["effective_rows"] < n == plain.facts["after"]["effective_rows"]


def test_rows_and_cells_that_changed_are_counted_whatever_their_weight() -> None:
    original, released = tables(2, dropped=True)
    by_weight = measured(Suppression(), original, released, weight="w", columns=DESCRIBED)
    plainly = measured(Suppression(), original, released, columns=DESCRIBED)

    assert by_weight.facts == plainly.facts


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.ITEMS, Role.QUASI_SENSITIVE])
def test_every_measure_goes_by_the_weights_or_says_why_it_does_not(role: Role) -> None:
    if role is Role.SENSITIVE:
        schema, (original, released) = SCHEMA, tables(1, dropped=False)
    else:
        schema, original, released = of_sets(role)
    made = Release.from_table(released, schema, {"weight": "w", "columns": DESCRIBED})

    for measurement in measure_all(encode(original, schema), made):
        says = "Rows count once each here, not by 'w'" in measurement.explanation
        assert bool(measurement.facts.get("weight")) != says, measurement.name
        assert says == bool(ALL[measurement.name].by_rows)
    for measurement in measure_all(encode(original, schema), Release.from_table(released, schema)):
        assert "count once each" not in measurement.explanation
