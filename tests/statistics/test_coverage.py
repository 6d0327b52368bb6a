"""Standard errors cover at the stated rate, and expected errors are what comes out on average."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.anonymizers import pram
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.pram import Matrix, rounded_shares
from sfumato.anonymizers.randomization import draw
from sfumato.anonymizers.randomization.parameters import Parameters
from sfumato.data.bit_sets import BitSets
from sfumato.data.keystream import seeded_keys
from sfumato.data.schema import Role
from sfumato.estimators import ESTIMATORS, Axis, Query
from sfumato.estimators.kronecker import unmixed
from sfumato.estimators.records import Cells, Records

RUNS, ROWS = 60, 4000


def axis_of(name, d, eta, p):
    return Axis(name, tuple(f"{name}{place}" for place in range(d)), eta, p)


def query_of(axes, values, keys, place):
    cells = []
    for axis, own in zip(axes, values, strict=True):
        if axis.shares is not None:
            matrix = Matrix(Fraction(str(axis.p)), np.rint(10_000 * np.array(axis.shares)).astype(np.int64))
            shown = pram.draw(own.astype(np.int32), np.arange(axis.d, dtype=np.int32), matrix, keys, place)
            cells.append(Cells.of_values(axis, shown))
            continue
        parameters = Parameters(axis.d, axis.eta, Fraction(str(axis.p)))
        packed = draw(own.astype(np.int32), np.arange(axis.d, dtype=np.int32), parameters, keys, place)
        column = BitSets(name=axis.name, role=Role.OTHER, packed=packed, labels=axis.labels)
        cells.append(Cells.of_sets(axis, column))
    return Query(Records(tuple(cells), ROWS), {}, tuple(axis.name for axis in axes))


def replaced(name, d, p):
    return replace(axis_of(name, d, 1, p), shares=(1 / d,) * d)


def invariant(axis, values):
    """Return a column of drawn values with the shares that its matrix would have."""
    units = rounded_shares(np.bincount(values, minlength=axis.d))
    return replace(axis, shares=tuple((units / units.sum()).tolist()))


CASES = {
    "l": (axis_of("a", 6, 3, 1.0), axis_of("b", 5, 2, 1.0)),
    "t": (axis_of("a", 6, 2, 0.5), axis_of("b", 4, 1, 0.7)),
    "one": (axis_of("a", 9, 4, 0.6),),
    "pram": (replaced("a", 4, 0.5), replaced("b", 5, 0.6)),
    "one value": (replaced("a", 7, 0.3),),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_and_errors_are_as_expected(case):
    axes = CASES[case]
    rng = np.random.default_rng(3)
    shape = tuple(axis.d for axis in axes)
    cell = rng.choice(math.prod(shape), ROWS, p=rng.dirichlet(np.full(math.prod(shape), 0.7)))
    values = np.unravel_index(cell, shape)
    axes = tuple(axis if axis.shares is None else invariant(axis, own) for axis, own in zip(axes, values, strict=True))
    truth = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    covered = dict.fromkeys(ESTIMATORS, 0.0)
    unbiased, squares = np.zeros(shape), []
    keys = seeded_keys(np.random.default_rng(4))
    place = Workplace(threads=1)
    for _ in range(RUNS):
        question = query_of(axes, values, keys, place)
        raw = unmixed(question.records.seen, axes)
        unbiased += (np.abs(raw - truth) <= 1.96 * question.estimate(ESTIMATORS["inverse"]()).std_error) / RUNS
        squares.append(((raw - truth) ** 2).sum() / ROWS**2)
        for name, make in ESTIMATORS.items():
            answer = question.estimate(make())
            low, high = answer.interval()
            covered[name] += ((low <= truth) & (truth <= high)).mean() / RUNS
    # Before it is moved to the nearest possible table, the inverse has exactly these errors.
    assert 0.92 < unbiased.mean() < 0.975
    for name, rate in covered.items():
        assert rate > 0.93, name
    expected = question.expectation().l2
    assert math.sqrt(np.mean(squares)) == pytest.approx(expected, rel=0.1)
