"""The law of post randomization: every value as likely as its row of the matrix says, and counts that stay in place."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.pram import Matrix, draw, rounded_shares
from sfumato.data import keystream
from sfumato.data.keystream import seeded_keys, system_keys

N = 40_000
UNITS = {"few": [5000, 3000, 1500, 500], "rare": [9990, 9, 1, 0], "many": [100] * 100}


def drawn(units, p, value, n=N, keys=None):
    matrix = Matrix(Fraction(str(p)), np.array(units))
    keys = keys or seeded_keys(np.random.default_rng(9))
    place_of = np.array([value], dtype=np.int32)
    return draw(np.zeros(n, dtype=np.int32), place_of, matrix, keys, Workplace(threads=2))


def row(units, p, value):
    """The row of a value: itself with probability p, else any by its share."""
    chance = (1 - p) * np.array(units) / sum(units)
    chance[value] += p
    return chance


def fits(shown, chance):
    found = np.bincount(shown, minlength=chance.size)
    possible = chance > 0
    return not found[~possible].any() and chisquare(found[possible], shown.size * chance[possible]).pvalue


@pytest.mark.parametrize("p", [0.0, 0.3, 0.85])
@pytest.mark.parametrize("units", UNITS)
def test_every_value_is_as_likely_as_its_row_says(units, p):
    assert fits(drawn(UNITS[units], p, 1), row(UNITS[units], p, 1)) > 1e-4


@pytest.mark.parametrize("units", ["few", "many"])
def test_a_law_that_is_thirty_percent_off_is_noticed(units):
    assert fits(drawn(UNITS[units], 0.39, 1), row(UNITS[units], 0.3, 1)) < 1e-6
    tilted = np.array(UNITS[units], dtype=float)
    tilted[0] *= 1.3
    tilted *= sum(UNITS[units]) / tilted.sum()
    if units == "few":
        assert fits(drawn(UNITS[units], 0.3, 1), row(tilted, 0.3, 1)) < 1e-6


def test_counts_stay_as_they_are_on_average():
    rng = np.random.default_rng(2)
    values = rng.choice(5, 6_000, p=[0.55, 0.25, 0.12, 0.06, 0.02]).astype(np.int32)
    counts = np.bincount(values, minlength=5)
    matrix, place = Matrix(Fraction("0.4"), rounded_shares(counts)), np.arange(5, dtype=np.int32)
    keys, runs = seeded_keys(np.random.default_rng(3)), 400
    shown = np.array([np.bincount(draw(values, place, matrix, keys, Workplace()), minlength=5) for _ in range(runs)])
    error = shown.std(axis=0) / np.sqrt(runs)
    assert (np.abs(shown.mean(axis=0) - counts) < 4.5 * error).all()
    # A matrix that is not invariant moves them, which the same test notices.
    even = Matrix(Fraction("0.4"), np.full(5, 2000))
    moved = np.array([np.bincount(draw(values, place, even, keys, Workplace()), minlength=5) for _ in range(20)])
    assert (np.abs(moved.mean(axis=0) - counts) > 4.5 * moved.std(axis=0) / np.sqrt(20)).any()


def test_keys_come_from_the_system_and_parts_of_rows_have_keys_of_their_own(monkeypatch):
    one, two = (drawn(UNITS["few"], 0.3, 1, 500, system_keys) for _ in range(2))
    assert not np.array_equal(one, two)
    monkeypatch.setattr(keystream, "ROWS", 100)
    parts = drawn(UNITS["few"], 0.3, 1, 200)
    assert not np.array_equal(parts[:100], parts[100:])
