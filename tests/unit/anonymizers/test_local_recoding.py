"""Local recoding: lowest labels, nobody dropped, and records that are kept together when asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.data.builders import NestedHierarchy, Widths
from sfumato.data.encoding import encode
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy

PLACES = NestedHierarchy({"north": {"coast": ["a", "b"], "hills": ["c", "d"]}, "south": ["e", "f", "g"]})
SCHEMA = Schema(
    columns={
        "place": ColumnSpec(name="place", role=Role.QUASI_IDENTIFIER, hierarchy=PLACES),
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER, hierarchy=Widths((10, 20, 40))),
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE),
    }
)
MODES = ("fast", "capped", "std", "thorough")
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
people = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.integers(18, 60), st.sampled_from("xxyz")), min_size=6, max_size=50
)


def table_of(rows):
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(SCHEMA.columns)})


def released(rows, *models, schema=SCHEMA, **options):
    dataset = encode(table_of(rows), schema)
    recoding = LocalRecoding(**options).anonymize(dataset, Policy(models), Recoding(), Workplace())
    return dataset, recoding, publish(dataset, recoding, []).table()


def records(table):
    return list(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@quick
@given(rows=people)
def test_every_mode_keeps_all_rows_and_the_promise(mode, rows):
    models = (KAnonymity(k=3), LDiversity(sensitive="ill", l=2))
    try:
        dataset, _, table = released(rows, *models, mode=mode)
    except Unsatisfiable:
        assert len({row[2] for row in rows}) < 2
        return
    assert table.num_rows == dataset.n_rows
    release = Release.from_table(table, SCHEMA)
    assert all(model.audit(release).satisfied for model in models)


@pytest.mark.slow
@quick
@given(rows=people)
def test_kept_together_means_one_label_for_equal_quasi_identifiers(rows):
    try:
        _, _, table = released(rows, KAnonymity(k=2), LDiversity(sensitive="ill", l=2), keep_equal_together=True)
    except Unsatisfiable:
        return
    labels = defaultdict(set)
    for row, published in zip(rows, records(table), strict=True):
        labels[row[:2]].add(published[:2])
    assert all(len(found) == 1 for found in labels.values())


def test_apart_is_allowed_without_the_switch_and_loses_less():
    rows = [("a", 20, "x")] * 9 + [("a", 20, "y")] * 1 + [("b", 20, "y")] * 3 + [("g", 50, "x"), ("g", 50, "y")] * 3
    model = LDiversity(sensitive="ill", l="3/2", kind="frequency")

    def loss(**options):
        dataset, recoding, _ = released(rows, KAnonymity(k=2), model, **options)
        return sum(
            float(column.node_loss()[recoding.columns[column.name].codes].mean())
            for column in dataset.quasi_identifiers
        )

    assert loss() < loss(keep_equal_together=True)


@pytest.mark.slow
@quick
@given(rows=people, seed=st.integers(0, 5))
def test_the_order_of_rows_does_not_matter_for_k(rows, seed):
    shuffled = [rows[at] for at in np.random.default_rng(seed).permutation(len(rows))]

    one = sorted(records(released(rows, KAnonymity(k=3))[2]))
    two = sorted(records(released(shuffled, KAnonymity(k=3))[2]))

    assert one == two


def test_nothing_is_generalized_when_it_need_not_be():
    rows = [("a", 20, "x")] * 3 + [("g", 50, "y")] * 3

    table = released(rows, KAnonymity(k=3))[2]

    assert {(place, str(age)) for place, age, _ in records(table)} == {("a", "20"), ("g", "50")}


@pytest.mark.parametrize("k", [1, 7])
def test_the_ends_of_the_scale(k):
    rows = [("abcdefg"[at], 20 + 5 * at, "xyz"[at % 3]) for at in range(7)]

    _, recoding, table = released(rows, KAnonymity(k=k))

    assert len(set(records(table.select(["place", "age"])))) == (7 if k == 1 else 1)
    assert recoding.class_of is not None
    assert np.bincount(recoding.class_of).min() == k


def test_one_row_and_one_value():
    assert released([("a", 20, "x")], KAnonymity(k=1))[2].num_rows == 1
    assert set(records(released([("a", 20, "x")] * 5, KAnonymity(k=5))[2].select(["place"]))) == {("a",)}


@pytest.mark.slow
def test_twelve_quasi_identifiers_work():
    rng = np.random.default_rng(3)
    names = [f"q{number}" for number in range(12)]
    schema = Schema(
        {name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, hierarchy=Widths((2, 4))) for name in names}
    )
    dataset = encode(pa.table({name: rng.integers(0, 8, 300) for name in names}), schema)

    recoding = LocalRecoding().anonymize(dataset, Policy((KAnonymity(k=4),)), Recoding(), Workplace())

    assert np.bincount(recoding.class_of).min() >= 4


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ((KAnonymity(k=9),), "the table has 8"),
        ((LDiversity(sensitive="ill", l=5),), "4 different"),
        ((TCloseness(sensitive="ill", t=0), KAnonymity(k=9)), "the table has 8"),
    ],
)
def test_what_the_whole_table_fails_is_unsatisfiable_and_names_no_value(models, expected):
    rows = [("a", 20, "secret" + "wxyz"[at % 4]) for at in range(8)]

    with pytest.raises(Unsatisfiable, match=expected) as caught:
        released(rows, *models)

    assert "secret" not in str(caught.value)


def test_t_zero_gives_one_distribution_everywhere():
    rows = [("abg"[at % 3], 20 + at, "xy"[at // 3 % 2]) for at in range(24)]

    _, _, table = released(rows, TCloseness(sensitive="ill", t=0))

    assert TCloseness(sensitive="ill", t=0).audit(Release.from_table(table, SCHEMA)).satisfied


def test_a_quasi_identifier_without_hierarchy_is_named():
    schema = Schema({**SCHEMA.columns, "place": ColumnSpec(name="place", role=Role.QUASI_IDENTIFIER)})

    with pytest.raises(DataError, match="'place'"):
        released([("a", 20, "x")] * 3, KAnonymity(k=2), schema=schema)


@pytest.mark.parametrize("options", [{"mode": "capd"}, {"keep_equal_together": "yes"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(PolicyError):
        LocalRecoding(**options)


def test_the_lowest_of_labels_with_the_same_values_is_published():
    schema = Schema({"place": ColumnSpec(name="place", role=Role.QUASI_IDENTIFIER, hierarchy=PLACES)})
    dataset = encode(pa.table({"place": ["a", "b", "e"]}), schema)

    recoding = LocalRecoding().anonymize(dataset, Policy((KAnonymity(k=1),)), Recoding(), Workplace())
    table = publish(dataset, recoding, []).table()

    assert table.column("place").to_pylist() == ["a", "b", "e"]


SMALL = """
import json, sys
import numpy as np, pyarrow as pa
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.data.builders import Flat, Widths
from sfumato.data.encoding import encode
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy

schema = Schema({
    "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER, hierarchy=Widths((5, 10, 20))),
    "sex": ColumnSpec(name="sex", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
    "ill": ColumnSpec(name="ill", role=Role.SENSITIVE),
})
found = []
for seed, models in enumerate([
    [KAnonymity(k=3)],
    [KAnonymity(k=2), LDiversity(sensitive="ill", l=2)],
    [KAnonymity(k=2), LDiversity(sensitive="ill", l=2, kind="entropy")],
    [KAnonymity(k=2), LDiversity(sensitive="ill", l=2, kind="recursive", c=2)],
    [KAnonymity(k=2), TCloseness(sensitive="ill", t=0.3)],
]):
    rng = np.random.default_rng(seed)
    ages, sexes, ills = rng.integers(18, 60, 40), rng.choice(["m", "f"], 40), rng.choice(list("xyz"), 40)
    table = pa.table({"age": ages, "sex": sexes, "ill": ills})
    dataset = encode(table, schema)
    recoding = LocalRecoding().anonymize(dataset, Policy(tuple(models)), Recoding(), Workplace())
    found.append([[str(cell) for cell in row.values()] for row in publish(dataset, recoding, []).table().to_pylist()])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_compiled_and_plain_python_decide_the_same():
    found = []
    for plain in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": plain}
        done = subprocess.run(
            [sys.executable, "-c", SMALL], capture_output=True, encoding="utf-8", env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
