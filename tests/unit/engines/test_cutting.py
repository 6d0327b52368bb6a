"""Where a table is cut into regions: few cuts, through few of the sample's classes, and none that cannot be met."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engines.cutting import Cut, Regions, Sample, SampledClasses, best_cuts, cut_up, joined_failing, mixed

SIZES = (40, 30, 20)


def table(rows: int, seed: int = 3):
    rng = np.random.default_rng(seed)
    codes = np.unique(np.stack([rng.integers(0, size, rows) for size in SIZES], axis=1).astype(np.int32), axis=0)
    return codes, rng.integers(1, 5, len(codes))


def test_equal_rows_have_equal_numbers_and_others_look_like_chance():
    codes, _ = table(5000)
    number = mixed(codes)
    assert np.array_equal(number, mixed(codes.copy()))
    assert np.unique(number).size == len(codes)
    assert np.mean(number < 2**63) == pytest.approx(0.5, abs=0.05)


def test_a_sample_is_the_same_however_the_table_lies_in_parts():
    codes, weight = table(3000)
    whole = Sample.of(codes, weight, 200)
    rng = np.random.default_rng(1)
    for parts in (1, 4, 9):
        part_of = rng.integers(0, parts, len(codes))
        found = Sample(np.empty((0, 3), dtype=np.int32), np.empty(0, dtype=np.int64), 200)
        for part in range(parts):
            rows = part_of == part
            half = weight[rows] // 2  # the same row in two parts
            for share in (half, weight[rows] - half):
                some = share > 0
                found = found.with_more(Sample.of(codes[rows][some], share[some], 200), SIZES)
        order = np.lexsort(found.codes.T), np.lexsort(whole.codes.T)
        assert np.array_equal(found.codes[order[0]], whole.codes[order[1]])
        assert np.array_equal(found.weight[order[0]], whole.weight[order[1]])


def test_how_many_distinct_rows_there_are_is_estimated_or_counted():
    codes, weight = table(9000)
    assert Sample.of(codes, weight, 500).distinct == pytest.approx(len(codes), rel=0.15)
    assert Sample.of(codes, weight, 10**6).distinct == len(codes)


def divided(codes, class_of, count, cut):
    """Return how many people are in classes that a cut divides, by definition."""
    low = codes[:, cut.column] < cut.bound
    return sum(
        int(count[class_of == each].sum())
        for each in np.unique(class_of)
        if low[class_of == each].any() and not low[class_of == each].all()
    )


def test_the_first_cut_divides_the_fewest_people_of_all_that_leave_enough_on_both_sides():
    rng = np.random.default_rng(8)
    for _ in range(20):
        codes = np.unique(rng.integers(0, 6, (40, 2)).astype(np.int32), axis=0)
        weight = rng.integers(1, 4, len(codes))
        class_of = rng.integers(0, 8, len(codes))
        sample = Sample(codes, weight)
        everybody = np.ones(len(codes), dtype=np.bool_)
        cuts = best_cuts(sample, SampledClasses(class_of, np.arange(len(codes)), weight), (0, 1), everybody, 10)
        possible = [
            Cut(column, bound)
            for column in (0, 1)
            for bound in range(1, 6)
            if min((codes[:, column] < bound).sum(), (codes[:, column] >= bound).sum()) >= 5
        ]
        assert cuts[0].crossing == min(divided(codes, class_of, weight, cut) for cut in possible)
        assert all(cut.crossing == divided(codes, class_of, weight, cut) for cut in cuts)


def everything_is_met(regions, cuts):
    return {node: [True] * len(found) for node, found in cuts.items()}


def test_no_region_has_more_rows_than_it_may_and_there_are_few():
    codes, weight = table(2000)
    sample = Sample.of(codes, weight)
    classes = SampledClasses(np.arange(len(sample.codes)) // 7, np.arange(len(sample.codes)), sample.weight)
    regions = cut_up(sample, classes, (0, 1, 2), 300, everything_is_met)
    sizes = np.bincount(regions.numbers(sample.codes))
    assert sizes.max() <= 300
    assert len(sizes) <= 2 * -(-len(codes) // 300)


def test_a_cut_that_cannot_be_met_is_not_made():
    codes, weight = table(500)
    sample = Sample.of(codes, weight)
    classes = SampledClasses(np.arange(len(codes)) // 7, np.arange(len(codes)), sample.weight)
    regions = cut_up(
        sample, classes, (0, 1, 2), 100, lambda _, cuts: {node: [False] * len(cuts[node]) for node in cuts}
    )
    assert regions == Regions()


def test_a_region_that_fails_is_joined_with_what_it_was_cut_from():
    regions = Regions().cut(0, Cut(0, 5)).cut(2, Cut(1, 3))
    codes = np.array([[1, 1], [7, 1], [7, 9]], dtype=np.int32)
    assert regions.numbers(codes).tolist() == [0, 1, 2]
    assert joined_failing(regions, [2]).numbers(codes).tolist() == [0, 1, 1]
    assert joined_failing(regions, [0]).numbers(codes).tolist() == [0, 0, 0]
