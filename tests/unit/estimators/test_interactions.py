"""Dependence of two randomized columns: exact where there is no noise, none where there is nothing but noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.bit_sets import BitSets, bit_sets_of
from sfumato.data.schema import Role
from sfumato.estimators import Auto, Axis
from sfumato.estimators.interactions import Dependence, shrunk
from sfumato.estimators.records import Cells, Records

AXES = (Axis("a", ("a0", "a1", "a2"), 2, 0.5), Axis("b", ("b0", "b1", "b2", "b3"), 1, 0.5))
TRUTH = np.array([[50, 10, 10, 30], [5, 60, 5, 10], [20, 20, 70, 10]])


def every_cell(axis):
    """All cells that a column may show, and the probability of each for each true value, by the definition."""
    sets = list(combinations(range(axis.d), axis.eta))
    chance = np.zeros((axis.d, len(sets)))
    for value, (place, shown) in product(range(axis.d), enumerate(sets)):
        holding = sum(value in each for each in sets)
        chance[value, place] = axis.p * (value in shown) / holding + (1 - axis.p) / len(sets)
    return sets, chance


def expected_records(axes, truth, times):
    """One weighted record for each combination of cells, as often as the truth lets expect."""
    (first, left), (second, right) = (every_cell(axis) for axis in axes)
    weights = np.rint(times * left.T @ truth @ right).astype(np.int64).ravel()
    rows = np.indices((len(first), len(second))).reshape(2, -1).astype(np.int32)
    cells = []
    for axis, sets, row in zip(axes, (first, second), rows, strict=True):
        start = np.arange(len(sets) + 1, dtype=np.int64) * axis.eta
        packed = bit_sets_of(np.array(sets, dtype=np.int32).ravel(), start, axis.d)
        column = BitSets(name=axis.name, role=Role.OTHER, packed=packed, labels=axis.labels)
        cells.append(Cells.of_sets(axis, column.take(row)))
    return Records(tuple(cells), int(weights.sum()), weights)


def test_what_is_expected_of_records_gives_back_the_true_table():
    records = expected_records(AXES, TRUTH, 10**9)
    shares = TRUTH / TRUTH.sum()
    dependence = Dependence(records, (shares.sum(axis=1), shares.sum(axis=0)))
    table, told = dependence.estimate(records.patterns.weight)
    assert told
    assert table == pytest.approx(shares, abs=1e-6)


def test_independent_columns_show_no_dependence():
    truth = np.outer(TRUTH.sum(axis=1), TRUTH.sum(axis=0))
    records = expected_records(AXES, truth, 1000)
    shares = truth / truth.sum()
    table, told = Dependence(records, (shares.sum(axis=1), shares.sum(axis=0))).estimate(records.patterns.weight)
    assert not told
    assert table == pytest.approx(shares)


@pytest.mark.parametrize("shape", [(1, 1), (4, 9), (20, 40)])
def test_pure_noise_is_mostly_removed_and_a_strong_pattern_stays(shape):
    rng = np.random.default_rng(5)
    size = tuple(each + 1 for each in shape)
    centre = [np.eye(each) - 1 / each for each in size]
    noisy = [centre[0] @ rng.normal(0, 0.1, size) @ centre[1] for _ in range(200)]
    assert np.mean([shrunk(table, 0.1)[1] for table in noisy]) < 0.2
    pattern = np.outer(centre[0][0], centre[1][0]) * 20
    kept = [shrunk(pattern + table, 0.1) for table in noisy]
    assert all(told for _, told in kept)
    error = np.mean([np.linalg.norm(table - pattern) for table, _ in kept])
    assert error <= 1.05 * np.mean([np.linalg.norm(table) for table in noisy])


def people(rng, n, related):
    job = rng.choice(6, n, p=[0.35, 0.25, 0.15, 0.1, 0.1, 0.05])
    town = np.where(rng.random(n) < related, job % 5, rng.choice(5, n, p=[0.3, 0.25, 0.2, 0.15, 0.1]))
    return {"job": [f"j{code}" for code in job], "town": [f"t{code}" for code in town]}


def answer_of(table, anonymizer, t, seed):
    columns = {name: {"role": "sensitive-quasi-identifier", "domain": sorted(set(table[name]))} for name in table}
    require = [{"model": "sensitive-qid-closeness", "t": dict.fromkeys(table, t), "anonymizer": anonymizer}]
    plan = sf.Plan.from_dict({"columns": columns, "require": require})
    release = sf.anonymize(pa.table(table), plan, seed=seed, measure=False, attack=False).release
    return release, sf.reconstruct(release, ["job", "town"])


@pytest.mark.parametrize("anonymizer", ["randomization", "pram"])
def test_associated_columns_are_not_returned_as_independent(anonymizer):
    table = people(np.random.default_rng(1), 20_000, related=0.5)
    release, answer = answer_of(table, anonymizer, 0.3, seed=2)
    shape = answer.counts.shape
    codes = [[axis.labels.index(value) for value in table[axis.name]] for axis in answer.axes]
    truth = np.bincount(np.ravel_multi_index(codes, shape), minlength=answer.counts.size).reshape(shape)
    single = [sf.reconstruct(release, [name]).counts for name in table]
    independent = np.outer(*single) / 20_000
    assert np.abs(answer.counts - truth).sum() < np.abs(independent - truth).sum() / 2
    assert "untold" not in answer.facts
    for axis, alone in enumerate(single):
        assert answer.counts.sum(axis=1 - axis) == pytest.approx(alone, abs=1e-3)


def test_an_association_that_noise_hides_is_said_to_be_unknown():
    _, answer = answer_of(people(np.random.default_rng(3), 60_000, related=0.0), "randomization", 0.3, seed=4)
    assert answer.facts["untold"] == [["job", "town"]]
    assert answer.expected.outlook == "good"
    assert answer.outlook == "doubtful"
    assert "hides any association of job and town" in str(answer)


@pytest.mark.parametrize("anonymizer", ["randomization", "pram"])
def test_counts_on_the_public_grid_make_single_tables_more_precise(anonymizer):
    table = people(np.random.default_rng(6), 20_000, related=0.0)
    columns = {"job": {"role": "sensitive-quasi-identifier", "domain": sorted(set(table["job"]))}}
    require = [{"model": "sensitive-qid-closeness", "t": {"job": 0.1}, "anonymizer": anonymizer}]
    plan = sf.Plan.from_dict({"columns": columns, "require": require})
    truth = np.bincount([int(value[1:]) for value in table["job"]])
    errors = {"auto": 0.0, "mle": 0.0}
    for seed in range(5):
        release = sf.anonymize(pa.table({"job": table["job"]}), plan, seed=seed, measure=False, attack=False).release
        for method in errors:
            errors[method] += np.abs(sf.reconstruct(release, ["job"], method=method).counts - truth).sum()
    assert errors["auto"] < errors["mle"] / 2


def test_stated_counts_that_the_cells_contradict_are_not_used():
    rng = np.random.default_rng(6)
    grid = (30, 40, 104)  # steps of 173 rows
    axis = Axis("a", ("a0", "a1", "a2"), 1, 0.3, shares=(0.2, 0.3, 0.5), grid=grid)
    near = rng.choice(3, 30_000, p=np.array(grid) / sum(grid))
    for truth, used in ((near, True), (2 - near, False)):
        codes = np.where(rng.random(truth.size) < 0.3, truth, rng.choice(3, truth.size, p=axis.shares))
        records = Records((Cells.of_values(axis, codes.astype(np.int32)),), truth.size)
        without = replace(axis, grid=None)
        plain = Auto().estimate(Records((Cells.of_values(without, codes.astype(np.int32)),), truth.size), 1e9)
        assert np.allclose(Auto().estimate(records, 1e9).counts, plain.counts) == (not used)
