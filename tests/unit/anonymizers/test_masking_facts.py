"""Facts about masks against a slow count over the rows of a release."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.masking import Masking
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Flat, Given
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Role, Schema
from sfumato.models import MultiDiversity
from sfumato.models.base import Policy

TREE = Hierarchy.from_nested({"x": ["a", "b"], "y": ["c", "d", "e"]})
NAMES = ("one", "two")
SCHEMA = Schema(
    {
        "who": ColumnSpec(name="who", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
        **{name: ColumnSpec(name=name, role=Role.SENSITIVE, hierarchy=Given(TREE)) for name in NAMES},
    }
)


def rows_of(seed):
    """Return rows as (class, labels, true values) with the facts of the run that made them."""
    rng = np.random.default_rng(seed)
    one = rng.choice(list("abcde"), 80, p=(0.4, 0.2, 0.2, 0.1, 0.1))
    two = np.where(rng.random(80) < 0.5, one, rng.choice(list("abcde"), 80))
    table = pa.table({"who": rng.choice(["p", "q", "r"], 80), "one": one, "two": two})
    dataset = encode(table, SCHEMA)
    public = PublicInputs(base_rates={name: BaseRates.of(dataset.column(name)) for name in NAMES})
    model = MultiDiversity(sensitive=NAMES, alpha_sa=0.5)
    recoding = Masking(search="fast").anonymize(dataset, Policy((model,)), Recoding(), Workplace(public=public))
    release = replace(publish(dataset, recoding, []), public=public).table()
    shown = [release.column(name).to_pylist() for name in ("who", *NAMES)]
    true = [table.column(name).to_pylist() for name in NAMES]
    return list(zip(*shown, *true, strict=True)), recoding.facts


@pytest.mark.parametrize("seed", range(5))
def test_facts_equal_a_slow_count(seed):
    rows, facts = rows_of(seed)

    masked, vacuous, pool_worst, true_worst = 0, 0, 0.0, 0.0
    for i in range(2):
        pools = defaultdict(Counter)
        groups = defaultdict(list)
        for row in rows:
            pools[row[0], row[1 + i]][row[3 + i]] += 1
            groups[row[0], row[2 - i]].append(row)
        for (_, label), values in pools.items():
            if label not in TREE.leaves:
                masked += values.total()
                vacuous += values.total() if len(values) == 1 else 0
        for members in groups.values():
            true_worst = max(true_worst, max(Counter(row[3 + i] for row in members).values()) / len(members))
            belief = Counter()
            for row in members:
                pool = pools[row[0], row[1 + i]]
                for value, count in pool.items():
                    belief[value] += count / pool.total()
            pool_worst = max(pool_worst, max(belief.values()) / len(members))
    assert facts["masked_values"] == masked > 0
    assert facts["vacuous_masked_values"] == vacuous
    assert facts["worst_posterior"]["true"] == pytest.approx(true_worst)
    assert facts["worst_posterior"]["pool"] == pytest.approx(pool_worst)
