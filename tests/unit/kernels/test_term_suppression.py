"""Removal of terms against exhaustive search on tiny groups, and the laws that hold for every answer."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from sfumato.kernels import term_suppression as kernels

POLICIES = ("linked", "zero", "forbid")


def coded(groups, rows, prior=None, unlinked="linked"):
    """Return records, group order, group starts and a prior, for groups of sets of terms and rows of (label, terms)."""
    rows = sorted((label, tuple(sorted(terms))) for label, terms in rows)
    records = [sorted(terms) for group in groups for terms in group]
    n_terms = max((term for _, terms in rows for term in terms), default=0) + 1
    items = [term if term < n_terms else -1 for terms in records for term in terms]
    start = np.cumsum([0, *map(len, records)])
    row_start = np.cumsum([0, *(len(terms) for _, terms in rows)])
    row_terms = np.array([term for _, terms in rows for term in terms], dtype=np.int32)
    label_of_row = np.array([label for label, _ in rows], dtype=np.int32)
    n_labels = len({label for label, _ in rows})
    table = kernels.code_records(
        start, np.array(items, dtype=np.int32), row_start, row_terms, label_of_row, n_terms, n_labels
    )
    if prior is None:
        prior = kernels.estimate_prior(table, unlinked)
    group_start = np.cumsum([0, *map(len, groups)])
    return table, np.arange(len(records)), group_start, prior


def belief_of(group, rows, n_labels):
    """Return the mass of each label, and how many records are linked, in exact fractions."""
    mass, linked = [Fraction(0)] * n_labels, 0
    for terms in group:
        labels = {label for label, row in rows if set(terms) <= set(row)}
        linked += bool(labels)
        for label in labels:
            mass[label] += Fraction(1, len(labels))
    return mass, linked


def is_safe(group, rows, n_labels, prior, unlinked, t, c, l):
    mass, linked = belief_of(group, rows, n_labels)
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


def cheapest(group, rows, n_labels, prior, unlinked, t, c, l):
    """Return the least cost over all subsets of all records, None when nothing is safe."""
    subsets = [
        [kept for size in range(len(terms) + 1) for kept in itertools.combinations(sorted(terms), size)]
        for terms in group
    ]
    choices = sorted(
        itertools.product(*subsets),
        key=lambda choice: sum(harmonic(len(a)) - harmonic(len(b)) for a, b in zip(group, choice, strict=True)),
    )
    for choice in choices:
        if is_safe(choice, rows, n_labels, prior, unlinked, t, c, l):
            return sum(harmonic(len(a)) - harmonic(len(b)) for a, b in zip(group, choice, strict=True))
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


@pytest.mark.parametrize("unlinked", POLICIES)
def test_exact_search_costs_what_exhaustive_search_costs(unlinked):
    for seed in range(300):
        groups, rows, n_labels, prior, t, c, l = random_case(seed)
        table, order, start, prior = coded(groups, rows, prior)
        requirement = kernels.make_requirement(prior, unlinked, t=t, c=c if l else None, l=l)
        found = kernels.solve_all(table, order, start, prior, requirement)
        least = cheapest(groups[0], rows, n_labels, prior, unlinked, t, c, l)
        assert found.proven[0], seed
        if least is None:
            assert found.status[0] == kernels.UNREACHABLE, seed
        else:
            assert found.status[0] != kernels.UNREACHABLE, seed
            assert Fraction(int(found.cost[0]), table.unit) == least, seed
            keep = kernels.kept_items(table, found)
            published = [
                [term for term, kept in zip(terms, keep[table.start[i] : table.start[i + 1]], strict=True) if kept]
                for i, terms in enumerate(groups[0])
            ]
            assert is_safe(published, rows, n_labels, prior, unlinked, t, c, l), seed
