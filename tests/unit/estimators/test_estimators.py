"""Estimators against dense and literal versions of themselves."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command

from sfumato.cli import app
from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.schema import Role
from sfumato.errors import DataError, PolicyError
from sfumato.estimators import ESTIMATORS, Auto, Axis, Inverse, Mle, Paper, ValueAdding
from sfumato.estimators.kronecker import error_of, expected_l2, mixed, onto_simplex, shown, unmixed
from sfumato.estimators.likelihood import Likelihood
from sfumato.estimators.paper import bayes_step, within_noise
from sfumato.estimators.records import Cells, Records


def cells_of(axis, sets):
    start = np.concatenate([[0], np.cumsum([len(chosen) for chosen in sets])]).astype(np.int64)
    items = np.array([item for chosen in sets for item in sorted(chosen)], dtype=np.int32)
    column = BitSets(
        name=axis.name,
        role=Role.SENSITIVE_QUASI_IDENTIFIER,
        packed=bit_sets_of(items, start, axis.d),
        labels=axis.labels,
    )
    return Cells.of_sets(axis, column)


def axis_of(name, d, eta, p):
    return Axis(name, tuple(f"{name}{place}" for place in range(d)), eta, p)


def randomized(rng, axis, values):
    """Sets by the definition."""
    sets = []
    for value in values:
        if rng.random() < axis.p:
            others = rng.choice([v for v in range(axis.d) if v != value], axis.eta - 1, replace=False)
            sets.append({int(value), *others.tolist()})
        else:
            sets.append(set(rng.choice(axis.d, axis.eta, replace=False).tolist()))
    return sets


AXES = (axis_of("a", 4, 2, 1.0), axis_of("b", 5, 3, 0.6), axis_of("c", 3, 1, 0.5))


def records_of(rng, axes, n, shares=None):
    shape = tuple(axis.d for axis in axes)
    shares = shares if shares is not None else rng.dirichlet(np.full(math.prod(shape), 0.5))
    cell = rng.choice(math.prod(shape), n, p=shares)
    values = np.unravel_index(cell, shape)
    sets = [randomized(rng, axis, own) for axis, own in zip(axes, values, strict=True)]
    truth = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    return Records(tuple(cells_of(axis, own) for axis, own in zip(axes, sets, strict=True)), n), sets, truth


def dense(axes, g="g", h="h"):
    matrix = np.ones((1, 1))
    for axis in axes:
        own, other = getattr(axis, g), getattr(axis, h)
        matrix = np.kron(matrix, (own - other) * np.eye(axis.d) + other * np.ones((axis.d, axis.d)))
    return matrix


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([1, 63, 64, 65, 200]))
def test_both_ways_of_counting_count_the_combinations_that_records_show(seed, q, n):
    records, sets, _ = records_of(np.random.default_rng(seed), AXES[:q], n)
    slow = np.zeros(records.shape, dtype=int)
    for row in zip(*sets, strict=True):
        for place in product(*row):
            slow[place] += 1
    assert np.array_equal(records.seen_by_planes().reshape(records.shape), slow)
    assert np.array_equal(records.seen_by_records().reshape(records.shape), slow)
    assert np.array_equal(records.seen, slow)


def test_domains_beyond_one_word_are_counted_too():
    rng = np.random.default_rng(1)
    axes = (axis_of("a", 150, 3, 0.5), axis_of("b", 70, 2, 1.0))
    records, sets, _ = records_of(rng, axes, 90)
    slow = np.zeros(records.shape, dtype=int)
    for row in zip(*sets, strict=True):
        for place in product(*row):
            slow[place] += 1
    assert np.array_equal(records.seen_by_planes().reshape(records.shape), slow)
    assert np.array_equal(records.seen_by_records().reshape(records.shape), slow)


@pytest.mark.parametrize("domain", [3, 60])
def test_patterns_are_counted_as_a_tally_would(domain):
    rng = np.random.default_rng(domain)
    records, _, _ = records_of(rng, (axis_of("a", domain, 2, 0.5),) * 3, 300)
    slow = Counter(zip(*(column.set_of.tolist() for column in records.cells), strict=True))
    patterns = records.patterns
    assert [tuple(pattern) for pattern in patterns.sets.tolist()] == sorted(slow)
    assert patterns.weight.tolist() == [slow[pattern] for pattern in sorted(slow)]


def test_mixing_axis_by_axis_is_the_product_with_the_whole_matrix():
    table = np.random.default_rng(2).random((4, 5, 3))
    assert mixed(table, shown(AXES)).ravel() == pytest.approx(dense(AXES) @ table.ravel())
    assert unmixed(mixed(table, shown(AXES)), AXES).ravel() == pytest.approx(table.ravel())


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_the_published_estimator_is_the_literal_one_step_for_step(steps):
    records, _, _ = records_of(np.random.default_rng(3), AXES[:2], 500)
    found = Paper(tolerance=0, most=steps).estimate(records, 1e9)
    delta = dense(AXES[:2])
    seen = np.maximum(records.seen.ravel(), 1e-9)
    x = seen.copy()
    for _ in range(steps):
        new = np.zeros_like(x)
        for alpha in range(x.size):
            for beta in range(x.size):
                new[alpha] += records.seen.ravel()[beta] * delta[alpha, beta] * x[alpha] / (delta[:, beta] @ x)
        x = new
    assert found.iterations == steps
    assert found.counts.ravel() == pytest.approx(x / (2 * 3), abs=1e-6)


def literal_likelihood(axes, sets):
    """The likelihood of each record's sets for each true combination, shape (records, cells)."""
    rows = []
    for row in zip(*sets, strict=True):
        likelihood = np.ones(1)
        for axis, chosen in zip(axes, row, strict=True):
            inside = axis.g[0] / math.comb(axis.d - 1, axis.eta - 1)
            outside = (1 - axis.g[0]) / math.comb(axis.d - 1, axis.eta)
            likelihood = np.kron(likelihood, [inside if v in chosen else outside for v in range(axis.d)])
        rows.append(likelihood)
    return np.array(rows)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_a_step_on_whole_sets_is_the_literal_step(q):
    rng = np.random.default_rng(4)
    records, sets, _ = records_of(rng, AXES[:q], 120)
    likelihood = literal_likelihood(AXES[:q], sets)
    table = rng.random(records.shape)
    weighted = likelihood * table.ravel() / table.sum()
    expected = (weighted / weighted.sum(axis=1, keepdims=True)).sum(axis=0)
    found, log = Likelihood(records).step(table, records.patterns.weight)
    assert found.ravel() == pytest.approx(expected, rel=1e-12)
    other = rng.random(records.shape)
    slow = [np.log(likelihood @ (t / t.sum()).ravel()).sum() for t in (table, other)]
    quick = [log, Likelihood(records).log(other, records.patterns.weight)]
    assert quick[0] - quick[1] == pytest.approx(slow[0] - slow[1])


@pytest.mark.slow
def test_maximum_likelihood_is_where_the_literal_steps_end():
    rng = np.random.default_rng(5)
    records, sets, _ = records_of(rng, AXES[:2], 300)
    likelihood = literal_likelihood(AXES[:2], sets)
    x = np.full(20, 15.0)
    for _ in range(20_000):
        weighted = likelihood * x
        x = (weighted / weighted.sum(axis=1, keepdims=True)).sum(axis=0)
    found = Mle(tolerance=1e-9).estimate(records, 1e12)
    assert found.counts.ravel() == pytest.approx(x, abs=0.2)


def test_value_adding_is_the_published_formula():
    records, _, _ = records_of(np.random.default_rng(6), AXES[:2], 200)
    inside = AXES[0].g[0] * AXES[1].g[0]
    seen = records.seen
    expected = seen * inside / 6 + (200 - seen) * (1 - inside) / (20 - 6)
    assert ValueAdding().estimate(records, 1e9).counts == pytest.approx(expected)


def test_the_nearest_possible_table_is_the_nearest():
    rng = np.random.default_rng(7)
    for _ in range(20):
        table = rng.normal(1, 3, 6)
        found = onto_simplex(table, 6.0)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(6)
        others = rng.dirichlet(np.ones(6), 2000) * 6
        assert ((others - table) ** 2).sum(axis=1).min() >= ((found - table) ** 2).sum() - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("q", [1, 2, 3])
def test_every_estimate_is_possible_and_nearer_than_knowing_nothing(name, q):
    rng = np.random.default_rng(8)
    shares = rng.dirichlet(np.full(math.prod(axis.d for axis in AXES[:q]), 0.3))
    records, _, truth = records_of(rng, AXES[:q], 4000, shares)
    found = ESTIMATORS[name]().estimate(records, 2e9)
    assert found.counts.min() >= 0
    assert found.counts.sum() == pytest.approx(4000, rel=1e-6)
    even = np.abs(truth - 4000 / truth.size).sum()
    assert np.abs(found.counts - truth).sum() < (0.99 if name == "value-adding" else 0.6) * even


def test_values_of_groups_share_their_records_and_the_error_counts_all_combinations_that_do():
    first, second = (Axis(name, tuple("abcde"[:d]), eta=3, grouped=True) for name, d in (("x", 5), ("y", 3)))
    of_first = Cells(first, np.array([0, 0, 1], np.int32), np.array([0, 2, 5]), np.arange(5))  # ab, cde
    of_second = Cells(second, np.array([0, 1, 1], np.int32), np.array([0, 1, 3]), np.arange(3))  # a, bc

    found = ValueAdding().estimate(Records((of_first, of_second), 3), 1e9)

    fourth, sixth = 1 / 4, 1 / 6
    assert found.counts == pytest.approx(
        np.array([[1 / 2, fourth, fourth]] * 2 + [[0, sixth, sixth]] * 3),
    )
    assert found.drawn == pytest.approx(np.array([[1 / 2, 3 / 4, 3 / 4]] * 2 + [[0, 5 / 6, 5 / 6]] * 3))


def test_the_command_names_every_estimator():
    options = {parameter.name: parameter for parameter in get_command(app).commands["reconstruct"].params}

    assert all(re.search(rf"\b{name}\b", options["method"].help) for name in ESTIMATORS)


def test_ordinary_columns_are_exact_and_need_no_steps():
    rng = np.random.default_rng(9)
    axis = Axis("z", ("u", "v", "w"))
    codes = rng.integers(0, 3, 500).astype(np.int32)
    records = Records((Cells.of_values(axis, codes),), 500)
    for estimator in (Auto(), Inverse(), Mle()):
        assert estimator.estimate(records, 1e9).counts == pytest.approx(np.bincount(codes), abs=1e-6)
    assert error_of(records.seen, records.axes) == pytest.approx(np.zeros(3))
    assert expected_l2(records.axes, 500) == 0


def test_beyond_the_budget_auto_works_on_counts_and_mle_says_why_not():
    records, _, truth = records_of(np.random.default_rng(10), AXES, 3000)
    cheap = Auto().estimate(records, 1.0)
    assert set(cheap.facts["tables"]) == {"discrepancy"}
    assert cheap.facts["work"] == 0
    assert np.abs(cheap.counts - truth).sum() < 3000
    assert "held out" in Auto().estimate(records, 2e9).facts["tables"]
    with pytest.raises(DataError, match="budget"):
        Mle().estimate(records, 1.0)


@pytest.mark.slow
def test_the_discrepancy_rule_accepts_the_truth_and_not_a_wrong_table():
    records, _, truth = records_of(np.random.default_rng(11), AXES[:2], 20_000)
    assert within_noise(truth.astype(float), records.seen, records.axes, part=4)
    assert not within_noise(np.full(truth.shape, 1000.0), records.seen, records.axes)
    better = bayes_step(np.full(truth.shape, 1000.0), records.seen, records.axes)
    assert better.sum() == pytest.approx(20_000)


@pytest.mark.parametrize("make", [lambda: Paper(tolerance=2), lambda: Paper(most=0), lambda: Auto(seed=-1)])
def test_options_out_of_range_are_refused(make):
    with pytest.raises(PolicyError):
        make()
