"""Removal of terms against exhaustive search on tiny groups, and the laws that hold for every answer."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sfumato.anonymizers.base import Deadline, Workplace
from sfumato.anonymizers.published.term_walks import solve_published
from sfumato.anonymizers.term_suppression import search as searching
from sfumato.anonymizers.term_suppression.hierarchical import make_tower, solve_tower
from sfumato.anonymizers.term_suppression.merging import Grove
from sfumato.anonymizers.term_suppression.records import code_records, estimate_prior
from sfumato.kernels.terms.subsets import (
    SMALL,
    closed_by_counting,
    closed_by_intersection,
    make_subsets,
    touch_rows,
)

POLICIES = ("linked", "zero", "forbid")


def coded(groups, rows, prior=None, unlinked="linked", likelihood=None, misses=0, worth=None, **more):
    """Return records, group order, group starts and a prior, for groups of sets of terms and rows of (label, terms)."""
    weights = None
    if likelihood is not None:
        weights = [likelihood[label, term] for label, terms in sorted(rows) for term in sorted(terms)]
    rows = sorted((label, tuple(sorted(terms))) for label, terms in rows)
    records = [sorted(terms) for group in groups for terms in group]
    n_terms = max((term for _, terms in rows for term in terms), default=0) + 1
    known = {term for _, terms in rows for term in terms}
    items = [term if term in known else -1 for terms in records for term in terms]
    start = np.cumsum([0, *map(len, records)])
    row_start = np.cumsum([0, *(len(terms) for _, terms in rows)])
    row_terms = np.array([term for _, terms in rows for term in terms], dtype=np.int32)
    label_of_row = np.array([label for label, _ in rows], dtype=np.int32)
    n_labels = len({label for label, _ in rows})
    table = code_records(
        start,
        np.array(items, dtype=np.int32),
        row_start,
        row_terms,
        label_of_row,
        n_terms,
        n_labels,
        weights,
        misses,
        worth=None if worth is None else [worth[term] for term in range(n_terms)],
        **more,
    )
    if prior is None:
        prior = estimate_prior(table, unlinked)
    group_start = np.cumsum([0, *map(len, groups)])
    return table, np.arange(len(records)), group_start, prior


def belief_of(group, rows, n_labels, likelihood=None, misses=0):
    """Return the mass of each label, and how many records are linked, in exact fractions."""
    mass, linked = [Fraction(0)] * n_labels, 0
    for terms in group:
        labels = {label for label, row in rows if set(terms) <= set(row)}
        if misses and not labels and set(terms) <= {term for _, row in rows for term in row}:
            labels = {label for label, row in rows if len(set(terms) - set(row)) == 1}
        linked += bool(labels)
        # A term that a label lacks was overlooked: it counts 1.
        weight = {label: math.prod((likelihood or {}).get((label, term), 1) for term in terms) for label in labels}
        for label in labels:
            mass[label] += Fraction(weight[label], sum(weight.values()))
    return mass, linked


def is_safe(group, rows, n_labels, prior, unlinked, t, c, l, likelihood=None, misses=0):
    mass, linked = belief_of(group, rows, n_labels, likelihood, misses)
    if unlinked == "forbid" and linked < len(group):
        return False
    if linked == 0:
        return True
    m = linked if unlinked == "linked" else len(group)
    if t is not None and np.sqrt(sum((float(p) / m - q) ** 2 for p, q in zip(mass, prior, strict=True))) > t + 5e-10:
        return False
    if l:
        p = sorted((q for q in mass if q), reverse=True)
        return p[0] <= c * sum(p[l - 1 :])
    return True


def harmonic(n):
    return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


def price(terms, kept, worth):
    """What a record loses: by harmonic numbers, or what each lost term is worth."""
    if worth is None:
        return harmonic(len(terms)) - harmonic(len(kept))
    return sum(worth.get(term, 1) for term in set(terms) - set(kept))


def cheapest(group, rows, n_labels, prior, unlinked, t, c, l, likelihood=None, misses=0, worth=None):
    """Return the least cost over all subsets of all records, None when nothing is safe."""
    subsets = [
        [kept for size in range(len(terms) + 1) for kept in itertools.combinations(sorted(terms), size)]
        for terms in group
    ]
    choices = sorted(
        itertools.product(*subsets),
        key=lambda choice: sum(price(a, b, worth) for a, b in zip(group, choice, strict=True)),
    )
    for choice in choices:
        if is_safe(choice, rows, n_labels, prior, unlinked, t, c, l, likelihood, misses):
            return sum(price(a, b, worth) for a, b in zip(group, choice, strict=True))
    return None


def random_case(seed):
    """Return a tiny group, a knowledge table, a prior or None, and what is required."""
    rng = np.random.default_rng(seed)
    n_labels, n_terms = int(rng.integers(2, 7)), int(rng.integers(2, 6))
    rows = [(label, rng.permutation(n_terms)[: rng.integers(0, n_terms + 1)]) for label in range(n_labels)]
    rows += [(int(rng.integers(n_labels)), rng.permutation(n_terms)[:2]) for _ in range(rng.integers(0, 3))]
    rows = [(label, tuple(sorted(map(int, terms)))) for label, terms in rows]
    group = []
    for _ in range(rng.integers(1, 4)):
        source = rows[rng.integers(len(rows))][1] if rng.random() < 0.7 else tuple(range(n_terms))
        terms = set(source[: rng.integers(0, 4)])
        if rng.random() < 0.2:
            terms.add(n_terms + int(rng.integers(3)))  # a term that nobody knows
        group.append(tuple(sorted(terms)))
    prior = rng.dirichlet(np.full(n_labels, 0.6)) if rng.random() < 0.7 else np.full(n_labels, 1 / n_labels)
    t = float(rng.choice([0.1, 0.2, 0.3, 0.4, 0.6])) if rng.random() < 0.6 else None
    c, l = Fraction(1), 0
    if t is None or rng.random() < 0.3:
        c, l = Fraction(int(rng.integers(1, 5)), 2), int(rng.integers(1, 4))
    return [group], rows, n_labels, prior, t, c, l


@pytest.mark.slow
@pytest.mark.parametrize("unlinked", POLICIES)
def test_exact_search_costs_what_exhaustive_search_costs(unlinked):
    for seed in range(300):
        groups, rows, n_labels, prior, t, c, l = random_case(seed)
        table, order, start, prior = coded(groups, rows, prior)
        requirement = searching.make_requirement(prior, unlinked, t=t, c=c if l else None, l=l)
        found = searching.solve_all(table, order, start, prior, requirement)
        least = cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l)
        assert found.proven[0], seed
        if least is None:
            assert found.status[0] == searching.UNREACHABLE, seed
        else:
            assert found.status[0] != searching.UNREACHABLE, seed
            assert Fraction(int(found.cost[0]), table.unit) == least, seed
            keep = searching.kept_items(table, found)
            published = [
                [term for term, kept in zip(terms, keep[table.start[i] : table.start[i + 1]], strict=True) if kept]
                for i, terms in enumerate(groups[0])
            ]
            assert is_safe(published, rows, n_labels, prior, unlinked, t, c, l), seed


@pytest.mark.slow
@pytest.mark.parametrize("unlinked", POLICIES)
def test_weighed_labels_are_searched_exactly_too(unlinked):
    """Few weights, so that labels tie; every subset tells something else, so all of them are looked at."""
    unlike = 0
    for seed in range(60):
        groups, rows, n_labels, prior, t, c, l = random_case(seed)
        rows = [
            (label, tuple({term for other, terms in rows if other == label for term in terms}))
            for label in range(n_labels)
        ]
        rng = np.random.default_rng(seed)
        pairs = [(label, term) for label, terms in rows for term in terms]
        likelihood = {pair: Fraction(int(rng.choice([1, 2, 4])), 4) for pair in pairs}
        table, order, start, prior = coded(groups, rows, prior, likelihood=likelihood)
        requirement = searching.make_requirement(prior, unlinked, t=t, c=c if l else None, l=l)
        found = searching.solve_all(table, order, start, prior, requirement)
        least = cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l, likelihood)
        assert found.proven[0], seed
        assert (found.status[0] == searching.UNREACHABLE) == (least is None), seed
        if least is not None:
            assert Fraction(int(found.cost[0]), table.unit) == least, seed
            after = published(table, found)
            unknown = [sum(term >= 0 for term in terms) for terms in after] == [len(terms) for terms in after]
            assert not unknown or is_safe(after, rows, n_labels, prior, unlinked, t, c, l, likelihood), seed
        unlike += least != cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l)
    assert unlike > 3


@pytest.mark.slow
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("unlinked", POLICIES)
def test_an_intruder_who_overlooks_a_term_is_searched_exactly_too(unlinked, weighed):
    unlike = 0
    for seed in range(60):
        groups, rows, n_labels, prior, t, c, l = random_case(seed)
        likelihood = None
        if weighed:
            rows = [
                (label, tuple({term for other, terms in rows if other == label for term in terms}))
                for label in range(n_labels)
            ]
            parts = np.random.default_rng(seed + 1000)
            likelihood = {
                (label, term): Fraction(int(parts.choice([1, 2, 4])), 4) for label, terms in rows for term in terms
            }
        known = sorted({term for _, row in rows for term in row})
        rng = np.random.default_rng(seed)
        groups = [[tuple(sorted({*terms, *rng.permutation(known)[:2].tolist()})) for terms in groups[0]]]
        table, order, start, prior = coded(groups, rows, prior, likelihood=likelihood, misses=1)
        requirement = searching.make_requirement(prior, unlinked, t=t, c=c if l else None, l=l)
        found = searching.solve_all(table, order, start, prior, requirement)
        least = cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l, likelihood, misses=1)
        assert found.proven[0], seed
        assert (found.status[0] == searching.UNREACHABLE) == (least is None), seed
        if least is not None:
            assert Fraction(int(found.cost[0]), table.unit) == least, seed
        unlike += least != cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l, likelihood)
    assert unlike > (0 if weighed else 3)


@pytest.mark.slow
@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("unlinked", POLICIES)
def test_other_costs_are_searched_exactly_too(unlinked, counted):
    unlike = 0
    for seed in range(50):
        groups, rows, n_labels, prior, t, c, l = random_case(seed)
        rng = np.random.default_rng(seed)
        worth = {term: Fraction(int(rng.integers(1, 9)), 2) for term in range(12)}
        asked = {"cost": "count"} if counted else {"worth": worth}
        table, order, start, prior = coded(groups, rows, prior, **asked)
        requirement = searching.make_requirement(prior, unlinked, t=t, c=c if l else None, l=l)
        found = searching.solve_all(table, order, start, prior, requirement)
        known = {term for _, row in rows for term in row}
        priced = {term: worth[term] if not counted and term in known else 1 for term in range(12)}
        least = cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l, worth=priced)
        assert found.proven[0], seed
        assert (found.status[0] == searching.UNREACHABLE) == (least is None), seed
        assert int(found.total[0]) == sum(priced[term] for terms in groups[0] for term in terms) * table.unit
        if least is not None:
            assert Fraction(int(found.cost[0]), table.unit) == least, seed
        unlike += least != cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l)
    assert unlike > 3


def moved(mass, prior, levels):
    """The least way that turns one belief into another; the way of two labels is the levels at which they part."""
    height = len(levels)
    way = [
        [sum(level[a] != level[b] for level in levels) / height for b in range(len(prior))] for a in range(len(prior))
    ]
    labels = range(len(prior))
    leaves = [[float(a == place) for a in labels for b in labels] for place in labels]
    arrives = [[float(b == place) for a in labels for b in labels] for place in labels]
    both, given = np.array([*leaves, *arrives]), np.array([*mass, *prior])
    return linprog(np.ravel(way), A_eq=both, b_eq=given, method="highs").fun


def cheapest_over(group, rows, n_labels, prior, unlinked, t, levels):
    """Return the least cost over all subsets by the earth mover's distance, None when nothing is safe."""
    subsets = [[k for n in range(len(terms) + 1) for k in itertools.combinations(terms, n)] for terms in group]
    lost = {choice: sum(map(price, group, choice, itertools.repeat(None))) for choice in itertools.product(*subsets)}
    for choice in sorted(lost, key=lost.get):
        mass, linked = belief_of(choice, rows, n_labels)
        if unlinked == "forbid" and linked < len(group):
            continue
        if not linked or moved([float(each) / linked for each in mass], prior, levels) <= t + 5e-10:
            return lost[choice]
    return None


@pytest.mark.slow
@pytest.mark.parametrize("unlinked", ["linked", "forbid"])
def test_closeness_over_a_hierarchy_is_searched_exactly_too(unlinked):
    changed = 0
    for seed in range(45):
        groups, rows, n_labels, prior, t, _c, _l = random_case(seed)
        if t is None or sum(map(len, groups[0])) > 7:
            continue
        rng = np.random.default_rng(seed)
        above = rng.integers(0, 2, n_labels)
        levels = np.array([np.arange(n_labels), np.unique(above, return_inverse=True)[1]], dtype=np.int32)
        table, order, start, prior = coded(groups, rows, prior)
        tower = make_tower(levels, prior)
        found = solve_tower(
            *(table, order, start, unlinked, t + 4e-10, tower),
            nodes=searching.NODES,
            deadline=Deadline(),
            workplace=Workplace(),
            advance=lambda groups: None,
        )
        least = cheapest_over(groups[0], rows, n_labels, prior, unlinked, t, levels.tolist())
        assert found.proven[0], seed
        assert (found.status[0] == searching.UNREACHABLE) == (least is None), seed
        if least is not None:
            assert Fraction(int(found.cost[0]), table.unit) == least, seed
            changed += least > 0
    assert changed > 3


def plain_closed_sets(terms, rows):
    """Return what some rows have in common with the terms, for all choices of rows, with the plainest code."""
    masks = {frozenset(terms) & set(row) for row in rows}
    closed = set(masks)
    while True:
        more = closed | {a & b for a in closed for b in masks}
        if more == closed:
            return closed
        closed = more


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.sets(st.integers(0, 7), max_size=6), min_size=1, max_size=8),
    terms=st.sets(st.integers(0, 7), max_size=6),
)
def test_closed_sets_are_the_intersections_of_rows(rows, terms):
    table, *_ = coded([[terms]], list(enumerate([*rows, set(range(8))])))
    ordered = np.array(sorted(terms), dtype=np.int32)
    wanted = plain_closed_sets(terms, [*rows, set(range(8))])
    for function in (closed_by_counting, closed_by_intersection):
        subsets = make_subsets(len(rows) + 1, 1)
        touched = touch_rows(ordered, table.links, subsets)
        more = (np.bool_(False), 0) if function is closed_by_counting else ()
        n = function(len(terms), touched, *more, subsets)
        n = n if function is closed_by_counting else n[0]
        found = {
            frozenset(int(ordered[bit]) for bit in range(len(terms)) if subsets.bits[i, 0] >> bit & 1) for i in range(n)
        }
        assert found == wanted
        assert len(found) == n


def a_table(seed=3, n=300, n_labels=60, n_terms=30, noise=0.05):
    """Return records of groups of five, rows of a knowledge table and a shuffled copy of both."""
    rng = np.random.default_rng(seed)
    rows = [(label, tuple(rng.permutation(n_terms)[: rng.integers(4, 9)].tolist())) for label in range(n_labels)]
    records = []
    for _ in range(n):
        terms = set(rng.permutation(rows[rng.integers(n_labels)][1])[:5].tolist())
        if rng.random() < noise:
            terms.add(n_terms + 5)
        records.append(tuple(sorted(terms)))
    return [records[i : i + 5] for i in range(0, n, 5)], rows


def published(table, found):
    keep = searching.kept_items(table, found)
    return [
        tuple(table.term_of_item[low:high][keep[low:high]].tolist())
        for low, high in itertools.pairwise(table.start.tolist())
    ]


REQUIRED = [{"t": 0.25}, {"c": Fraction(1), "l": 6}, {"t": 0.35, "c": Fraction(1), "l": 4}]


@pytest.mark.slow
@pytest.mark.parametrize("required", REQUIRED)
@pytest.mark.parametrize("unlinked", POLICIES)
def test_terms_are_only_removed_and_every_group_is_safe(required, unlinked):
    groups, rows = a_table()
    table, order, start, prior = coded(groups, rows, unlinked=unlinked)
    found = searching.solve_all(table, order, start, prior, searching.make_requirement(prior, unlinked, **required))
    assert (found.status != searching.UNREACHABLE).all()
    assert (found.bound <= found.cost).all()
    assert ((found.bound == found.cost) | ~found.proven).all()
    keep = searching.kept_items(table, found)
    for number, group in enumerate(groups):
        after = []
        for i, terms in enumerate(group):
            kept = keep[table.start[5 * number + i] : table.start[5 * number + i + 1]]
            after.append([term for term, stays in zip(terms, kept, strict=True) if stays])
        asked = {"t": None, "c": Fraction(1), "l": 0} | required
        assert is_safe(after, rows, len(rows), prior, unlinked, **asked)
        price = sum(harmonic(len(a)) - harmonic(len(b)) for a, b in zip(group, after, strict=True))
        assert Fraction(int(found.cost[number]), table.unit) == price


@pytest.mark.slow
@pytest.mark.parametrize("required", REQUIRED)
def test_threads_and_the_order_of_records_and_rows_change_nothing(required):
    groups, rows = a_table(seed=5)
    table, order, start, prior = coded(groups, rows)
    requirement = searching.make_requirement(prior, "linked", **required)
    found = searching.solve_all(table, order, start, prior, requirement)
    two = searching.solve_all(table, order, start, prior, requirement, workplace=Workplace(threads=2))
    for one, other in zip(found, two, strict=True):
        assert np.array_equal(one, other)

    rng = np.random.default_rng(0)
    mixed = [[group[i] for i in rng.permutation(len(group))] for group in groups]
    table_2, order_2, start_2, prior_2 = coded(mixed, [rows[i] for i in rng.permutation(len(rows))])
    assert np.array_equal(prior, prior_2)
    shuffled = searching.solve_all(table_2, order_2, start_2, prior_2, requirement)
    assert np.array_equal(found.cost, shuffled.cost)
    first, second = published(table, found), published(table_2, shuffled)
    for i in range(0, len(first), 5):
        assert sorted(first[i : i + 5]) == sorted(second[i : i + 5])


def test_long_records_use_wider_masks_and_stay_safe():
    rng = np.random.default_rng(1)
    rows = [(label, tuple(rng.permutation(90)[:70].tolist())) for label in range(40)]
    groups = [
        [tuple(sorted(rng.permutation(rows[label][1])[:65].tolist())) for label in (3 * g, 3 * g + 1)] for g in range(4)
    ]
    table, order, start, prior = coded(groups, rows)
    assert table.words == 2
    for required in ({"t": 0.4}, {"c": Fraction(1), "l": 4}):
        found = searching.solve_all(table, order, start, prior, searching.make_requirement(prior, "linked", **required))
        assert (found.status == searching.SOLVED).all()
        after = published(table, found)
        for number in range(4):
            asked = {"t": None, "c": Fraction(1), "l": 0} | required
            assert is_safe(after[2 * number : 2 * number + 2], rows, 40, prior, "linked", **asked)


def test_more_than_fourteen_terms_are_solved_like_fewer():
    rng = np.random.default_rng(2)
    common = tuple(range(30, 40))  # in every row, so that keeping them tells nothing
    rows = [(label, (*rng.permutation(30)[:8].tolist(), *common)) for label in range(25)]
    short = [[tuple(sorted(rows[label][1][:6])) for label in (g, g + 1, g + 2)] for g in range(6)]
    long = [[tuple(sorted((*terms, *common))) for terms in group] for group in short]
    assert len(long[0][0]) > SMALL
    prior = np.full(25, 1 / 25)
    kept = []
    for groups in (short, long):
        table, order, start, _ = coded(groups, rows, prior)
        found = searching.solve_all(table, order, start, prior, searching.make_requirement(prior, "linked", t=0.3))
        assert found.proven.all()
        kept.append(published(table, found))
    assert all(set(common) <= set(terms) for terms in kept[1])


@pytest.mark.slow
def test_a_large_group_is_solved_safely():
    groups, rows = a_table(seed=7, n=400)
    whole = [[terms for group in groups for terms in group]]
    skewed = np.zeros(len(rows))
    skewed[:30] = 1 / 30
    table, order, start, _ = coded(whole, rows, skewed)
    for required in ({"t": 0.11}, {"c": Fraction(1, 8), "l": 40}):
        requirement = searching.make_requirement(skewed, "linked", **required)
        found = searching.solve_all(table, order, start, skewed, requirement)
        if found.status[0] != searching.UNREACHABLE:
            asked = {"t": None, "c": Fraction(1), "l": 0} | required
            assert is_safe(published(table, found), rows, len(rows), skewed, "linked", **asked)


def test_without_nodes_the_answer_is_still_safe():
    groups, rows = a_table(seed=8)
    table, order, start, prior = coded(groups, rows)
    for required in REQUIRED:
        requirement = searching.make_requirement(prior, "linked", **required)
        found = searching.solve_all(table, order, start, prior, requirement, nodes=0)
        best = searching.solve_all(table, order, start, prior, requirement)
        assert (found.cost >= best.cost).all()
        assert (found.bound <= best.cost).all()
        after = published(table, found)
        asked = {"t": None, "c": Fraction(1), "l": 0} | required
        for i in np.flatnonzero(found.status != searching.UNREACHABLE).tolist():
            assert is_safe(after[5 * i : 5 * i + 5], rows, len(rows), prior, "linked", **asked)


def planted(table, n, parent, prior, requirement):
    """Leaves of one record each."""
    return Grove.plant(
        table,
        np.arange(n),
        np.arange(n),
        parent,
        lambda order, start: searching.solve_all(table, order, start, prior, requirement),
    )


def test_groups_out_of_reach_are_merged_with_their_siblings():
    rows = [(0, (0,)), (1, (1,)), (2, (2,)), (3, (3,))]
    groups = [[(0,)], [(1,)], [(2,)], [(3,)]]
    prior = np.array([0.5, 0.5, 0.0, 0.0])
    table, _order, _start, _ = coded(groups, rows, prior)
    parent = np.array([4, 4, 5, 5, 6, 6, -1])
    requirement = searching.make_requirement(prior, "linked", t=0.2)
    grove = planted(table, 4, parent, prior, requirement)
    grove.merge_unreachable()
    # The first two leaves together are just the prior; the other two reach it neither alone nor together.
    assert grove.node_at.tolist() == [6, 6, 6, 6]
    assert grove.home.tolist() == [6]
    assert grove.found.status.tolist() == [searching.UNREACHABLE]
    grove = planted(table, 2, parent, prior, requirement)
    grove.merge_unreachable()
    assert grove.node_at.tolist() == [4, 4]
    assert (grove.found.status.tolist(), grove.found.cost.tolist()) == ([searching.UNCHANGED], [0])


def test_siblings_are_merged_where_the_union_loses_less():
    """Four records that point at one label each: two of them together are safe, one alone loses its term."""
    rows = [(label, (label,)) for label in range(4)]
    table, _order, _start, prior = coded([[(label,)] for label in range(4)], rows)
    parent = np.array([4, 4, 5, 5, 6, 6, -1])
    requirement = searching.make_requirement(prior, "linked", c=Fraction(1), l=2)
    loss = np.array([0.0, 0.0, 0.0, 0.0, 0.1, 0.6, 1.0])
    for weight, ended in ((0.0, [0, 1, 2, 3]), (1.0, [4, 4, 2, 3]), (4.0, [4, 4, 5, 5])):
        grove = planted(table, 4, parent, prior, requirement)
        assert grove.found.cost.tolist() == grove.found.total.tolist()
        grove.merge_cheaper(loss, weight)
        assert grove.node_at.tolist() == ended
        alone = np.array([node < 4 for node in grove.home])
        assert (grove.found.cost > 0).tolist() == alone.tolist()
        kept = searching.kept_items(table, grove.found)
        assert kept.tolist() == [node >= 4 for node in ended]


@pytest.mark.slow
def test_published_searches_are_safe_and_never_better():
    groups, rows = a_table(seed=9, n=50)
    table, order, start, prior = coded(groups, rows)
    for required in REQUIRED[:2]:
        requirement = searching.make_requirement(prior, "linked", **required)
        best = searching.solve_all(table, order, start, prior, requirement)
        for adaptive in (True, False):
            found = solve_published(table, order, start, prior, requirement, adaptive=adaptive, seconds=0.05)
            done = found.status != searching.UNREACHABLE
            assert done.any()
            assert (found.cost[done] >= best.cost[done]).all()
            after = published(table, found)
            asked = {"t": None, "c": Fraction(1), "l": 0} | required
            for i in np.flatnonzero(done).tolist():
                assert is_safe(after[5 * i : 5 * i + 5], rows, len(rows), prior, "linked", **asked)


def plain_walk(group, rows, n_labels, prior, t, c, l):
    """Depth-first search as in a textbook: the least cost and how many steps; a step follows, skips or leaves."""
    terms = [(i, term) for i, record in enumerate(group) for term in sorted(record)]
    least, steps = None, 0

    def visit(kept, cost, first):
        nonlocal least, steps
        for place in range(first, len(terms)):
            steps += 1
            i, term = terms[place]
            price = cost + Fraction(1, len(kept[i]))
            if least is not None and price >= least:
                continue
            fewer = [record - {term} if j == i else record for j, record in enumerate(kept)]
            if is_safe(fewer, rows, n_labels, prior, "linked", t, c, l):
                least = price
            else:
                visit(fewer, price, place + 1)
        steps += 1

    visit([frozenset(record) for record in group], Fraction(0), 0)
    return least, steps


def test_depth_first_search_is_plain():
    """No child is looked at before its turn, and none is put in order: the walk of a textbook, step by step."""
    walked = 0
    for seed in range(60):
        groups, rows, n_labels, prior, t, c, l = random_case(seed)
        known = {term for _, row in rows for term in row}
        if sum(map(len, groups[0])) > 8 or not set().union(*groups[0]) <= known:
            continue
        table, order, start, prior = coded(groups, rows, prior)
        requirement = searching.make_requirement(prior, "linked", t=t, c=c if l else None, l=l)
        found = solve_published(table, order, start, prior, requirement, adaptive=False, seconds=5.0)
        if is_safe(groups[0], rows, n_labels, prior, "linked", t, c, l):
            continue
        least, steps = plain_walk(groups[0], rows, n_labels, prior, t, c, l)
        assert found.nodes[0] == steps, seed
        assert (found.status[0] == searching.UNREACHABLE) == (least is None), seed
        if least is not None:
            assert Fraction(int(found.cost[0]), table.unit) == least, seed
        walked += 1
    assert walked > 10


@pytest.mark.parametrize("adaptive", [True, False])
def test_published_search_finishes_with_the_optimum_on_tiny_groups(adaptive):
    for seed in range(40):
        groups, rows, n_labels, prior, t, c, l = random_case(seed)
        if sum(map(len, groups[0])) > 8:
            continue
        table, order, start, prior = coded(groups, rows, prior)
        requirement = searching.make_requirement(prior, "linked", t=t, c=c if l else None, l=l)
        found = solve_published(table, order, start, prior, requirement, adaptive=adaptive, seconds=5.0)
        least = cheapest(groups[0], rows, n_labels, prior, "linked", t, c, l)
        assert found.proven[0]
        assert (found.status[0] == searching.UNREACHABLE) == (least is None), seed
        if least is not None:
            assert Fraction(int(found.cost[0]), table.unit) == least, seed


@pytest.mark.parametrize("unlinked", ["linked", "zero"])
def test_among_equal_costs_the_closest_choice_wins(unlinked):
    for seed in range(1000, 1080):
        groups, rows, n_labels, prior, t, _c, _l = random_case(seed)
        if t is None:
            continue
        table, order, start, prior = coded(groups, rows, prior)
        requirement = searching.make_requirement(prior, unlinked, t=t)
        found = searching.solve_all(table, order, start, prior, requirement)
        if found.status[0] != searching.SOLVED:
            continue
        group, nearest = groups[0], np.inf
        subsets = [[k for n in range(len(terms) + 1) for k in itertools.combinations(terms, n)] for terms in group]
        for choice in itertools.product(*subsets):
            price = sum(harmonic(len(a)) - harmonic(len(b)) for a, b in zip(group, choice, strict=True))
            mass, linked = belief_of(choice, rows, n_labels)
            if price * table.unit == int(found.cost[0]) and linked:
                m = linked if unlinked == "linked" else len(group)
                nearest = min(nearest, sum((float(p) / m - q) ** 2 for p, q in zip(mass, prior, strict=True)))
        assert found.distance[0] == pytest.approx(nearest, abs=1e-10), seed
