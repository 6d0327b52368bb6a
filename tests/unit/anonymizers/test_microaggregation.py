"""Microaggregation: groups that hold, the best of all in one column, figures that analysts can use."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.microaggregation import mdav
from sfumato.anonymizers.microaggregation.mdav import Units, mdav_groups
from sfumato.anonymizers.microaggregation.univariate import best_groups
from sfumato.kernels.classes.conditions import make_conditions


def squared_error(values, weight, group_of):
    total = 0.0
    for group in set(group_of.tolist()):
        inside = group_of == group
        mean = np.average(values[inside], weights=weight[inside])
        total += float((weight[inside] * (values[inside] - mean) ** 2).sum())
    return total


def least_squared_error(values, weight, k):
    """The same by trying every way to cut the sorted values into groups of k rows or more."""
    order = np.argsort(values)
    x, w, n = values[order], weight[order], len(values)
    best = np.inf
    for cuts in (cut for many in range(n) for cut in combinations(range(1, n), many)):
        group_of = np.searchsorted(cuts, np.arange(n), "right")
        if np.bincount(group_of, w).min() >= k:
            best = min(best, squared_error(x, w, group_of))
    return best


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rows=st.dictionaries(st.integers(0, 40), st.integers(1, 3), min_size=2, max_size=8),
    k=st.integers(1, 4),
)
def test_of_one_column_the_groups_are_the_best_of_all(rows, k):
    values, weight = np.array([*rows], dtype=float), np.array([*rows.values()])
    if weight.sum() < k:
        return
    found = best_groups(values, weight, k, lambda steps: None)

    assert np.bincount(found, weight).min() >= k
    assert squared_error(values, weight, found) == pytest.approx(least_squared_error(values, weight, k), abs=1e-9)


def units_of(points, weight=None):
    n = len(points)
    weight = np.ones(n, dtype=np.int64) if weight is None else weight
    none = np.empty((0, 2), dtype=np.int64)
    return Units(np.asarray(points, dtype=float), weight, np.zeros(n + 1, dtype=np.int64), none)


def test_groups_of_single_rows_have_k_to_2k_minus_1_and_keep_neighbours_together(monkeypatch):
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.normal(centre, 0.01, (5, 2)) for centre in ((0, 0), (9, 0), (0, 9), (9, 9))])
    conditions = make_conditions(5, 20, [], [])

    found = mdav_groups(units_of(points), conditions, lambda steps: None)
    assert [len(set(found[first : first + 5])) for first in range(0, 20, 5)] == [1, 1, 1, 1]
    many = rng.normal(size=(503, 3))
    sizes = np.bincount(mdav_groups(units_of(many), make_conditions(5, 503, [], []), lambda steps: None))
    assert 5 <= sizes.min() <= sizes.max() <= 9
    monkeypatch.setattr(mdav, "LARGEST_BLOCK", 60)
    sizes = np.bincount(mdav_groups(units_of(many), make_conditions(5, 503, [], []), lambda steps: None))
    assert 5 <= sizes.min() <= sizes.max() <= 9


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(9)
    n = 400
    pay = np.exp(rng.normal(10, 0.6, n)).astype(int)
    return pa.table({"age": rng.integers(18, 80, n), "pay": pay, "ill": rng.choice(list("abc"), n)})


def released(people, quasi=("age", "pay"), models=(), measure=False, **options):
    columns = {name: {"role": "quasi-identifier"} for name in quasi} | {"ill": {"role": "sensitive"}}
    require = [{"model": "k-anonymity", "k": 6, "anonymizer": "microaggregation"}, *models]
    plan = {"columns": columns, "require": require, "anonymizers": {"microaggregation": options}}
    return sf.anonymize(people.select([*quasi, "ill"]), sf.Plan.from_dict(plan), seed=1, attack=False, measure=measure)


def test_means_come_out_nearly_as_they_were(people):
    pay = people["pay"].to_numpy()
    for options in ({}, {"shown": "median"}):
        (mean,) = sf.load(released(people, **options).release).mean("pay")
        assert mean.lower <= pay.mean() <= mean.upper
    (mean,) = sf.load(released(people).release).mean("pay")
    assert abs(mean.value - pay.mean()) < 0.005 * pay.mean()
    assert mean.upper - mean.lower < 0.05 * mean.value


def test_conditions_on_sensitive_values_hold_with_groups_that_grew_for_them(people):
    plain = released(people)
    strict = released(people, models=[{"model": "t-closeness", "sensitive": "ill", "t": 0.15}])

    assert all(verdict.satisfied for verdict in strict.verdicts)
    assert strict.verdicts[0].groups < plain.verdicts[0].groups


def test_the_best_groups_of_one_column_lose_less_than_those_of_mdav():
    values = np.random.default_rng(1).normal(size=300)
    weight, conditions = np.ones(300, dtype=np.int64), make_conditions(6, 300, [], [])
    best = best_groups(values, weight, 6, lambda steps: None)
    greedy = mdav_groups(units_of(values[:, None]), conditions, lambda steps: None)

    assert squared_error(values, weight, best) < 0.99 * squared_error(values, weight, greedy)


@pytest.mark.parametrize(
    ("quasi", "models"),
    [(("age", "pay"), []), (("pay",), [{"model": "l-diversity", "sensitive": "ill", "l": 2}])],
)
def test_the_best_of_all_is_refused_where_it_cannot_be_found(people, quasi, models):
    with pytest.raises(sf.DataError, match='Write method = "mdav"'):
        released(people, quasi, models, method="univariate")


def test_words_show_labels_or_sets_of_their_group(people):
    words = people.append_column("sex", pa.array(["f", "m"] * 200))
    shown = released(words, ("age", "sex")).release.data["sex"].to_pylist()

    assert set(shown) <= {"f", "m", "*"}
    assert shown.count("*") < 300


def test_k_that_the_table_does_not_have_is_said(people):
    with pytest.raises(sf.Unsatisfiable, match="the table has 5"):
        released(people.slice(0, 5))
