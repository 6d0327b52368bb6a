"""Estimates of population uniques: against ARX's own figures for Adult, and against formulas solved slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.metrics.superpopulation import (
    COUNTED,
    PITMAN,
    SNB,
    ZAYATZ,
    Sizes,
    estimated_uniques,
    pitman_parameters,
    pitman_uniques,
    shlosser_classes,
    snb_uniques,
    zayatz_uniques,
)

# Adult, ARX's extract, nine quasi-identifiers: how many classes there are of each size.
ADULT = {
    1: 15512, 2: 2098, 3: 754, 4: 375, 5: 189, 6: 155, 7: 97, 8: 73, 9: 39, 10: 37, 11: 29, 12: 18, 13: 23, 14: 14,
    15: 15, 16: 9, 17: 11, 18: 10, 19: 10, 20: 5, 21: 3, 22: 4, 23: 3, 24: 2, 25: 1, 26: 3, 27: 5, 29: 1, 30: 2, 32: 1,
    34: 1, 35: 1, 36: 1, 45: 1,
}  # fmt: skip
ROWS = sum(size * count for size, count in ADULT.items())
sizes_of = st.lists(st.sampled_from([1, 1, 1, 2, 2, 3, 4, 7]), min_size=3, max_size=40)


def sizes(classes):
    return Sizes.of(np.array(classes, dtype=np.int64))


@pytest.fixture(scope="module")
def adult():
    return Sizes(np.array(list(ADULT)), np.array(list(ADULT.values())))


# ARX 3.9, TestRiskMetrics.testDecisionRule2: shares of the population, compared there with four decimals.


@pytest.mark.parametrize(("fraction", "share"), [(0.1, 0.27684993883653597), (0.01, 0.1446083531167384)])
def test_pitmans_model_on_adult_is_that_of_arx(adult, fraction, share):
    population = round(ROWS / fraction)
    found = estimated_uniques(adult, population)

    assert found.model == PITMAN
    assert found.people / population == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize(("fraction", "share"), [(0.1, 0.3207402393466189), (0.2, 0.3577099234829125)])
def test_zayatz_model_on_adult_is_that_of_arx(adult, fraction, share):
    population = round(ROWS / fraction)

    assert zayatz_uniques(adult, population) / population == pytest.approx(share, rel=1e-8)


def test_a_whole_population_is_counted_as_arx_does(adult):
    found = estimated_uniques(adult, ROWS)

    assert (found.model, found.people / ROWS) == (COUNTED, pytest.approx(0.5142895033485844, rel=1e-12))
    assert sum(ADULT.values()) / ROWS == pytest.approx(0.6465751607983555, rel=1e-12)  # its mean risk


def test_seven_different_rows_are_all_unique_as_in_arx():
    found = estimated_uniques(sizes([1] * 7), 35)  # TestRiskMetrics.testDecisionRule

    assert (found.model, found.people) == (ZAYATZ, 35.0)
    assert estimated_uniques(sizes([2, 2, 3]), 70).people == 0  # and after 2-anonymization


# The rule of Dankar et al.


def test_above_a_tenth_the_lower_estimate_is_taken(adult):
    found = estimated_uniques(adult, round(ROWS / 0.2))

    assert found.by_model[SNB] < found.by_model[ZAYATZ]
    assert (found.model, found.people) == (SNB, found.by_model[SNB])


def test_without_an_answer_zayatz_model_is_taken():
    found = estimated_uniques(sizes([1] * 30), 3_000)

    assert found.by_model[PITMAN] is None
    assert (found.model, found.people) == (ZAYATZ, found.by_model[ZAYATZ])


# The same equations, solved slowly.


@given(sizes_of)
@settings(max_examples=60, deadline=None)
def test_pitmans_parameters_make_plain_sums_vanish(classes):
    found = pitman_parameters(sizes(classes))

    if found is not None and found[1] > -50:  # below, people are spread evenly, and no sample tells how evenly
        theta, alpha = found
        n, u = sum(classes), len(classes)
        by_theta = sum(1 / (theta + i * alpha) for i in range(1, u)) - sum(1 / (theta + i) for i in range(1, n))
        by_alpha = sum(i / (theta + i * alpha) for i in range(1, u))
        by_alpha -= sum(1 / (j - alpha) for size in classes for j in range(1, size))
        assert abs(by_theta) < 1e-6 * max(1, u / abs(theta + alpha))
        assert abs(by_alpha) < 1e-5 * n * max(1, 1 / abs(alpha))


@pytest.mark.slow
def test_no_parameters_near_pitmans_are_likelier():
    classes = [1] * 30 + [2] * 8 + [3] * 4 + [6, 9]

    def likelihood(theta, alpha):
        n, u = sum(classes), len(classes)
        found = sum(math.log(theta + i * alpha) for i in range(1, u)) - sum(math.log(theta + i) for i in range(1, n))
        return found + sum(math.log(j - alpha) for size in classes for j in range(1, size))

    theta, alpha = pitman_parameters(sizes(classes))
    best = likelihood(theta, alpha)
    grid = [(t, a) for t in np.linspace(-0.05, 60, 120) for a in np.linspace(0.06, 0.99, 60)]
    assert best >= max(likelihood(t, a) for t, a in grid if t > -a) - 1e-9


@given(sizes_of, st.integers(2, 30))
@settings(max_examples=60, deadline=None)
def test_zayatz_model_is_its_formula_with_binomial_coefficients(classes, times):
    n, one = sum(classes), classes.count(1)
    population = times * n
    found = zayatz_uniques(sizes(classes), population)

    def shows_one(size):
        return math.comb(size, 1) * math.comb(population - size, n - 1) / math.comb(population, n)

    alone = one * shows_one(1) / sum(map(shows_one, classes)) if one else 0.0
    assert found == pytest.approx(min(one * alone * times, population), rel=1e-9)


def test_the_slide_model_has_the_samples_classes_of_one_and_two(adult):
    population = round(ROWS / 0.3)
    f, classes = 0.3, shlosser_classes(adult, ROWS / population)
    people = snb_uniques(adult, population)

    def expected(alpha, beta):
        """Sum over sizes of a class: one more than the negative binomial says, then drawn with chance f."""
        one = two = 0.0
        for more in range(400):
            log = math.lgamma(alpha + more) - math.lgamma(alpha) - math.lgamma(more + 1)
            chance = math.exp(log + alpha * math.log(beta) + more * math.log1p(-beta))
            size = more + 1
            one += chance * size * f * (1 - f) ** (size - 1)
            two += chance * math.comb(size, 2) * f**2 * (1 - f) ** (size - 2) if size > 1 else 0.0
        return classes * one, classes * two

    def off(beta):
        one, two = expected(math.log(people / classes) / math.log(beta), beta)  # people = classes * beta ** alpha
        return abs(one / ADULT[1] - 1) + abs(two / ADULT[2] - 1)

    near = min(np.linspace(0.1, 0.3, 101), key=off)
    assert off(min(np.linspace(near - 0.002, near + 0.002, 81), key=off)) < 1e-3


def test_estimates_come_near_the_truth_of_made_up_populations():
    rng = np.random.default_rng(4)
    off = []
    for _ in range(12):
        kinds = int(rng.integers(500, 4_000))
        people = rng.choice(kinds, 20_000, p=rng.dirichlet(np.full(kinds, 0.3)))
        truth = int((np.bincount(people) == 1).sum())
        shown = np.bincount(people[:6_000])
        off.append(estimated_uniques(sizes(shown[shown > 0]), 20_000).people / truth)
    assert 0.8 < float(np.median(off)) < 1.25


def test_a_small_sample_of_evenly_spread_people_is_not_taken_for_a_crowd_of_uniques():
    rng = np.random.default_rng(5)
    off = []
    for _ in range(12):
        people = rng.choice(3_000, 50_000, p=rng.dirichlet(np.full(3_000, 0.3)))  # Pitman's alpha is -0.3 there
        truth = int((np.bincount(people) == 1).sum())
        shown = np.bincount(people[:2_500])
        found = estimated_uniques(sizes(shown[shown > 0]), 50_000)
        assert (found.model, found.by_model[ZAYATZ] > 3 * truth) == (PITMAN, True)
        off.append(found.people / truth)
    assert 0.6 < float(np.median(off)) < 1.6


def test_pitman_never_has_more_uniques_than_people():
    found = pitman_uniques(sizes([1] * 50 + [2]), 60)

    assert found is None or found <= 60
