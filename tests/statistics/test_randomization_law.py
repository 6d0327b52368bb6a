"""The law of the sampler: every set as likely as it should be, and a law that is 30 % off is noticed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from sfumato.anonymizers import randomization
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.randomization import draw
from sfumato.anonymizers.randomization.parameters import Parameters
from sfumato.data.keystream import seeded_keys, system_keys

CASES = [(5, 2, 1.0), (5, 2, 0.4), (6, 5, 0.5), (7, 1, 0.3), (7, 4, 0.25), (3, 2, 1.0)]


def drawn(d, eta, p, n, value, keys=None):
    codes = np.zeros(n, dtype=np.int32)
    place_of = np.array([value], dtype=np.int32)
    keys = keys or seeded_keys(np.random.default_rng(9))
    return draw(codes, place_of, Parameters(d, eta, Fraction(str(p))), keys, Workplace(threads=2))


def law(d, eta, p, value):
    """How likely each set is: the true value shown with probability g, the others uniform."""
    g = p + (1 - p) * eta / d
    sets = [sum(1 << item for item in chosen) for chosen in combinations(range(d), eta)]
    inside, outside = math.comb(d - 1, eta - 1), math.comb(d - 1, eta)
    chance = [g / inside if members >> value & 1 else (1 - g) / outside for members in sets]
    return np.array(sets), np.array(chance)


def counted(packed, sets):
    return (packed.astype(np.int64).ravel()[:, None] == sets).sum(axis=0)


@pytest.mark.parametrize("by_tables", [True, False])
@pytest.mark.parametrize(("d", "eta", "p"), CASES)
def test_every_set_is_as_likely_as_it_should_be(d, eta, p, by_tables, monkeypatch):
    if not by_tables:
        monkeypatch.setattr(randomization, "SUBSETS", 0)
    n, value = 40_000, d // 2
    sets, chance = law(d, eta, p, value)
    found = counted(drawn(d, eta, p, n, value), sets)
    assert found.sum() == n
    possible = chance > 0
    assert not found[~possible].any()
    assert chisquare(found[possible], n * chance[possible]).pvalue > 1e-4


@pytest.mark.parametrize(("d", "eta", "p"), [(5, 2, 0.4), (7, 1, 0.3), (7, 4, 0.25)])
def test_a_law_that_is_thirty_percent_off_is_noticed(d, eta, p):
    n, value = 40_000, 1
    sets, chance = law(d, eta, p, value)
    assert chisquare(counted(drawn(d, eta, 1.3 * p, n, value), sets), n * chance).pvalue < 1e-6


@pytest.mark.parametrize(("d", "eta"), [(64, 30), (65, 3), (130, 128), (200, 100)])
def test_large_domains_show_each_value_as_often_as_they_should(d, eta):
    n, value, p = 6_000, d - 1, 0.5
    packed = drawn(d, eta, p, n, value)
    bits = np.unpackbits(packed.view(np.uint8), axis=1, bitorder="little")
    assert (bits[:, :d].sum(axis=1) == eta).all()
    assert not bits[:, d:].any()
    shown = bits[:, :d].sum(axis=0)
    g, h = p + (1 - p) * eta / d, p * (eta - 1) / (d - 1) + (1 - p) * eta / d
    expected = np.full(d, n * h)
    expected[value] = n * g
    spread = np.sqrt(np.maximum(expected * (1 - expected / n), 1))
    assert (np.abs(shown - expected) < 5 * spread).all()


def test_keys_come_from_the_system_and_never_repeat():
    assert len({system_keys() for _ in range(100)}) == 100
    one, two = (drawn(8, 3, 0.5, 500, 1, system_keys) for _ in range(2))
    assert not np.array_equal(one, two)
